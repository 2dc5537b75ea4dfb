//! The flags that describe a model or a data set, as the TOML that they stand for.
//!
//! Flags become text, and the text becomes a tree like any other, so that what is wrong with a flag is found and said by
//! the same checks as in a file.

use super::custom_dataset::{self, absolute};
use super::overrides::{HfKind, HfModel, ModelFlags, Overrides};
use crate::report::check::Check;
use crate::syntax::merge::merge_tables;
use crate::syntax::parse::parse;
use crate::syntax::source::Span;
use crate::syntax::tree::{Node, Table, Value};
use toml::{Table as Toml, Value as Item};

/// Names that the flags add to a configuration.
#[derive(Debug, Default)]
pub(crate) struct FlagNames {
    /// Names of the models that flags define: with any, the job has these alone.
    pub(crate) models: Option<Vec<String>>,
    /// Likewise.
    pub(crate) datasets: Option<Vec<String>>,
}

/// Adds to `root` the model of `--hf-path` and the data set of `--custom-dataset-path`, and puts the flags of models over
/// every model that it has.
pub(crate) fn apply(check: &mut Check, root: &mut Table, flags: &Overrides) -> FlagNames {
    let mut names = FlagNames::default();
    if let Some(model) = &flags.hf {
        let (name, table) = hf_model(model);
        push(check, root, "model", table);
        names.models = Some(vec![name]);
    }
    if let Some(custom) = &flags.custom_dataset {
        match custom_dataset::read(custom) {
            Ok((name, table)) => {
                push(check, root, "dataset", table);
                names.datasets = Some(vec![name]);
            }
            Err((message, help)) => check.report(None, message, Some(help)),
        }
    }
    let over = model_flags(&flags.model);
    if !over.is_empty()
        && let Some(over) = written(check, &over)
        && let Some(Node { value: Value::Array(models), .. }) = root.get_mut("model")
    {
        for node in models {
            if let Value::Table(table) = &mut node.value {
                merge_tables(table, over.clone());
            }
        }
    }
    names
}

/// OpenCompass's name for a model that flags describe: the last part of its path with `_hf`.
fn hf_model(model: &HfModel) -> (String, Toml) {
    let name = model.path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let abbr = format!("{name}_hf");
    let mut table = Toml::new();
    table.insert("abbr".into(), abbr.clone().into());
    table.insert("path".into(), absolute(&model.path));
    let chat: Item = match model.kind {
        HfKind::Auto => "auto".into(),
        HfKind::Base => false.into(),
        HfKind::Chat => true.into(),
    };
    table.insert("chat".into(), chat);
    (abbr, table)
}

fn model_flags(flags: &ModelFlags) -> Toml {
    let mut table = Toml::new();
    let mut put = |key: &str, value: Option<Item>| {
        if let Some(value) = value {
            table.insert(key.into(), value);
        }
    };
    put("tokenizer_path", flags.tokenizer_path.as_deref().map(absolute));
    put("peft_path", flags.peft_path.as_deref().map(absolute));
    for (key, number) in
        [("max_seq_len", flags.max_seq_len), ("max_out_len", flags.max_out_len), ("min_out_len", flags.min_out_len)]
    {
        put(key, number.map(|number| i64::from(number).into()));
    }
    put("device", flags.device.clone().map(Item::from));
    put("profile", flags.profile.as_deref().map(Item::from));
    put("batch_size", flags.batch_size.as_deref().map(scalar));
    put("stop_words", flags.stop_words.as_ref().map(|words| words.clone().into()));
    for (key, pairs) in [
        ("model_kwargs", &flags.model_kwargs),
        ("tokenizer_kwargs", &flags.tokenizer_kwargs),
        ("generation_kwargs", &flags.generation_kwargs),
    ] {
        let kwargs: Toml = pairs.iter().map(|(key, value)| (key.clone(), scalar(value))).collect();
        put(key, (!kwargs.is_empty()).then(|| kwargs.into()));
    }
    if let Some(gpus) = flags.num_gpus {
        put("run_cfg", Some(Toml::from_iter([("num_gpus".to_owned(), i64::from(gpus).into())]).into()));
    }
    table
}

/// Converts a value as Python's command line does: to a number or a truth where it looks like one, to text otherwise.
fn scalar(text: &str) -> Item {
    match text {
        "True" | "true" => true.into(),
        "False" | "false" => false.into(),
        _ => match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(number), _) => number.into(),
            (_, Ok(number)) if number.is_finite() => number.into(),
            _ => text.into(),
        },
    }
}

fn push(check: &mut Check, root: &mut Table, list: &str, table: Toml) {
    let Some(mut tree) = written(check, &Toml::from_iter([(list.to_owned(), vec![Item::from(table)].into())])) else {
        return;
    };
    let Some(added) = tree.remove(list) else { return };
    match (root.get_mut(list), added.value) {
        (Some(Node { value: Value::Array(items), .. }), Value::Array(more)) => items.extend(more),
        (_, value) => {
            root.remove(list);
            let node = Node { value, span: added.span };
            root.entries.push(crate::syntax::tree::KeyValue { key: list.to_owned(), key_span: node.span, node });
        }
    }
}

/// The place of a configuration that has no file.
pub(crate) fn nowhere(check: &mut Check) -> Span {
    Span { file: check.sources.add_flags(String::new()), start: 0, end: 0 }
}

/// The tree of a table, whose places are those of the command line.
fn written(check: &mut Check, table: &Toml) -> Option<Table> {
    let text = toml::to_string(table).ok()?;
    let file = check.sources.add_flags(text);
    parse(check, file)
}
