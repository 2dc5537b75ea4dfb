//! Choice of the defined models and data sets that belong to this job.

use super::include;
use crate::presets::data_sets::{self, Asked};
use crate::presets::later::preset_later;
use crate::presets::models::model_presets;
use crate::read::fields::Fields;
use crate::report::check::Check;
use crate::report::left_out;
use crate::syntax::source::Span;
use crate::syntax::tree::{Node, Table, Value};
use compass_diagnostic::spelling;
use compass_settings::LeftOutKind;
use std::collections::BTreeMap;

/// The tables of a list, with those that are wanted.
#[derive(Debug)]
pub(crate) struct Selection<'t> {
    /// Every table of the list as defined.
    pub(crate) defined: Vec<(&'t Table, Span)>,
    /// Positions in `defined`, in the order asked for.
    pub(crate) wanted: Vec<usize>,
}

/// Table that defines a list, and the key that chooses from it.
pub(crate) struct List {
    /// `model`.
    pub(crate) table: &'static str,
    /// `models`.
    pub(crate) names: &'static str,
    /// `model`, `data set`: what a person calls one.
    pub(crate) noun: &'static str,
    pub(crate) kind: LeftOutKind,
}

/// Reads which tables are wanted: the flag's names, else the file's, else every table defined.
pub(crate) fn read<'t>(
    check: &mut Check,
    root: &mut Fields<'t>,
    list: &List,
    flag: Option<&[String]>,
    asked: &Asked,
) -> Selection<'t> {
    let defined = root.get(list.table).map(|node| tables(check, list.table, node)).unwrap_or_default();
    let named = root.get(list.names);
    let flag = flag.filter(|names| !names.is_empty());
    let names: Option<Vec<(String, Option<Span>)>> = match (flag, named) {
        (Some(names), _) => Some(names.iter().map(|name| (name.clone(), None)).collect()),
        (None, Some(node)) => {
            let texts = check.texts(list.names, node).unwrap_or_default();
            if node.is_empty() {
                let help = format!("name one, or remove `{}` to take every one", list.names);
                check.error(node.span, format!("`{}` names no {}", list.names, list.noun), Some(help));
            }
            Some(texts.into_iter().map(|(name, span)| (name, Some(span))).collect())
        }
        (None, None) => None,
    };
    let names = names.map(|names| names.into_iter().flat_map(|name| expand(name, asked)).collect());
    let wanted = match names {
        Some(names) => pick(check, list, &defined, names),
        None => (0..defined.len()).collect(),
    };
    let is_left_out = left_out::has_any(check, list.kind);
    if flag.is_none() && named.is_none() && !is_left_out && root.table.get(list.table).is_none_or(Node::is_empty) {
        let file = root.span.file;
        let (message, help) = match include::is_python(check.sources.path(file), check.sources.text(file)) {
            true => (format!("`{}` is empty", list.names), format!("write `{} = [dict(type=..., ...)]`", list.names)),
            false => (format!("no {} is defined", list.noun), format!("add a [[{}]] table", list.table)),
        };
        check.error(root.span, message, Some(help));
    }
    one_file_each(check, &defined, &wanted);
    Selection { defined, wanted }
}

/// Names become file names, and some file systems do not tell `A` from `a`.
fn one_file_each(check: &mut Check, defined: &[(&Table, Span)], wanted: &[usize]) {
    let mut first: BTreeMap<String, &str> = BTreeMap::new();
    for node in wanted.iter().filter_map(|at| defined.get(*at)?.0.get("abbr")) {
        let Some(name) = node.text() else { continue };
        match first.get(&name.to_lowercase()) {
            Some(other) if *other != name => {
                let message = format!("`{name}` and `{other}` differ by case alone: their results would be one file");
                check.error(node.span, message, Some("give each its own name, whatever its case".into()));
            }
            Some(_) => {}
            None => {
                first.insert(name.to_lowercase(), name);
            }
        }
    }
}

