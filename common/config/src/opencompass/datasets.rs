//! `datasets`: what is asked is the same here and there; which rows are asked, the loader class says.

use super::circular::{self, Circular};
use super::tree::{self, Places};
use super::{class, continuation, functions, label_type, parameters, preset_form, prompt_version, unused};
use crate::presets::loaders::{Known, Loaders, Rows, SPLITS};
use crate::read::datasets::infer_cfg::{self, INFER_CFG};
use crate::read::datasets::version;
use crate::read::evaluation::eval_cfg::{self, EVAL_CFG};
use crate::read::fields;
use crate::report::check::Check;
use crate::report::left_out;
use crate::report::missing_files::some;
use crate::syntax::source::Span;
use crate::syntax::tree::{KeyValue, Node, Table, Value, array};
use compass_python::{Node as PythonNode, Plain};
use compass_settings::{LeftOutKind, LoadedRows, LoaderCall, LoaderWorld, NoRows, is_own};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Keys of an entry that are not the loader's.
const OWN: &[&str] = &["abbr", "type", "reader_cfg", "infer_cfg", "eval_cfg", "n", "k", "reading", "mode"];
/// Keys of a data set that is written as TOML has it: of a preset.
const NATIVE: &[&str] = &["test", "train"];

/// State of an entry before the rows of classes are asked for.
struct Draft<'n> {
    table: Table,
    span: Span,
    /// The class, as the file names it, and where.
    class: (String, Span),
    parameters: Vec<(&'n str, &'n PythonNode)>,
    /// Splits that are left to be read: our name of each, and the class's.
    unread: Vec<(&'static str, String)>,
    /// Rotation of the rows of another class.
    circular: Option<Circular>,
    /// Reason why the table does not know the class.
    reason: String,
}

enum Entry<'n> {
    Ready(Node),
    Unread(Box<Draft<'n>>),
}

/// `[[dataset]]` of every entry of `datasets`. Classes that cannot be read are reported together, each once.
pub(super) fn read(check: &mut Check, places: &Places, world: &LoaderWorld, node: &PythonNode) -> Option<Node> {
    let span = places.span(node.place);
    if !matches!(node.value, Plain::List(_) | Plain::Tuple(_)) {
        check.error(span, "`datasets` is not a list".into(), Some("write `datasets = [...]`".into()));
        return None;
    }
    let loaders = Loaders::read(check);
    let entries: Vec<Entry<'_>> =
        node.items().iter().filter_map(|entry| dataset(check, places, &loaders, entry)).collect();
    let mut rows = loaded(check, world, &entries).into_iter();
    let mut refused = Vec::new();
    let mut told = BTreeSet::new();
    let mut tables = Vec::with_capacity(entries.len());
    for entry in entries {
        match entry {
            Entry::Ready(table) => tables.push(table),
            Entry::Unread(draft) => match rows.next().unwrap_or_else(|| Err(NoRows::default())) {
                Ok(rows) => {
                    if told.insert(rows.said.clone()) && !rows.said.is_empty() {
                        check.note(
                            draft.class.1,
                            rows.said.clone(),
                            "its rows are in the state folder and are read from there",
                        );
                    }
                    tables.push(with_rows(*draft, &rows));
                }
                Err(none) => {
                    let reason = if none.reason.is_empty() { draft.reason.clone() } else { none.reason };
                    let (class, at) = draft.class.clone();
                    let left = finished(draft.table, &draft.parameters, draft.span);
                    let before = check.count();
                    let beside = left.table().map(|table| unserved(check, table)).unwrap_or_default();
                    if check.environment.skip_unsupported {
                        check.forget_since(before);
                        let name = left.table().and_then(|table| table.text("abbr")).unwrap_or_default().to_owned();
                        let reason =
                            format!("`{class}` cannot be read here: {}", [vec![reason], beside].concat().join("; "));
                        left_out::leave_out(check, Some(draft.span), LeftOutKind::Dataset, name, reason);
                        continue;
                    }
                    left_out::name_flag(check, before);
                    let name = left.table().and_then(|table| table.text("abbr")).unwrap_or_default().to_owned();
                    refused.push(Refused { class, name, at, reason, help: none.help });
                }
            },
        }
    }
    refuse(check, refused);
    Some(array(tables, span))
}

