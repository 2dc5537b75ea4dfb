//! Data sets of presets in the form in which OpenCompass's configurations are edited, and back.
//!
//! A preset writes `inferencer = "gen"` and a prompt as it is asked. A script that imports it sets
//! `d['infer_cfg']['inferencer']['max_out_len']` and `d['infer_cfg']['prompt_template']['template']`: what is imported has a dict
//! with `type` for each part, with OpenCompass's class where it has one. What a script leaves is closed again, so that a data set
//! that it did not change is the preset to the last key, and its version is that of the preset.

use crate::syntax::tree::{KeyValue, Node, Table, Value};
use compass_pyfmt::python_repr_text;
use std::fmt::Write;

/// Our name of something, and OpenCompass's.
type Names = (&'static str, &'static str);

/// The modules of OpenCompass with the classes of ours that have one there.
const CLASSES: &[(&str, &str, &[Names])] = &[
    (
        "inferencer",
        "opencompass.openicl.icl_inferencer",
        &[
            ("gen", "GenInferencer"),
            ("ppl", "PPLInferencer"),
            ("ppl_only", "PPLOnlyInferencer"),
            ("ll", "LLInferencer"),
            ("clp", "CLPInferencer"),
            ("chat", "ChatInferencer"),
            ("sc", "SCInferencer"),
        ],
    ),
    (
        "retriever",
        "opencompass.openicl.icl_retriever",
        &[
            ("zero", "ZeroRetriever"),
            ("fix_k", "FixKRetriever"),
            ("random", "RandomRetriever"),
            ("bm25", "BM25Retriever"),
            ("sliding_window", "SlidingWindowRetriever"),
        ],
    ),
    ("evaluator", "opencompass.openicl.icl_evaluator", &[("acc", "AccEvaluator"), ("em", "EMEvaluator")]),
    ("pred_postprocessor", "", &[]),
    ("dataset_postprocessor", "", &[]),
];
/// Tables of a data set that hold such parts.
const WHOLES: &[&str] = &["infer_cfg", "eval_cfg"];
const TEMPLATE: &str = "PromptTemplate";
const MESSAGES: &str = "RawPromptTemplate";
const TEMPLATE_MODULES: &[(&str, &str)] =
    &[("opencompass.openicl.icl_prompt_template", TEMPLATE), ("opencompass.openicl.icl_raw_prompt_template", MESSAGES)];
const TEMPLATES: &[&str] = &["ice_template", "prompt_template"];
/// Keys of OpenCompass's entries that say which rows are read.
pub(super) const FOREIGN: &[&str] = &["path", "name", "type"];
/// Keys of a retriever.
const RETRIEVER_KEYS: &[Names] = &[("ids", "fix_id_list"), ("k", "ice_num")];

/// The imports of the classes that [`write`] names.
pub(super) fn imports() -> String {
    let mut text = String::new();
    let templates = TEMPLATE_MODULES.iter().map(|(module, class)| (*module, vec![*class]));
    let modules = CLASSES.iter().map(|(_, module, classes)| {
        let classes: Vec<&str> = classes.iter().map(|(_, class)| *class).collect();
        (*module, classes)
    });
    for (module, classes) in templates.chain(modules).filter(|(_, classes)| !classes.is_empty()) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "from {module} import {}", classes.join(", "));
    }
    text
}

/// Writes the value of `key` in a data set as it is edited, its inner values by `plain`; `false` where it has no other form.
pub(super) fn write(out: &mut String, key: &str, node: &Node, plain: &dyn Fn(&mut String, &Node)) -> bool {
    let Some(parts) = node.table().filter(|_| WHOLES.contains(&key)) else { return false };
    out.push('{');
    for (at, entry) in parts.entries.iter().enumerate() {
        out.push_str(if at > 0 { ", " } else { "" });
        let _ = write!(out, "{}: ", python_repr_text(&entry.key));
        let is_template = TEMPLATES.contains(&entry.key.as_str());
        let is_written = match is_template {
            true => write_template(out, &entry.node, plain),
            false => write_part(out, &entry.key, &entry.node, plain),
        };
        if !is_written {
            plain(out, &entry.node);
        }
    }
    out.push('}');
    true
}

fn write_part(out: &mut String, key: &str, node: &Node, plain: &dyn Fn(&mut String, &Node)) -> bool {
    let Some((_, _, classes)) = CLASSES.iter().find(|(part, _, _)| *part == key) else { return false };
    let class = |name: &str| match classes.iter().find(|(ours, _)| *ours == name) {
        Some((_, class)) => (*class).to_owned(),
        None => python_repr_text(name),
    };
    match &node.value {
        Value::String(name) => {
            let _ = write!(out, "{{'type': {}}}", class(name));
        }
        Value::Table(table) if table.text("type").is_some() => {
            out.push('{');
            for (at, entry) in table.entries.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                let theirs = RETRIEVER_KEYS.iter().find(|(ours, _)| key == "retriever" && *ours == entry.key);
                let name = theirs.map_or(entry.key.as_str(), |(_, theirs)| *theirs);
                let _ = write!(out, "{}: ", python_repr_text(name));
                match entry.node.text().filter(|_| entry.key == "type") {
                    Some(name) => out.push_str(&class(name)),
                    None => plain(out, &entry.node),
                }
            }
            out.push('}');
        }
        _ => return false,
    }
    true
}

