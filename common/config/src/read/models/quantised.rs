//! Findings about weights that are not plain floats, told before anything is loaded: formats that are not supported, and fp8, which
//! takes more memory than it takes of the disk.

use crate::report::check::Check;
use crate::syntax::tree::Node;
use compass_common::regular_file;
use compass_plan::architecture;
use compass_plan::weights::{Fp8, shown_size};
use serde_json::{Map, Value};
use std::path::Path;

/// Remedy for a format that is not supported.
const WAY_OUT: &str = "use the checkpoint that they were made from, as safetensors in a Hugging Face directory; transformers saves \
                       one of some GGUF files: `from_pretrained(..., gguf_file=...)`, then `save_pretrained`";

/// Returns `true` if the path is a GGUF file or a folder of them, which is reported.
pub(crate) fn is_gguf(check: &mut Check, node: &Node, path: &Path, names: &[String]) -> bool {
    let ends = |name: &str| name.len() > 5 && name.to_ascii_lowercase().ends_with(".gguf");
    let written = node.text().unwrap_or_default();
    let message = match names.iter().find(|name| ends(name)) {
        Some(name) => format!("`{written}` holds GGUF weights ({name}), which are not supported"),
        None if ends(written) && path.is_file() => format!("`{written}` is a GGUF file, which is not supported"),
        None => return false,
    };
    check.needed(node.span, message, Some(WAY_OUT.into()));
    true
}

/// Checks that the model whose config.json is in `folder` is of an architecture and a format of weights that can be loaded; what is
/// to be known of them is reported. What is wrong with config.json itself is told when the model is loaded.
pub(crate) fn can_load(check: &mut Check, node: &Node, folder: &Path) -> bool {
    let text = regular_file::read(&folder.join("config.json"), regular_file::SMALL).unwrap_or_default();
    let config = architecture::read_config(&text).ok().and_then(|config| serde_json::from_value(config).ok());
    let config: Map<String, Value> = config.unwrap_or_default();
    if let Some(why) = architecture::unsupported(&config) {
        let (why, help) = why.split_once("; help: ").or_else(|| why.split_once("; ")).unwrap_or((&why, ""));
        let message = format!("`{}`: {why}", node.text().unwrap_or_default());
        return check.needed(node.span, message, Some(help.into()));
    }
    let Some(quantised) = config.get("quantization_config").filter(|value| !value.is_null()) else { return true };
    let written = node.text().unwrap_or_default();
    match Fp8::read(quantised) {
        Ok(_) => {
            let message =
                format!("`{written}` holds fp8 weights, which are dequantised when they are loaded{}", sizes(folder));
            let help =
                "what is in memory is not what is on disk; activations are computed in `dtype`, not in eight bits";
            check.note(node.span, message, help);
            true
        }
        Err(fault) => {
            let (message, help) =
                fault.split_once("; ").unwrap_or((&fault, "use the checkpoint that they were made from"));
            check.needed(node.span, format!("`{written}`: {message}"), Some(help.into()))
        }
    }
}

/// On disk and, at the most, in memory; nothing where the weights are not in this folder.
fn sizes(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let weights = entries.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "safetensors"));
    let on_disk: u64 = weights.filter_map(|entry| Some(std::fs::metadata(entry.path()).ok()?.len())).sum();
    if on_disk == 0 {
        return String::new();
    }
    let [half, whole] = [2, 4].map(|times| shown_size(on_disk * times));
    let on_disk = shown_size(on_disk);
    format!(": {on_disk} on disk, at most {half} in memory with `dtype = \"bfloat16\"`, {whole} with `float32`")
}