/// A data set whose rows cannot be read.
struct Refused {
    class: String,
    name: String,
    at: Span,
    reason: String,
    help: Option<String>,
}

/// Reports data sets whose rows cannot be read: what lies in one folder that is not there as one error, then every class once.
fn refuse(check: &mut Check, refused: Vec<Refused>) {
    let mut by_place: BTreeMap<PathBuf, Vec<Refused>> = BTreeMap::new();
    let mut others = Vec::new();
    for one in refused {
        match missing_place(&one.reason) {
            Some(place) => by_place.entry(place).or_default().push(one),
            None => others.push(one),
        }
    }
    for (place, sets) in by_place {
        if sets.len() < 2 {
            others.extend(sets);
            continue;
        }
        let Some(first) = sets.first() else { continue };
        let names: Vec<&str> = sets.iter().map(|set| set.name.as_str()).collect();
        let what = if place.extension().is_some() { "file" } else { "folder" };
        let message =
            format!("no {what} `{}`, which {} data sets need: {}", place.display(), names.len(), some(&names));
        let help = left_out::or_skip(
            first.help.as_deref().unwrap_or("put the data there, or name its folder with --data-dir"),
        );
        check.error(first.at, message, Some(help));
    }
    let mut classes: BTreeMap<String, (Span, String, Option<String>, u32)> = BTreeMap::new();
    for Refused { class, at, reason, help, .. } in others {
        classes.entry(class).or_insert((at, reason, help, 0)).3 += 1;
    }
    refuse_classes(check, classes);
}

/// Returns the missing part of the path that a `FileNotFoundError` names: the first missing folder, or the file.
fn missing_place(reason: &str) -> Option<PathBuf> {
    let (_, after) = reason.split_once("No such file or directory: '")?;
    let path = Path::new(after.split_once('\'')?.0);
    let is_missing = |place: &&Path| !place.as_os_str().is_empty() && !place.exists();
    Some(path.ancestors().take_while(is_missing).last()?.to_path_buf())
}

fn refuse_classes(check: &mut Check, refused: BTreeMap<String, (Span, String, Option<String>, u32)>) {
    // What hinders several classes alike is one error.
    let mut alike: BTreeMap<_, (Span, Vec<String>, u32)> = BTreeMap::new();
    for (class, (span, reason, help, count)) in refused {
        let group = alike.entry((reason, help)).or_insert((span, Vec::new(), 0));
        group.1.push(class);
        group.2 += count;
    }
    for ((reason, help), (span, classes, count)) in alike {
        let times = if count > 1 { format!(" ({count} data sets)") } else { String::new() };
        let help = help.unwrap_or_else(|| {
            "leave these data sets out, write their rows as TOML ([dataset.test] names a file and its columns), or name the \
             Python in whose environment OpenCompass is installed: --python ENV/bin/python"
                .into()
        });
        let help = left_out::or_skip(&help);
        check.error(span, format!("{} cannot be read here{times}: {reason}", quoted(&classes)), Some(help));
    }
}

/// Reports what else of an entry is not served, so that it is not found only once its rows are there; returns what that is.
fn unserved(check: &mut Check, table: &Table) -> Vec<String> {
    let before = check.count();
    let section = |key| table.get(key).filter(|node| node.table().is_some());
    if let Some(infer) = section("infer_cfg").and_then(|node| fields::table(check, "infer_cfg", node, &INFER_CFG)) {
        infer_cfg::read(check, infer, false);
    }
    if let Some(eval) = section("eval_cfg").and_then(|node| fields::table(check, "eval_cfg", node, &EVAL_CFG)) {
        eval_cfg::read(check, eval);
    }
    check.keep_unserved_since(before);
    let mut found: Vec<String> = check.errors_since(before).map(|(error, _)| error.message.clone()).collect();
    found.dedup();
    found
}

/// Classes by name, as many as a line holds.
fn quoted(classes: &[String]) -> String {
    const SHOWN: usize = 4;
    let mut shown: Vec<String> = classes.iter().take(SHOWN).map(|class| format!("`{class}`")).collect();
    if classes.len() > SHOWN {
        shown.push(format!("{} more classes", classes.len() - SHOWN));
    }
    match shown.split_last() {
        Some((last, others @ [_, ..])) => format!("{} and {last}", others.join(", ")),
        _ => shown.join(""),
    }
}

