//! `type = "dlc"`: the settings of the jobs, and whether they may be preempted.

use super::aliyun;
use crate::read::fields::Fields;
use crate::report::check::Check;
use crate::syntax::tree::Value;
use compass_settings::DlcConfig;
use std::path::Path;

/// Reads what DLC is told; `file` is that of `--aliyun-cfg`.
pub(crate) fn read(check: &mut Check, fields: &mut Fields<'_>, file: Option<&Path>) -> DlcConfig {
    let aliyun = aliyun::read(check, fields.get("aliyun_cfg"), file, Some(fields.span));
    let preemptible = match fields.get("preemptible") {
        None => false,
        Some(node) => match node.value {
            Value::Boolean(truth) => truth,
            _ => {
                check.wrong_type("preemptible", node, "a boolean", "true");
                false
            }
        },
    };
    // What OpenCompass's configurations carry along.
    for key in ["eval_with_gpu", "keep_tmp_file", "lark_bot_url"] {
        if let Some(entry) = fields.table.entry(key) {
            let message = format!("`{key}` is ignored");
            check.unneeded(entry.key_span, &format!("`{key}`"), message, "no job of this program needs it");
        }
    }
    // What is wrong with them has been reported.
    DlcConfig { aliyun: aliyun.unwrap_or_default(), preemptible }
}

/// Returns what `--dlc` alone asks for.
pub(crate) fn flagged(check: &mut Check, file: Option<&Path>) -> DlcConfig {
    DlcConfig { aliyun: aliyun::read(check, None, file, None).unwrap_or_default(), preemptible: false }
}
