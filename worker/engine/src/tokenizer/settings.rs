//! `tokenizer_config.json` and its older companions: special tokens, added tokens, and the tokenizer class.

use super::special::{ROLES, SpecialToken, added_token};
use crate::config::read_json;
use compass_plan::engine::EngineFault;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;
use tokenizers::AddedToken;

/// Settings in the files; all are optional.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TokenizerSettings {
    /// Without `Fast`, since both names of a class mean the same files.
    pub(super) class: Option<String>,
    /// Tokens by role; a role that a file sets to `null` is present without a token.
    pub(super) roles: BTreeMap<&'static str, Option<SpecialToken>>,
    pub(super) additional: Vec<SpecialToken>,
    /// `added_tokens_decoder`, or added_tokens.json in older directories, by id.
    pub(super) added: BTreeMap<u32, AddedToken>,
    pub(super) add_bos_token: Option<bool>,
    pub(super) add_eos_token: Option<bool>,
    pub(super) legacy: Option<bool>,
    pub(super) add_prefix_space: Option<bool>,
    pub(super) clean_up_tokenization_spaces: bool,
    /// Set if the texts of special tokens in a prompt are read as any other text.
    pub(super) split_special_tokens: bool,
    /// Set if `truncation_side` is `left`; transformers' default is `right`.
    pub(super) truncates_left: bool,
    /// Absent if the file says "infinite" (a number of thirty digits) or nothing.
    pub(super) model_max_length: Option<u32>,
}

impl TokenizerSettings {
    /// Reads the files of `directory`; settings of missing files are empty.
    ///
    /// special_tokens_map.json and added_tokens.json count only if tokenizer_config.json has no `added_tokens_decoder`,
    /// as in transformers.
    ///
    /// # Errors
    /// [`EngineFault::Model`] when one is malformed.
    pub(super) fn read(directory: &Path) -> Result<Self, EngineFault> {
        let read = |name: &str| read_json::<Map<String, Value>>(&directory.join(name)).map(Option::unwrap_or_default);
        let config = read("tokenizer_config.json")?;
        let mut settings = Self::from_config(&config);
        if !config.contains_key("added_tokens_decoder") {
            settings.read_roles(&read("special_tokens_map.json")?);
            let older = read("added_tokens.json")?;
            for (content, id) in &older {
                let special = settings.is_special(content);
                if let Some(id) = id.as_u64().and_then(|id| u32::try_from(id).ok()) {
                    // The older loader normalises none of them.
                    settings.added.insert(id, AddedToken::from(content.as_str(), special).normalized(!special));
                }
            }
        }
        Ok(settings)
    }

    fn from_config(config: &Map<String, Value>) -> Self {
        let flag = |key: &str| config.get(key).and_then(Value::as_bool);
        let class = config.get("tokenizer_class").and_then(Value::as_str);
        let finite = |length: &f64| *length >= 1.0 && *length <= f64::from(u32::MAX);
        let mut settings = Self {
            class: class.map(|class| class.strip_suffix("Fast").unwrap_or(class).to_owned()),
            add_bos_token: flag("add_bos_token"),
            add_eos_token: flag("add_eos_token"),
            legacy: flag("legacy"),
            add_prefix_space: flag("add_prefix_space"),
            clean_up_tokenization_spaces: flag("clean_up_tokenization_spaces").unwrap_or(false),
            split_special_tokens: flag("split_special_tokens").unwrap_or(false),
            truncates_left: config.get("truncation_side").and_then(Value::as_str) == Some("left"),
            model_max_length: config
                .get("model_max_length")
                .and_then(Value::as_f64)
                .filter(finite)
                .map(|length| length as u32),
            ..Self::default()
        };
        settings.read_roles(config);
        for (id, token) in config.get("added_tokens_decoder").and_then(Value::as_object).into_iter().flatten() {
            if let (Ok(id), Some(token)) = (id.parse(), token.as_object().and_then(added_token)) {
                settings.added.insert(id, token);
            }
        }
        settings
    }

    fn read_roles(&mut self, fields: &Map<String, Value>) {
        for role in ROLES {
            if let Some(value) = fields.get(role) {
                self.roles.insert(role, SpecialToken::read(value));
            }
        }
        // transformers 5 saves them under the second name.
        let more =
            ["additional_special_tokens", "extra_special_tokens"].map(|key| fields.get(key).and_then(Value::as_array));
        for token in more.into_iter().flatten().flatten().filter_map(SpecialToken::read) {
            if !self.additional.contains(&token) {
                self.additional.push(token);
            }
        }
    }

    /// Returns the token of a role.
    pub(super) fn role(&self, role: &str) -> Option<&SpecialToken> {
        self.roles.get(role).and_then(Option::as_ref)
    }

