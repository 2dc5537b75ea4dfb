//! Presets as they are written: one TOML file for a family, in it a table for each preset.
//!
//! `names`, `about` and `source` tell of a preset. Every other key is one of its data set, or of each of several that stand in
//! `[[NAME.dataset]]`.
//! - `like = "OTHER"`, or `"OTHER/ABBR"` for what makes one of its data sets, takes what the other preset says: its keys, `about`
//!   and `source`. A key that is written stands in place of the other's whole, in `infer_cfg` key by key.
//! - `loader` names a class of OpenCompass with its parameters, which gives `test` and, where shots are shown, `train`.
//! - A template's label `A|B` is one of each, with `${label}` replaced.

use crate::passes::for_each;
use crate::report::check::Check;
use crate::syntax::parse::parse;
use crate::syntax::source::{Preset, Span};
use crate::syntax::tree::{KeyValue, Node, Table, Value};
use include_dir::{Dir, File, include_dir};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/presets");
/// The table of every preset with its file, by name. No place in them is that of a file.
static WRITTEN: LazyLock<BTreeMap<String, (&File<'static>, Table)>> = LazyLock::new(|| {
    let mut all = BTreeMap::new();
    for file in FILES.files() {
        for KeyValue { key, node, .. } in entries(&mut Check::default(), file, Path::new("")) {
            if let Value::Table(table) = node.value {
                all.insert(key, (file, table));
            }
        }
    }
    all
});
/// Keys of a preset that are none of a data set.
const HEAD: [&str; 3] = ["names", "about", "source"];
const LABEL: &str = "${label}";

/// Every preset, by name.
pub(super) fn presets() -> impl Iterator<Item = Preset> {
    WRITTEN.iter().map(|(name, (_, table))| {
        let aliases = table.get("names").map(Node::items).unwrap_or_default();
        let text = |key| head_text(table, key).unwrap_or_default().to_owned();
        Preset {
            name: name.clone(),
            aliases: aliases.iter().filter_map(|alias| Some(alias.text()?.to_owned())).collect(),
            about: text("about"),
            source: text("source"),
        }
    })
}

/// The data sets of a preset, with neither `for_each` nor `loader` written out, in the file that its places are in.
pub(super) fn written(check: &mut Check, preset: &Preset) -> Option<Node> {
    let (file, _) = WRITTEN.get(&preset.name)?;
    let entry = entries(check, file, Path::new(&preset.name)).into_iter().find(|entry| entry.key == preset.name)?;
    check.presets.insert(entry.key_span.file, preset.clone());
    let items = datasets(entry.node.table()?, entry.key_span);
    Some(Node { value: Value::Array(items), span: entry.key_span })
}

/// The tables of a file, which the sources know as that of the preset `name`.
fn entries(check: &mut Check, file: &File<'_>, name: &Path) -> Vec<KeyValue> {
    let shown = Path::new("presets").join(file.path());
    let id = check.sources.add_preset(&shown, name, file.contents_utf8().unwrap_or_default().to_owned());
    parse(check, id).unwrap_or_default().entries
}

/// Returns what a preset, or the one that it is like, says of itself at `key`.
fn head_text<'t>(table: &'t Table, key: &str) -> Option<&'t str> {
    let like = || {
        let (other, _) = reference(table.text("like")?);
        head_text(&WRITTEN.get(other)?.1, key)
    };
    table.text(key).or_else(like)
}

/// The preset that `like` names, and the one of its data sets.
fn reference(like: &str) -> (&str, Option<&str>) {
    like.split_once('/').map_or((like, None), |(preset, abbr)| (preset, Some(abbr)))
}

/// The data sets of a preset whose name stands at `span`.
fn datasets(preset: &Table, span: Span) -> Vec<Node> {
    let mut shared = preset.clone();
    HEAD.iter().for_each(|key| drop(shared.remove(key)));
    let own = shared.remove("dataset");
    let whole = [Node { value: Value::Table(Table::default()), span }];
    let mut all = Vec::new();
    for one in own.as_ref().map_or(&whole[..], Node::items) {
        let mut keys = overlaid(shared.clone(), one.table().cloned().unwrap_or_default());
        let below = keys.remove("like").map_or_else(|| whole.to_vec(), |like| inherited(&like, span));
        all.extend(below.into_iter().filter_map(|base| {
            let table = overlaid(base.table()?.clone(), keys.clone());
            Some(Node { value: Value::Table(table), span: one.span })
        }));
    }
    all
}

/// The data sets that `like` names, placed at `span`.
fn inherited(like: &Node, span: Span) -> Vec<Node> {
    let (preset, abbr) = reference(like.text().unwrap_or_default());
    let mut all = WRITTEN.get(preset).map(|(_, table)| datasets(table, span)).unwrap_or_default();
    all.retain(|one| abbr.is_none_or(|abbr| is_of(one, abbr)));
    all.iter_mut().for_each(|one| one.place(span));
    all
}

/// Returns `true` if `abbr` is the name of the data set, or of one of those that its `for_each` makes.
fn is_of(dataset: &Node, abbr: &str) -> bool {
    let mut names = dataset.table().cloned().unwrap_or_default();
    names.entries.retain(|entry| ["abbr", "for_each"].contains(&entry.key.as_str()));
    let span = dataset.span;
    let node = Node { value: Value::Array(vec![Node { value: Value::Table(names), span }]), span };
    let mut root = Table { entries: vec![KeyValue { key: "dataset".to_owned(), key_span: span, node }] };
    for_each::expand(&mut Check::default(), &mut root);
    abbrs(&root).iter().any(|one| one == abbr)
}

/// Names of the data sets of a configuration.
pub(super) fn abbrs(root: &Table) -> Vec<String> {
    let tables = root.get("dataset").map(Node::items).unwrap_or_default();
    tables.iter().filter_map(|node| Some(node.table()?.text("abbr")?.to_owned())).collect()
}

/// `above` on top of `base`: a key in place of the one below it, in `infer_cfg` key by key.
fn overlaid(mut base: Table, above: Table) -> Table {
    for mut entry in above.entries {
        if let Some(Node { value: Value::Table(below), .. }) = base.get_mut(&entry.key)
            && entry.key == "infer_cfg"
            && let Value::Table(parts) = entry.node.value
        {
            entry.node.value = Value::Table(overlaid(std::mem::take(below), parts));
        }
        match base.entries.iter_mut().find(|below| below.key == entry.key) {
            Some(below) => *below = entry,
            None => base.entries.push(entry),
        }
    }
    base
}

/// Writes out the labels of a data set's templates.
pub(super) fn write_labels(dataset: &mut Table) {
    let Some(Node { value: Value::Table(infer), .. }) = dataset.get_mut("infer_cfg") else { return };
    for key in ["ice_template", "prompt_template"] {
        let Some(Node { value: Value::Table(template), .. }) = infer.get_mut(key) else { continue };
        let entries = std::mem::take(&mut template.entries);
        let one = |entry: &KeyValue, label: &str| {
            let mut one = KeyValue { key: label.to_owned(), ..entry.clone() };
            for_each::replace(&mut one.node, &[(LABEL.to_owned(), label.to_owned())]);
            one
        };
        template.entries =
            entries.iter().flat_map(|entry| entry.key.split('|').map(|label| one(entry, label))).collect();
    }
}