fn tables<'t>(check: &mut Check, key: &str, node: &'t Node) -> Vec<(&'t Table, Span)> {
    let Value::Array(items) = &node.value else {
        let message = format!("`{key}` takes an array of tables, found {}", node.kind());
        check.error(node.span, message, Some(format!("write `[[{key}]]` with two brackets")));
        return Vec::new();
    };
    let mut tables = Vec::with_capacity(items.len());
    for item in items {
        match &item.value {
            Value::Table(table) => tables.push((table, item.span)),
            _ => {
                let message = format!("`{key}` takes tables, found {}", item.kind());
                check.error(item.span, message, Some(format!("write a [[{key}]] table")));
            }
        }
    }
    tables
}

/// A name that is asked for, by itself or by the name of a preset or a file that stands for it.
struct Wanted {
    name: String,
    asker: String,
    span: Option<Span>,
}

/// A preset stands for the data sets that it defines.
fn expand((name, span): (String, Option<Span>), asked: &Asked) -> Vec<Wanted> {
    match asked.get(&name) {
        Some(abbrs) => abbrs.iter().map(|abbr| Wanted { name: abbr.clone(), asker: name.clone(), span }).collect(),
        None => vec![Wanted { asker: name.clone(), name, span }],
    }
}

/// Returns what to do about a name that neither a table nor a preset has.
fn unknown(name: &str, known: &[&str], list: &List) -> String {
    let define = format!("define a [[{}]] table", list.table);
    if list.table != "dataset" {
        let presets = model_presets();
        let presets = presets.iter().map(|preset| preset.name.as_str());
        let near = spelling::nearest(name, known.iter().copied().chain(presets));
        if let Some(near) = near.filter(|near| !known.contains(near)) {
            return format!("did you mean `{near}`? `compass-master models` lists those that come by name");
        }
        return format!("{} Or {define}", spelling::suggest(name, known.iter().copied(), list.names));
    }
    let presets = data_sets::names();
    match spelling::nearest(name, known.iter().copied().chain(presets.iter().map(String::as_str))) {
        Some(near) => format!("did you mean `{near}`? `compass-master datasets` lists the presets"),
        None => format!("`compass-master datasets` lists the presets; or {define}"),
    }
}

fn pick(check: &mut Check, list: &List, defined: &[(&Table, Span)], names: Vec<Wanted>) -> Vec<usize> {
    let known: Vec<&str> = defined.iter().filter_map(|(table, _)| table.text("abbr")).collect();
    let mut wanted = Vec::with_capacity(names.len());
    let mut askers: Vec<String> = Vec::with_capacity(names.len());
    let mut shared: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for Wanted { name, asker, span } in names {
        let from = if span.is_none() { format!(" (given by --{})", list.names) } else { String::new() };
        match defined.iter().position(|(table, _)| table.text("abbr") == Some(&name)) {
            Some(at) if wanted.contains(&at) => match asked_by(&wanted, &askers, at) {
                // Names that stand for different ones were reported where these were found.
                Some(first) if *first != asker => shared.entry((first.clone(), asker)).or_default().push(name),
                _ => {
                    let message = format!("{} `{name}` is named twice{from}", list.noun);
                    check.report(span, message, Some("remove one of the two".into()));
                }
            },
            Some(at) => {
                wanted.push(at);
                askers.push(asker);
            }
            None if list.table == "dataset" && preset_later(&name).is_some() => {
                let (why, meanwhile) = preset_later(&name).unwrap_or_default();
                if check.environment.skip_unsupported {
                    let reason = format!("it is not yet supported: {why}");
                    left_out::leave_out(check, span, list.kind, name, reason);
                    continue;
                }
                let help = left_out::or_skip(meanwhile);
                check.report(span, format!("`{name}`{from} is not yet supported: {why}"), Some(help));
            }
            None => {
                let help = unknown(&name, &known, list);
                check.report(span, format!("nothing defines the {} `{name}`{from}", list.noun), Some(help));
            }
        }
    }
    for ((first, second), names) in shared {
        let Some((name, more)) = names.split_first() else { continue };
        let rest = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        let message = format!("`{first}` and `{second}` both stand for the {} `{name}`{rest}", list.noun);
        check.tell(message, "it is asked once");
    }
    wanted
}

/// The name by which the table at a position was asked for first.
fn asked_by<'a>(wanted: &[usize], askers: &'a [String], at: usize) -> Option<&'a String> {
    askers.get(wanted.iter().position(|known| *known == at)?)
}
