//! Files with a model's chat templates: chat_template.jinja and its folder, tokenizer_config.json, chat_template.json.

use compass_common::regular_file;
use compass_plan::architecture::read_config;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Name of the template that is used by default.
const DEFAULT: &str = "default";

/// Name of the template that is used with tools.
const TOOL_USE: &str = "tool_use";

/// The templates of a model by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChatTemplates(BTreeMap<String, String>);

/// Reason that a file with templates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileFault {
    /// It is missing or unreadable on this host.
    #[error("{path}: {error}", path = .path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    /// Its content is no JSON.
    #[error("{path}: invalid: {error}; download the file again, or correct it", path = .path.display())]
    Malformed { path: PathBuf, error: serde_json::Error },
}

impl FileFault {
    fn unreadable(path: &Path, error: io::Error) -> Self {
        Self::Unreadable { path: path.to_owned(), error }
    }
}

/// Reason that there is no template to use.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoTemplate {
    /// The model's files have none: it is a base model, or its template must be given.
    #[error("the model has no chat template (chat_template.jinja, or chat_template in tokenizer_config.json)")]
    None,
    /// There are several, and none is called `default`.
    #[error("the model has several chat templates and none is called `default`; choose one of: {0}")]
    Several(String),
}

impl ChatTemplates {
    /// Reads the templates of `directory`. A separate file takes precedence over tokenizer_config.json, as in
    /// transformers; chat_template.json, which transformers' processors write, is used last.
    ///
    /// # Errors
    /// [`FileFault`] when a file is malformed or cannot be read.
    pub fn read(directory: &Path) -> Result<Self, FileFault> {
        let mut own = BTreeMap::new();
        let single = directory.join("chat_template.jinja");
        if single.is_file() {
            own.insert(DEFAULT.to_owned(), text(&single)?);
        }
        let folder = directory.join("additional_chat_templates");
        if folder.is_dir() {
            for entry in std::fs::read_dir(&folder).map_err(|error| FileFault::unreadable(&folder, error))? {
                let path = entry.map_err(|error| FileFault::unreadable(&folder, error))?.path();
                let name = path.file_stem().and_then(|name| name.to_str());
                if let (Some(name), true) = (name, path.extension().is_some_and(|end| end == "jinja")) {
                    own.insert(name.to_owned(), text(&path)?);
                }
            }
        }
        for name in ["tokenizer_config.json", "chat_template.json"] {
            if own.is_empty()
                && let Some(fields) = json(&directory.join(name))?
            {
                own = fields.get("chat_template").map(from_value).unwrap_or_default();
            }
        }
        Ok(Self(own))
    }

    /// Returns whether there is no template.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the template to use: `tool_use` with tools if it exists, otherwise `default`.
    ///
    /// # Errors
    /// [`NoTemplate`].
    pub fn choose(&self, with_tools: bool) -> Result<&str, NoTemplate> {
        let named = |name: &str| self.0.get(name).map(String::as_str);
        let tools = with_tools.then(|| named(TOOL_USE)).flatten();
        let names = || self.0.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        match tools.or_else(|| named(DEFAULT)) {
            Some(template) => Ok(template),
            None if self.0.is_empty() => Err(NoTemplate::None),
            None => Err(NoTemplate::Several(names())),
        }
    }

    /// Returns the template with a name.
    pub fn named(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

fn text(path: &Path) -> Result<String, FileFault> {
    regular_file::read_text(path, regular_file::SMALL).map_err(|error| FileFault::unreadable(path, error))
}

/// Returns the texts of the special tokens of tokenizer_config.json by their roles (`bos_token`, ...), without the vocabulary:
/// enough to see what a template makes of a message.
pub fn special_tokens(directory: &Path) -> Map<String, Value> {
    let fields = json(&directory.join("tokenizer_config.json")).ok().flatten();
    let fields = fields.and_then(|fields| fields.as_object().cloned()).unwrap_or_default();
    let token = |(role, token): (String, Value)| {
        let text = token.as_str().or_else(|| token.get("content")?.as_str())?.to_owned();
        role.ends_with("_token").then(|| (role, text.into()))
    };
    fields.into_iter().filter_map(token).collect()
}

/// Reads a JSON file, as leniently as config.json; `None` if it does not exist.
fn json(path: &Path) -> Result<Option<Value>, FileFault> {
    match regular_file::read(path, regular_file::SMALL) {
        Ok(bytes) => {
            let malformed = |error| FileFault::Malformed { path: path.to_owned(), error };
            read_config(&bytes).map(Some).map_err(malformed)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FileFault::unreadable(path, error)),
    }
}

/// Reads one template, or a list of `{"name": ..., "template": ...}`.
fn from_value(value: &Value) -> BTreeMap<String, String> {
    match value {
        Value::String(template) => BTreeMap::from([(DEFAULT.to_owned(), template.clone())]),
        Value::Array(entries) => {
            let entry =
                |entry: &Value| Some((entry.get("name")?.as_str()?.into(), entry.get("template")?.as_str()?.into()));
            entries.iter().filter_map(entry).collect()
        }
        _ => BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_found_by_file_and_name() {
        let directory = tempfile::tempdir().unwrap();
        let read = || ChatTemplates::read(directory.path()).unwrap();
        let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
        assert_eq!(read().choose(false), Err(NoTemplate::None));
        write("chat_template.json", r#"{"chat_template": "processor's"}"#);
        assert_eq!(read().choose(false), Ok("processor's"));
        write("tokenizer_config.json", r#"{"chat_template": "one"}"#);
        assert_eq!(read().choose(true), Ok("one"));
        let list = r#"{"chat_template": [{"name": "tool_use", "template": "t"}, {"name": "rag", "template": "r"}]}"#;
        write("tokenizer_config.json", list);
        assert_eq!((read().choose(true), read().named("rag")), (Ok("t"), Some("r")));
        assert_eq!(read().choose(false), Err(NoTemplate::Several("rag, tool_use".into())));
        write("chat_template.jinja", "file");
        std::fs::create_dir(directory.path().join("additional_chat_templates")).unwrap();
        write("additional_chat_templates/tool_use.jinja", "tools");
        assert_eq!((read().choose(false), read().choose(true)), (Ok("file"), Ok("tools")));
    }
}