/// The rows of every entry that the table does not know, in order.
fn loaded(check: &Check, world: &LoaderWorld, entries: &[Entry<'_>]) -> Vec<Result<LoadedRows, NoRows>> {
    let Some(loader) = &check.environment.python.loader else { return Vec::new() };
    let mut calls = Vec::new();
    let mut results: Vec<Option<NoRows>> = Vec::new();
    for entry in entries {
        let Entry::Unread(draft) = entry else { continue };
        match parameters::json(&draft.parameters) {
            Ok(parameters) => {
                let mut splits: Vec<String> = Vec::new();
                for (_, split) in &draft.unread {
                    if !splits.contains(split) {
                        splits.push(split.clone());
                    }
                }
                calls.push(LoaderCall { class: draft.class.0.clone(), parameters, splits });
                results.push(None);
            }
            Err(reason) => results.push(Some(NoRows { reason, help: None })),
        }
    }
    if calls.is_empty() {
        return results.into_iter().flatten().map(Err).collect();
    }
    let mut rows = loader.0.load(world, &calls).into_iter();
    let next = |none: Option<NoRows>| match none {
        Some(none) => Err(none),
        None => rows.next().unwrap_or_else(|| Err(NoRows::default())),
    };
    results.into_iter().map(next).collect()
}

/// The data set with the files that its class has left.
fn with_rows(draft: Draft<'_>, rows: &LoadedRows) -> Node {
    let Draft { mut table, span, class, parameters, unread, circular, .. } = draft;
    for (ours, split) in unread {
        let Some(file) = rows.file(&split) else { continue };
        let path = Node { value: Value::String(file.display().to_string()), span: class.1 };
        let entries = vec![KeyValue { key: "path".to_owned(), key_span: class.1, node: path }];
        let mut node = Node { value: Value::Table(Table { entries }), span: class.1 };
        if let Some(circular) = &circular {
            circular.rotate(&mut node, &split);
        }
        table.entries.push(KeyValue { key: ours.to_owned(), key_span: class.1, node });
    }
    finished(table, &parameters, span)
}

fn finished(mut table: Table, parameters: &[(&str, &PythonNode)], span: Span) -> Node {
    if let Some(Node { value: Value::Table(reader), .. }) = table.get_mut("reader_cfg") {
        SPLITS.iter().for_each(|(_, theirs)| drop(reader.remove(theirs)));
    }
    unused::remove(&mut table);
    version::bind(&mut table);
    named(&mut table, parameters, span);
    Node { value: Value::Table(table), span }
}

fn dataset<'n>(check: &mut Check, places: &Places, loaders: &Loaders, entry: &'n PythonNode) -> Option<Entry<'n>> {
    let span = places.span(entry.place);
    let Plain::Dict(entries) = &entry.value else {
        check.error(span, "an entry of `datasets` is not a dict".into(), Some("write `dict(type=..., ...)`".into()));
        return None;
    };
    let circular = match circular::of(check, places, entry) {
        Some(circular) => Some(circular?),
        None => None,
    };
    if NATIVE.iter().any(|key| entry.get(key).is_some()) {
        let mut table = table(check, places, entries, entry);
        preset_form::close(&mut table);
        if let Some(circular) = &circular {
            circular.rotate_preset(&mut table);
        }
        refuse_foreign(check, places, &mut table, entry);
        return Some(Entry::Ready(Node { value: Value::Table(table), span }));
    }
    let Some(name) = class::of(entry) else {
        if let Some(node) = entry.get("type") {
            let help = "put it into a module beside the file and import it, as in `from mydata import MyDataset`, or name a \
                        class of OpenCompass";
            let message = match node.value {
                Plain::Other("a class") => "`type` is a class that the configuration defines itself",
                _ => "`type` is not a class",
            };
            check.error(places.span(node.place), message.into(), Some(help.into()));
            return None;
        }
        check.error(span, "a data set without `type`".into(), Some("name its class: `type=SiqaDataset`".into()));
        return None;
    };
    let name = circular.as_ref().map_or(name, |circular| circular.class.base);
    let is_own_key = |key: &str| OWN.contains(&key) || circular.is_some() && circular::PARAMETERS.contains(&key);
    let is_parameter = |key: &str| !is_own_key(key);
    let parameters: Vec<(&str, &PythonNode)> = entries
        .iter()
        .filter_map(|(key, node)| Some((key.text()?, node)))
        .filter(|(key, node)| is_parameter(key) && node.value != Plain::None)
        .collect();
    let own: Vec<(PythonNode, PythonNode)> =
        entries.iter().filter(|(key, _)| key.text().is_none_or(|key| !is_parameter(key))).cloned().collect();
    let mut table = table(check, places, &own, entry);
    for key in ["type", "mode"].iter().chain(if circular.is_some() { circular::PARAMETERS } else { &[] }) {
        table.remove(key);
    }
    continuation::name(&mut table, span);
    label_type::name(&mut table, entry, span);
    label_type::sort(&mut table, entry);
    join_shots(&mut table);
    // An entry may have a key `version`, which is its loader's.
    if let Some(version) = prompt_version::of(entry) {
        let node = Node { value: Value::String(version), span };
        table.entries.push(KeyValue { key: "version".to_owned(), key_span: span, node });
    }
    let untouched = table.clone();
    let wanted = if wants_shots(entry) { &SPLITS[..] } else { &SPLITS[..1] };
    let split = |(ours, theirs): &(&'static str, &str)| {
        let named = entry.get("reader_cfg").and_then(|reader| reader.get(theirs)).and_then(PythonNode::text);
        (*ours, named.unwrap_or(ours).to_owned())
    };
    let wanted: Vec<(&'static str, String)> = wanted.iter().map(split).collect();
    let values: Vec<(&str, Node)> = parameters.iter().map(|(key, node)| (*key, plain(places, node))).collect();
    let values: Vec<(&str, &Node)> = values.iter().map(|(key, node)| (*key, node)).collect();
    for (ours, split) in &wanted {
        // A class of the user's own may have the name of one of OpenCompass's.
        let known = match class::dotted(entry).is_some_and(is_own) {
            true => Rows::Unknown,
            false => loaders.rows(name, &values, split),
        };
        let reason = match known {
            Rows::Known(mut known) => {
                if let Some(circular) = &circular {
                    circular.rotate(&mut known.source, split);
                }
                add(&mut table, ours, *known);
                continue;
            }
            Rows::Otherwise(reason) => reason,
            Rows::Unknown => "its loader would have to run".to_owned(),
        };
        let dotted = match &circular {
            Some(circular) => format!("opencompass.datasets.{}", circular.class.base),
            None => class::dotted(entry).unwrap_or(name).to_owned(),
        };
        let at = entry.get("type").map_or(span, |node| places.span(node.place));
        // Both splits come from one reader: what one way gives of the columns, the other might not.
        let draft = Draft { table: untouched, span, class: (dotted, at), parameters, unread: wanted, reason, circular };
        return Some(Entry::Unread(Box::new(draft)));
    }
    Some(Entry::Ready(finished(table, &parameters, span)))
}

