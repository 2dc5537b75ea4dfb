//! `type = "slurm"`.

use crate::flags::overrides::SlurmFlags;
use crate::read::fields::Fields;
use crate::read::paths;
use crate::report::check::Check;
use crate::syntax::tree::Value;
use compass_settings::SlurmConfig;

/// Reads what Slurm is told.
pub(crate) fn read(check: &mut Check, fields: &mut Fields<'_>) -> SlurmConfig {
    let mut text = |key| fields.text(check, key).filter(|text| !text.is_empty()).map(str::to_owned);
    let (partition, quotatype, qos) = (text("partition"), text("quotatype"), text("qos"));
    let log_dir = fields.get("log_dir").and_then(|node| paths::folder(check, "log_dir", node));
    SlurmConfig { partition, quotatype, qos, extra_command: extra(check, fields), log_dir }
}

/// Arguments as a list, or as one line, as OpenCompass has it.
fn extra(check: &mut Check, fields: &mut Fields<'_>) -> Vec<String> {
    let Some(node) = fields.get("extra_command") else { return Vec::new() };
    match &node.value {
        Value::String(line) => line.split_whitespace().map(str::to_owned).collect(),
        _ => {
            let read = check.texts("extra_command", node).unwrap_or_default();
            read.into_iter().map(|(text, _)| text).collect()
        }
    }
}

/// Puts flags over what the file says.
pub(crate) fn flags(config: &mut SlurmConfig, flags: &SlurmFlags) {
    for (kept, flag) in [
        (&mut config.partition, &flags.partition),
        (&mut config.quotatype, &flags.quotatype),
        (&mut config.qos, &flags.qos),
    ] {
        if flag.is_some() {
            kept.clone_from(flag);
        }
    }
}
