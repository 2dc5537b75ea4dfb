//! `infer` and `eval`: partitioner, runner and task.

use super::tree::{self, Places};
use crate::report::check::Check;
use crate::syntax::tree::{Node, Value};
use compass_python::Node as PythonNode;

/// Keys of a stage that concern OpenCompass's own processes.
#[rustfmt::skip]
const NO_EFFECT: &[&str] = &[
    "out_dir", "dataset_size_path", "force_rebuild", "keep_keys", "debug", "lark_bot_url", "max_workers", "keep_tmp_file",
    "task_prefix", "concurrent_users", "eval_with_gpu",
];

/// `[infer]` or `[eval]`: the same keys and the same names of classes as in TOML.
pub(super) fn read(check: &mut Check, places: &Places, name: &str, node: &PythonNode) -> Option<Node> {
    let mut node = tree::convert(check, places, node)?;
    let Value::Table(table) = &mut node.value else {
        check.error(node.span, format!("`{name}` is not a dict"), Some(format!("write `{name} = dict(...)`")));
        return None;
    };
    if let Some(Node { value: Value::Table(partitioner), .. }) = table.get_mut("partitioner")
        && let Some(at) = partitioner.entry("n").map(|entry| entry.key_span)
    {
        partitioner.remove("n");
        let help =
            "a task is one model over one data set; which of them a worker runs together is decided while it runs";
        check.note(at, "`n` of partitioner has no effect".into(), help);
    }
    for part in ["partitioner", "runner"] {
        if let Some(Node { value: Value::Table(inner), .. }) = table.get_mut(part) {
            let mut found = Vec::new();
            for key in NO_EFFECT {
                if let Some(at) = inner.entry(key).map(|entry| entry.key_span) {
                    inner.remove(key);
                    found.push((at, format!("`{key}`")));
                }
            }
            if let Some((at, _)) = found.first() {
                let names: Vec<&str> = found.iter().map(|(_, name)| name.as_str()).collect();
                let have = if names.len() == 1 { "has" } else { "have" };
                let message = format!("{} of {part} {have} no effect", names.join(", "));
                check.note(*at, message, "they concern OpenCompass's own processes");
            }
        }
    }
    Some(node)
}