/// Moves the keys that join shots from the retriever, their place in OpenCompass, to `infer_cfg`: here they belong to the prompt.
fn join_shots(table: &mut Table) {
    let Some(Node { value: Value::Table(infer), .. }) = table.get_mut("infer_cfg") else { return };
    for key in ["ice_separator", "ice_eos_token"] {
        let Some(Node { value: Value::Table(retriever), .. }) = infer.get_mut("retriever") else { return };
        if let Some(node) = retriever.remove(key) {
            infer.entries.push(KeyValue { key: key.to_owned(), key_span: node.span, node });
        }
    }
}

/// Reports keys that say which rows are read, of a data set of a preset: it says that itself.
fn refuse_foreign(check: &mut Check, places: &Places, table: &mut Table, entry: &PythonNode) {
    let split = NATIVE.iter().find_map(|key| entry.get(key)).map(|node| places.span(node.place));
    let Some(file) = split.map(|span| span.file).filter(|file| check.sources.is_preset(*file)) else { return };
    let preset = check.sources.path(file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    for key in preset_form::FOREIGN {
        if let Some(node) = table.remove(key) {
            let message = format!("`{key}` of `{preset}`, which comes with the program, cannot be set");
            check.error(node.span, message, Some(preset_form::lacks(&preset, key)));
        }
    }
}

/// The table of these entries of `entry`. Postprocessors that are not known here keep the names of their modules.
fn table(check: &mut Check, places: &Places, entries: &[(PythonNode, PythonNode)], entry: &PythonNode) -> Table {
    let entries = functions::without_own(check, places, entries);
    let mut table = tree::table(check, places, &entries);
    let theirs = entry.get("eval_cfg");
    if let (Some(Node { value: Value::Table(eval), .. }), Some(theirs)) = (table.get_mut("eval_cfg"), theirs) {
        functions::keep_modules(eval, theirs);
        circular::name_evaluator(eval, theirs);
    }
    table
}

/// Adds a split that the table knows.
fn add(table: &mut Table, ours: &str, known: Known) {
    if ours == "test" {
        keep_given(table, &known.source);
    }
    known.put(table, ours);
}

/// The value of a parameter; one that no configuration holds is equal to none.
fn plain(places: &Places, node: &PythonNode) -> Node {
    let nothing = Node { value: Value::Datetime, span: places.span(node.place) };
    tree::convert(&mut Check::default(), places, node).unwrap_or(nothing)
}

/// Leaves out input columns that the class does not give: OpenCompass never looks for them.
fn keep_given(table: &mut Table, source: &Node) {
    let only = source.table().and_then(|source| source.get("only")).map(Node::items).unwrap_or_default();
    let Some(Node { value: Value::Table(reader), .. }) = table.get_mut("reader_cfg") else { return };
    if let Some(Node { value: Value::Array(columns), .. }) = reader.get_mut("input_columns")
        && !only.is_empty()
    {
        columns.retain(|column| only.iter().any(|given| given.text() == column.text()));
    }
}

/// Returns `true` if its retriever shows rows of the train split.
fn wants_shots(entry: &PythonNode) -> bool {
    let retriever = entry.get("infer_cfg").and_then(|infer| infer.get("retriever"));
    retriever.and_then(class::of).is_some_and(|name| name != "ZeroRetriever")
}

/// OpenCompass's name of a data set that has none: its path, and its name. A dot before it would hide its files.
fn named(table: &mut Table, parameters: &[(&str, &PythonNode)], span: Span) {
    if table.get("abbr").is_some() {
        return;
    }
    let text = |key| parameters.iter().find(|(name, _)| *name == key).and_then(|(_, node)| node.text());
    let abbr = usual_abbr(text("path"), text("name"));
    let node = Node { value: Value::String(abbr), span };
    table.entries.insert(0, KeyValue { key: "abbr".to_owned(), key_span: span, node });
}

/// The whole path and the name, as OpenCompass has it; but for leading dots, which no folder of results may have.
fn usual_abbr(path: Option<&str>, name: Option<&str>) -> String {
    let path = path.unwrap_or_default().trim_start_matches('.');
    let abbr = name.map_or_else(|| path.to_owned(), |name| format!("{path}_{name}"));
    abbr.replace('/', "_")
}

/// The name of a data set: its own, or that which is made of its path.
pub(super) fn abbr(entry: &PythonNode) -> Option<String> {
    let text = |key| entry.get(key).and_then(PythonNode::text);
    match text("abbr") {
        Some(abbr) => Some(abbr.to_owned()),
        None => Some(usual_abbr(text("path"), text("name"))).filter(|abbr| !abbr.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_one_missing_folder_is_one_error() {
        let mut check = Check::default();
        let at = crate::flags::command_line::nowhere(&mut check);
        let one = |class: &str, name: &str, file: &str| Refused {
            class: class.to_owned(),
            name: name.to_owned(),
            at,
            reason: format!("x.py:1:2: FileNotFoundError: [Errno 2] No such file or directory: '/none/here/{file}'"),
            help: None,
        };
        let other = Refused { reason: "it raised ValueError".to_owned(), ..one("C", "c", "") };
        refuse(&mut check, vec![one("A", "a", "1.jsonl"), one("B", "b", "2.jsonl"), other]);
        let said = check.finish().unwrap_err().to_string();
        assert!(said.contains("no folder `/none`, which 2 data sets need: `a`, `b`"), "{said}");
        assert!(said.contains("`C` cannot be read here: it raised ValueError") && said.contains("2 errors"), "{said}");
    }
}
