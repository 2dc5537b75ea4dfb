//! Messages as chat services take them: OpenCompass's `RawPromptTemplate`.
//!
//! They become a template in rounds: what stands before the last user message is said before the dialogue, with shots at
//! the ice token, and that message is the dialogue. A model with a chat template gets the messages as they are, whichever
//! roles its meta template knows; others read them as `HUMAN`, `BOT` and `SYSTEM`.

use crate::keys::{Kind, TableKeys, ignored, key};
use crate::read::fields::{self, flag};
use crate::report::check::Check;
use crate::syntax::tree::{Node, Value};
use compass_plan::prompt::{Role, Rounds, TemplateLine};

pub(crate) static MESSAGES: TableKeys = TableKeys {
    name: "template.messages",
    title: "messages",
    keys: &[
        key(
            "messages",
            Kind::ArrayOf(&Kind::Either(&[Kind::Text, Kind::Table(&MESSAGE)])),
            "the conversation; a string is a text of its own",
        )
        .takes("array of messages and strings")
        .required(),
        key("format_variables", Kind::Boolean, "whether columns are filled in; `false` only where no text has a brace")
            .default("`true`"),
        ignored("type", Kind::Text, "OpenCompass's `RawPromptTemplate`"),
        ignored("ice_token", Kind::Anything, "that of `infer_cfg` counts"),
    ],
    types: &[],
};

pub(crate) static MESSAGE: TableKeys = TableKeys {
    name: "template.message",
    title: "a message of `messages`",
    keys: &[
        key("role", Kind::Text, "who says it").takes("`system`, `user`, `assistant`").required(),
        key("content", Kind::Text, "what is said").required(),
        key("expand_column", Kind::Text, "in place of both: column that holds messages").default("none"),
    ],
    types: &[],
};

const EXAMPLE: &str = "[{ role = \"user\", content = \"{question}\" }]";

/// Reads `{ messages = [...] }`, the value of `key`.
pub(crate) fn read(check: &mut Check, key: &str, node: &Node) -> Option<Rounds> {
    let mut fields = fields::table(check, key, node, &MESSAGES)?.titled(format!("`{key}`"));
    fields.get("type");
    // The key of the data set's own `infer_cfg` counts; OpenCompass repeats it here.
    fields.get("ice_token");
    let formats = fields.get("format_variables").and_then(|node| Some((flag(check, "format_variables", node)?, node)));
    let messages = fields.require(check, "messages", EXAMPLE)?;
    fields.finish(check);
    let Value::Array(items) = &messages.value else {
        check.wrong_type("messages", messages, "an array of messages", EXAMPLE);
        return None;
    };
    let read: Vec<Option<TemplateLine>> = items.iter().map(|item| message(check, item)).collect();
    let mut lines: Vec<TemplateLine> = read.into_iter().collect::<Option<_>>()?;
    if let Some((false, node)) = formats
        && lines.iter().any(|line| line.text().is_some_and(|text| text.contains('{')))
    {
        let help = "remove it, or take the messages from a column: `{ expand_column = \"messages\" }`";
        check.value_not_yet("format_variables", node, help);
        return None;
    }
    let is_silent = |line: &TemplateLine| matches!(line, TemplateLine::Role(role) if role.role == "assistant" && role.prompt.as_deref() == Some(""));
    while lines.last().is_some_and(is_silent) {
        lines.pop();
    }
    if lines.is_empty() {
        check.error(messages.span, "`messages` asks nothing".into(), Some(format!("write `messages = {EXAMPLE}`")));
        return None;
    }
    if key == "ice_template" {
        // A shot shows its dialogue alone, and all of it is that.
        return Some(Rounds { round: lines, raw: true, ..Rounds::default() });
    }
    let asks = |line: &TemplateLine| matches!(line, TemplateLine::Role(role) if role.role == "user");
    let round = if lines.last().is_some_and(asks) { lines.split_off(lines.len() - 1) } else { Vec::new() };
    Some(Rounds { begin: lines, round, raw: true, ..Rounds::default() })
}

fn message(check: &mut Check, node: &Node) -> Option<TemplateLine> {
    if let Value::String(text) = &node.value {
        return Some(TemplateLine::Text(text.clone()));
    }
    let Value::Table(_) = &node.value else {
        check.wrong_type("messages", node, "strings and tables with `role` and `content`", EXAMPLE);
        return None;
    };
    let mut fields = fields::table(check, "messages", node, &MESSAGE)?;
    if let Some(column) = fields.text(check, "expand_column") {
        for key in ["role", "content"] {
            if fields.get(key).is_some() {
                let span = fields.table.entry(key).map_or(node.span, |entry| entry.key_span);
                let message = format!("`{key}` beside `expand_column`");
                check.error(span, message, Some("remove it: the column holds whole messages".into()));
            }
        }
        fields.finish(check);
        return Some(TemplateLine::Expand(column.into()));
    }
    let role = fields.require(check, "role", "\"user\"");
    let content = fields.require(check, "content", "\"{question}\"");
    fields.finish(check);
    let (role, content) = (role?, content?);
    let prompt = fields::text(check, "content", content)?.to_owned();
    let name = fields::text(check, "role", role)?;
    let fallback = match name {
        "user" => "HUMAN",
        "assistant" => "BOT",
        "system" => "SYSTEM",
        _ => {
            let help = "a message is by `system`, `user` or `assistant`";
            check.error(role.span, format!("unknown role `{name}`"), Some(help.into()));
            return None;
        }
    };
    Some(TemplateLine::Role(Role {
        role: name.into(),
        prompt: Some(prompt),
        fallback_role: Some(fallback.into()),
        ..Role::default()
    }))
}