fn write_template(out: &mut String, node: &Node, plain: &dyn Fn(&mut String, &Node)) -> bool {
    let table = node.table();
    if table.is_some_and(|table| table.get("type").is_some()) {
        return false;
    }
    if let Some(table) = table.filter(|table| table.get("messages").is_some()) {
        let _ = write!(out, "{{'type': {MESSAGES}");
        for entry in &table.entries {
            let _ = write!(out, ", {}: ", python_repr_text(&entry.key));
            plain(out, &entry.node);
        }
        out.push('}');
        return true;
    }
    let _ = write!(out, "{{'type': {TEMPLATE}, 'template': ");
    match table {
        Some(table) => {
            out.push('{');
            for (at, entry) in table.entries.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                // Labels that are numbers are numbers there.
                let is_number = entry.key.parse::<u32>().is_ok_and(|number| number.to_string() == entry.key);
                out.push_str(&if is_number { entry.key.clone() } else { python_repr_text(&entry.key) });
                out.push_str(": ");
                plain(out, &entry.node);
            }
            out.push('}');
        }
        None => plain(out, node),
    }
    out.push('}');
    true
}

/// Closes the parts of a data set again: short names for OpenCompass's classes, and a part that is no more than its name or its
/// template as that.
pub(super) fn close(dataset: &mut Table) {
    for whole in WHOLES {
        let Some(Node { value: Value::Table(parts), .. }) = dataset.get_mut(whole) else { continue };
        for KeyValue { key, node, .. } in &mut parts.entries {
            if TEMPLATES.contains(&key.as_str()) {
                close_template(node);
            } else if let Some((part, _, classes)) = CLASSES.iter().find(|(part, _, _)| *part == key.as_str()) {
                close_part(part, classes, node);
            }
        }
    }
}

/// Returns what to do about a key that OpenCompass's entries have and a preset's entries have not.
pub(super) fn lacks(preset: &str, key: &str) -> String {
    let why = match FOREIGN.contains(&key) {
        true => "and finds its rows by itself, below the folder of --data-dir",
        false => "in a form of its own",
    };
    format!("`{preset}` comes with the program {why}: it has no `{key}`; OpenCompass's own file has: --opencompass DIR")
}

fn close_part(part: &str, classes: &[(&str, &str)], node: &mut Node) {
    let Value::Table(table) = &mut node.value else { return };
    let Some(Node { value: Value::String(class), .. }) = table.get_mut("type") else { return };
    if let Some((ours, _)) = classes.iter().find(|(_, theirs)| *theirs == class.as_str()) {
        (*ours).clone_into(class);
    }
    let name = class.clone();
    if part == "retriever" {
        for (ours, theirs) in RETRIEVER_KEYS {
            if table.get(ours).is_none()
                && let Some(entry) = table.entries.iter_mut().find(|entry| entry.key == *theirs)
            {
                (*ours).clone_into(&mut entry.key);
            }
        }
    }
    if table.entries.len() == 1 {
        node.value = Value::String(name);
    }
}

fn close_template(node: &mut Node) {
    let Value::Table(table) = &mut node.value else { return };
    match table.text("type") {
        Some(TEMPLATE) if table.entries.len() == 2 => {
            if let Some(template) = table.remove("template") {
                *node = template;
            }
        }
        Some(MESSAGES) if table.get("messages").is_some() => {
            table.remove("type");
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::host::TreeHost;
    use super::super::{datasets, stand_in, tree::Places};
    use crate::presets::data_sets;
    use crate::report::check::Check;
    use crate::report::environment::PythonWorld;
    use crate::syntax::source::FileId;
    use crate::syntax::tree::Table;
    use crate::syntax::tree::same;
    use compass_python::Limits;
    use compass_settings::LoaderWorld;
    use std::path::Path;

    #[test]
    fn a_preset_that_is_imported_is_the_preset() {
        let host = TreeHost::new(Path::new("/nowhere/eval.py"), PythonWorld::default());
        for preset in data_sets::presets() {
            let name = preset.name;
            let mut root = Table::default();
            data_sets::resolve(&mut Check::default(), &mut root, Some(std::slice::from_ref(&name)));
            let text = stand_in::datasets(&name).unwrap();
            let names = compass_python::evaluate(Path::new("p.py"), text, &host, Limits::default()).result;
            let names = names.unwrap_or_else(|error| panic!("{name}: {error}"));
            let node = &names.iter().find(|(name, _)| name == "datasets").unwrap().1;
            let parts = node.items().iter().filter_map(|entry| entry.get("infer_cfg"));
            assert!(parts.clone().all(|infer| infer.get("inferencer").is_some_and(|part| part.get("type").is_some())));
            assert!(
                parts.clone().all(|infer| infer.get("prompt_template").is_none_or(|part| part.get("type").is_some()))
            );
            let mut check = Check::default();
            let places = Places::new(vec![FileId::default()]);
            let read = datasets::read(&mut check, &places, &LoaderWorld::default(), node).unwrap();
            assert!(!check.has_errors(), "{name}");
            assert!(same(root.get("dataset").unwrap(), &read), "{name}");
        }
    }
}
