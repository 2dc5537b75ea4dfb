//! Paths of a configuration that is written elsewhere: they name the same files from there.
//!
//! Paths of data sets that come with the program stay as they are, below a `data_dir` that is written into the file, so that
//! one line moves all of them. Everything else becomes absolute.

use crate::keys::vocabulary::is_endpoint;
use crate::read::datasets::hub;
use crate::read::models::files::looks_like_hub_id;
use crate::read::paths;
use crate::report::check::Check;
use crate::syntax::source::Span;
use crate::syntax::tree::{KeyValue, Node, Table, Value};
use std::path::{Path, PathBuf};

/// Keys of a column whose values are files.
const FILES_OF_COLUMNS: &[&str] = &["lines_of", "text_of", "rows_of"];
/// Keys of a runner, and of the settings of DLC in it, whose values are files.
const FILES_OF_RUNNERS: &[&str] = &["aliyun_cfg", "dlc_config_path"];

/// Places where a configuration looks for files, and the place where it will be.
struct Move<'p> {
    check: &'p Check,
    /// Folder to which the text will be written.
    folder: Option<&'p Path>,
    /// The folder that a flag names.
    data_dir: Option<&'p Path>,
    /// Set if a path stayed relative to the data folder.
    in_data: bool,
}

/// Rewrites the paths of `root` for a file in `folder`.
pub(crate) fn settle(check: &Check, root: &mut Table, folder: Option<&Path>, data_dir: Option<&Path>) {
    let mut moved = Move { check, folder, data_dir, in_data: false };
    for table in tables(root, "model") {
        if let Some(Node { value: Value::Table(endpoint), .. }) = table.get_mut("endpoint") {
            absolute(check, endpoint, &["key_file"]);
        }
        let is_echo = table.text("type") == Some("echo");
        // A name at a server is no path.
        if table.text("type").is_some_and(is_endpoint) {
            continue;
        }
        for key in ["path", "tokenizer_path", "peft_path"] {
            if let Some(node) = table.get_mut(key) {
                moved.model(node, is_echo);
            }
        }
    }
    for table in tables(root, "dataset") {
        for split in ["test", "train"] {
            let Some(Node { value: Value::Table(split), .. }) = table.get_mut(split) else { continue };
            if let Some(node) = split.get_mut("path") {
                moved.data(node);
            }
            let Some(Node { value: Value::Table(columns), .. }) = split.get_mut("columns") else { continue };
            for column in &mut columns.entries {
                let Value::Table(column) = &mut column.node.value else { continue };
                for key in FILES_OF_COLUMNS {
                    if let Some(node) = column.get_mut(key) {
                        moved.data(node);
                    }
                }
            }
        }
    }
    for stage in ["infer", "eval"] {
        let Some(Node { value: Value::Table(stage), .. }) = root.get_mut(stage) else { continue };
        let Some(Node { value: Value::Table(runner), .. }) = stage.get_mut("runner") else { continue };
        moved.runner(runner);
    }
    for pool in tables(root, "pool") {
        if let Some(Node { value: Value::Table(launcher), .. }) = pool.get_mut("launcher") {
            moved.runner(launcher);
        }
    }
    if moved.in_data
        && let Ok(data_dir) = std::path::absolute(&check.environment.data_root)
        && root.get("data_dir").is_none()
    {
        let span = Span { file: Default::default(), start: 0, end: 0 };
        let node = Node { value: Value::String(data_dir.display().to_string()), span };
        root.entries.push(KeyValue { key: "data_dir".to_owned(), key_span: span, node });
    }
}

/// Makes the paths at `keys` of a table absolute.
pub(crate) fn absolute(check: &Check, table: &mut Table, keys: &[&str]) {
    let moved = Move { check, folder: None, data_dir: None, in_data: false };
    for key in keys {
        if let Some(node) = table.get_mut(key)
            && node.text().is_some_and(is_relative)
        {
            moved.make_absolute(node);
        }
    }
}

fn tables<'t>(root: &'t mut Table, key: &str) -> impl Iterator<Item = &'t mut Table> {
    let items = match root.get_mut(key) {
        Some(Node { value: Value::Array(items), .. }) => items.as_mut_slice(),
        _ => &mut [],
    };
    items.iter_mut().filter_map(|node| match &mut node.value {
        Value::Table(table) => Some(table),
        _ => None,
    })
}

impl Move<'_> {
    /// A model's folder, or its name on the hub.
    fn model(&self, node: &mut Node, is_echo: bool) {
        let Value::String(text) = &node.value else { return };
        let is_name = !is_echo && looks_like_hub_id(text) && !self.near(node.span, text).exists();
        if !is_name && is_relative(text) {
            self.make_absolute(node);
        }
    }

    /// A file of data, or several.
    fn data(&mut self, node: &mut Node) {
        if let Value::Array(items) = &mut node.value {
            items.iter_mut().for_each(|item| self.data(item));
        }
        let Value::String(text) = &node.value else { return };
        if text.starts_with(hub::SCHEME) || !is_relative(text) {
            return;
        }
        // What stands beside the new file would be taken first.
        let is_hidden = self.folder.is_some_and(|folder| folder.join(text).exists());
        match self.check.sources.is_preset(node.span.file) && !is_hidden {
            true => self.in_data = true,
            false => self.make_absolute(node),
        }
    }

    fn runner(&self, table: &mut Table) {
        for entry in &mut table.entries {
            match &mut entry.node.value {
                Value::Table(inner) if entry.key == "aliyun_cfg" => self.runner(inner),
                Value::String(text) if FILES_OF_RUNNERS.contains(&entry.key.as_str()) && is_relative(text) => {
                    self.make_absolute(&mut entry.node);
                }
                _ => {}
            }
        }
    }

    fn make_absolute(&self, node: &mut Node) {
        let Value::String(text) = &mut node.value else { return };
        let near = self.near(node.span, text);
        let far = self.data_dir.map(|dir| dir.join(text.as_str()));
        let path = far.filter(|far| !near.exists() && far.exists()).unwrap_or(near);
        *text = std::path::absolute(&path).unwrap_or(path).display().to_string();
    }

    /// Beside the file that names it.
    fn near(&self, span: Span, text: &str) -> PathBuf {
        paths::beside(self.check, span).join(text)
    }
}

fn is_relative(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('~') && !text.contains("://") && Path::new(text).is_relative()
}
