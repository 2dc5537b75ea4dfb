//! `chat = "auto"`: whether a model has a chat template, by the files of its tokenizer.

use crate::read::fields::flag;
use crate::report::check::Check;
use crate::syntax::tree::{Node, Value};
use compass_chat::ChatTemplates;
use std::path::Path;

/// Use of the chat template that `chat` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chat {
    Auto,
    Always,
    Never,
}

/// Reads `chat`; `None` when it is none, which is reported.
pub(crate) fn read(check: &mut Check, node: &Node) -> Option<Chat> {
    match &node.value {
        Value::String(text) if text == "auto" => Some(Chat::Auto),
        Value::Boolean(_) => Some(if flag(check, "chat", node)? { Chat::Always } else { Chat::Never }),
        _ => {
            check.wrong_type("chat", node, "\"auto\" or a boolean", "\"auto\"");
            None
        }
    }
}

/// Decides `auto`, and says what it comes to. A tokenizer that this host does not have leaves prompts as they are.
pub(crate) fn decide(check: &mut Check, node: &Node, abbr: &str, tokenizer: &Path) -> bool {
    let name = format!("model `{abbr}`");
    let (chat, message, help) = match has_template(tokenizer) {
        Some(true) => (
            true,
            format!("{name} has a chat template: prompts go through it"),
            "`--hf-type base` (`chat = false`) asks with prompts as they are",
        ),
        Some(false) => (
            false,
            format!("{name} has no chat template: prompts are asked as they are"),
            "`--hf-type chat` (`chat = true`) is for models with one",
        ),
        // The run has decided it.
        None if check.environment.scores_only => return false,
        None => (
            false,
            format!("whether {name} has a chat template cannot be seen from here: prompts are asked as they are"),
            "say which with `--hf-type chat` or `--hf-type base` (`chat = true`, `chat = false`)",
        ),
    };
    check.note(node.span, message, help);
    chat
}

/// Refuses a chat with a model whose tokenizer says that it has no template: every answer would fail.
pub(crate) fn require(check: &mut Check, node: &Node, abbr: &str, tokenizer: &Path) {
    if !check.unselected && tokenizer.join("tokenizer_config.json").is_file() && has_template(tokenizer) == Some(false)
    {
        let message = format!("model `{abbr}` has no chat template, and `chat = true` asks through one");
        let help = "ask with prompts as they are: `--hf-type base` (`chat = false`)";
        check.error(node.span, message, Some(help.into()));
    }
}

/// Returns whether a tokenizer's directory holds a chat template, in one of the places where transformers looks; `None` if
/// there is no directory.
fn has_template(tokenizer: &Path) -> Option<bool> {
    if !tokenizer.is_dir() {
        return None;
    }
    Some(ChatTemplates::read(tokenizer).is_ok_and(|templates| !templates.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_found_where_transformers_looks() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        assert_eq!(has_template(&folder.path().join("nothing")), None);
        assert_eq!(has_template(folder.path()), Some(false));
        write("tokenizer_config.json", r#"{"chat_template": null, "bos_token": "<s>"}"#);
        assert_eq!(has_template(folder.path()), Some(false));
        for template in [r#""{{ messages }}""#, r#"[{"name": "default", "template": ""}]"#] {
            write("tokenizer_config.json", &format!(r#"{{"chat_template": {template}}}"#));
            assert_eq!(has_template(folder.path()), Some(true), "{template}");
        }
        write("tokenizer_config.json", "not JSON");
        assert_eq!(has_template(folder.path()), Some(false));
        write("chat_template.jinja", "{{ messages }}");
        assert_eq!(has_template(folder.path()), Some(true));
    }
}