    /// Returns the text of a role's token.
    pub(super) fn text(&self, role: &str) -> Option<&str> {
        self.role(role).map(|token| token.content.as_str())
    }

    /// Sets the token of a role unless a file has set it.
    pub(super) fn default_role(&mut self, role: &'static str, content: &str) {
        self.roles.entry(role).or_insert_with(|| Some(SpecialToken::plain(content)));
    }

    /// Returns every special token: the roles in order, then the additional ones.
    pub(super) fn special_tokens(&self) -> impl Iterator<Item = &SpecialToken> {
        ROLES.iter().filter_map(|role| self.role(role)).chain(&self.additional)
    }

    fn is_special(&self, content: &str) -> bool {
        self.special_tokens().any(|token| token.content == content)
    }

    /// Returns the tokens that transformers adds to the vocabulary of a loaded tokenizer, in its order.
    pub(super) fn tokens_to_add(&self) -> Vec<AddedToken> {
        let listed = self.added.values().map(|token| {
            let special = token.special || self.is_special(&token.content);
            token.clone().special(special)
        });
        let mut tokens: Vec<AddedToken> = listed.collect();
        for token in self.special_tokens() {
            if !tokens.iter().any(|listed| listed.content == token.content) {
                tokens.push(token.to_added());
            }
        }
        tokens
    }

    /// Returns `special_tokens_map`: the variables of chat templates.
    pub(super) fn special_tokens_map(&self) -> Map<String, Value> {
        let roles = ROLES.iter().filter_map(|&role| Some((role.to_owned(), self.text(role)?.into())));
        let mut map: Map<String, Value> = roles.collect();
        if !self.additional.is_empty() {
            let texts = self.additional.iter().map(|token| Value::from(token.content.as_str()));
            map.insert("additional_special_tokens".into(), texts.collect());
        }
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(files: &[(&str, &str)]) -> TokenizerSettings {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(directory.path().join(name), text).unwrap();
        }
        TokenizerSettings::read(directory.path()).unwrap()
    }

    #[test]
    fn both_spellings_of_a_token_and_of_no_limit() {
        assert_eq!(read(&[]), TokenizerSettings::default());
        let text = r#"{"bos_token": {"content": "<s>", "lstrip": false}, "eos_token": "</s>", "pad_token": null,
                       "add_bos_token": true, "model_max_length": 1000000000000000019884624838656,
                       "tokenizer_class": "LlamaTokenizerFast"}"#;
        let mut settings = read(&[("tokenizer_config.json", text)]);
        assert_eq!((settings.text("bos_token"), settings.text("eos_token")), (Some("<s>"), Some("</s>")));
        assert_eq!((settings.add_bos_token, settings.model_max_length), (Some(true), None));
        assert_eq!(settings.class.as_deref(), Some("LlamaTokenizer"));
        settings.default_role("pad_token", "<pad>");
        settings.default_role("unk_token", "<unk>");
        assert_eq!((settings.text("pad_token"), settings.text("unk_token")), (None, Some("<unk>")));
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("tokenizer_config.json"), "{").unwrap();
        let fault = TokenizerSettings::read(directory.path()).unwrap_err().to_string();
        assert!(fault.contains("tokenizer_config.json"), "{fault}");
    }

    #[test]
    fn precedence_of_the_files() {
        let map = r#"{"bos_token": "<b>", "additional_special_tokens": ["<x>"]}"#;
        let added = r#"{"<x>": 7, "plain": 6}"#;
        let older = [("special_tokens_map.json", map), ("added_tokens.json", added)];
        let mut files = older.to_vec();
        files.push(("tokenizer_config.json", r#"{"bos_token": "<s>", "eos_token": "</s>"}"#));
        let settings = read(&files);
        assert_eq!((settings.text("bos_token"), settings.text("eos_token")), (Some("<b>"), Some("</s>")));
        let contents: Vec<_> = settings.tokens_to_add().into_iter().map(|t| (t.content, t.special)).collect();
        let expected = [("plain", false), ("<x>", true), ("<b>", true), ("</s>", true)];
        assert_eq!(contents, expected.map(|(text, special)| (text.to_owned(), special)));
        let mut files = older.to_vec();
        let config = r#"{"bos_token": "<s>", "added_tokens_decoder": {"1": {"content": "<s>", "special": true}}}"#;
        files.push(("tokenizer_config.json", config));
        let settings = read(&files);
        assert_eq!((settings.text("bos_token"), settings.added.len()), (Some("<s>"), 1));
        assert_eq!(settings.special_tokens_map(), serde_json::json!({"bos_token": "<s>"}).as_object().unwrap().clone());
    }
}
