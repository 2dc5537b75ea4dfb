//! `meta_template`: how a model's roles are wrapped. A table as OpenCompass writes it, or `"chat"` for the model's own
//! chat template.

use crate::keys::{Kind, TableKeys, key};
use crate::read::fields::{self, Fields, text};
use crate::report::check::Check;
use crate::syntax::tree::{Node, Value};
use compass_plan::prompt::{Message, MetaItem, MetaRole, MetaStyle, MetaTemplate, chat_role};
use std::collections::BTreeSet;

/// A string, or several that are joined.
pub(crate) const WORDS: Kind = Kind::Either(&[Kind::Text, Kind::Texts]);

pub(crate) static META_TEMPLATE: TableKeys = TableKeys {
    name: "meta_template",
    title: "`meta_template`",
    keys: &[
        key(
            "round",
            Kind::ArrayOf(&Kind::Either(&[Kind::Text, Kind::Table(&META_ROLE)])),
            "one round of the dialogue; one role has `generate = true`",
        )
        .takes("array of roles and strings")
        .required(),
        key(
            "begin",
            Kind::Either(&[
                Kind::Text,
                Kind::Table(&META_MESSAGE),
                Kind::ArrayOf(&Kind::Either(&[Kind::Text, Kind::Table(&META_MESSAGE)])),
            ]),
            "before the dialogue; with `api_role` a message or several",
        )
        .takes("string or array of strings")
        .default("none"),
        key("end", WORDS, "after the dialogue").takes("string or array of strings").default("none"),
        key(
            "reserved_roles",
            Kind::ArrayOf(&Kind::Table(&META_ROLE)),
            "roles that templates may name beside those of `round`",
        )
        .takes("array of roles")
        .default("none"),
        key("eos_token_id", Kind::from(0), "ends an answer").default("none"),
    ],
    types: &[],
};

pub(crate) static META_ROLE: TableKeys = TableKeys {
    name: "meta_template.role",
    title: "a role",
    keys: &[
        key("role", Kind::Text, "name of the role, as templates have it").required(),
        key("begin", WORDS, "before what the role says").takes("string or array of strings").default("none"),
        key("prompt", WORDS, "what it says where the template leaves it out")
            .takes("string or array of strings")
            .default("none"),
        key("end", WORDS, "after what the role says").takes("string or array of strings").default("none"),
        key("generate", Kind::Boolean, "whether the model answers in this role").default("`false`"),
        key("api_role", Kind::Text, "given to all roles it makes a chat, given to none one text")
            .takes("`HUMAN`, `BOT`, `SYSTEM`")
            .default("none"),
    ],
    types: &[],
};

pub(crate) static META_MESSAGE: TableKeys = TableKeys {
    name: "meta_template.message",
    title: "a message of `begin`",
    keys: &[
        key("role", Kind::Text, "who says it").or(&["api_role"]).takes("`HUMAN`, `BOT`, `SYSTEM`").required(),
        key("prompt", Kind::Text, "what is said").required(),
    ],
    types: &[],
};

const EXAMPLE: &str =
    "{ round = [{ role = \"HUMAN\", begin = \"...\", end = \"\\n\" }, { role = \"BOT\", generate = true }] }";

/// Reads the template in `node`; `None` when something is wrong, which is reported.
pub(crate) fn read(check: &mut Check, node: &Node) -> Option<MetaTemplate> {
    match &node.value {
        Value::String(name) if name == "chat" => return Some(MetaTemplate::chat()),
        Value::Table(_) => {}
        _ => {
            check.wrong_type("meta_template", node, "\"chat\" or a table with `round`", EXAMPLE);
            return None;
        }
    }
    let mut fields = fields::table(check, "meta_template", node, &META_TEMPLATE)?;
    let round = fields.require(check, "round", "[{ role = \"HUMAN\" }, { role = \"BOT\", generate = true }]");
    let round = round.and_then(|node| items(check, "round", node));
    let reserved = fields.get("reserved_roles").map_or(Some(Vec::new()), |node| items(check, "reserved_roles", node));
    let begin_node = fields.get("begin");
    let end = fields.get("end").map_or(Some(String::new()), |node| joined(check, "end", node));
    let eos_token_id = fields.u32(check, "eos_token_id");
    fields.finish(check);
    let (round, reserved) = (round?, roles_only(check, node, reserved?)?);

    let said: Vec<&MetaRole> = round.iter().filter_map(role_of).chain(&reserved).collect();
    let mut seen = BTreeSet::new();
    if let Some(twice) = said.iter().find(|role| !seen.insert(role.role.as_str())) {
        let help = "each role of `round` and `reserved_roles` has a name of its own";
        check.error(node.span, format!("`meta_template` names the role `{}` twice", twice.role), Some(help.into()));
        return None;
    }
    if !round.iter().any(|item| role_of(item).is_some()) {
        check.error(node.span, "`meta_template` has no role in `round`".into(), Some(format!("write {EXAMPLE}")));
        return None;
    }
    let without: Vec<&str> =
        said.iter().filter(|role| role.api_role.is_none()).map(|role| role.role.as_str()).collect();
    let style = if without.len() == said.len() { MetaStyle::Text } else { MetaStyle::Messages };
    if style == MetaStyle::Messages && !without.is_empty() {
        let help = "give every role an `api_role` for a chat, or none for one text";
        let message = format!("`meta_template` gives no `api_role` to {}", without.join(", "));
        check.error(node.span, message, Some(help.into()));
        return None;
    }
    let (begin, opening) = match (begin_node, style) {
        (None, _) => (String::new(), Vec::new()),
        (Some(node), MetaStyle::Text) => (joined(check, "begin", node)?, Vec::new()),
        (Some(node), MetaStyle::Messages) => (String::new(), opening(check, node)?),
    };
    Some(MetaTemplate {
        style,
        begin,
        opening,
        round,
        end: end?,
        reserved_roles: reserved,
        eos_token_id,
        one_turn: false,
    })
}

fn role_of(item: &MetaItem) -> Option<&MetaRole> {
    match item {
        MetaItem::Role(role) => Some(role),
        MetaItem::Text(_) => None,
    }
}

fn items(check: &mut Check, key: &'static str, node: &Node) -> Option<Vec<MetaItem>> {
    let Value::Array(items) = &node.value else {
        check.wrong_type(key, node, "an array of tables with `role`", "[{ role = \"HUMAN\" }]");
        return None;
    };
    let read: Vec<Option<MetaItem>> = items
        .iter()
        .map(|item| match &item.value {
            Value::String(words) => Some(MetaItem::Text(words.clone())),
            _ => fields::table(check, key, item, &META_ROLE)
                .and_then(|fields| role(check, fields.titled(format!("a role of `{key}`"))))
                .map(MetaItem::Role),
        })
        .collect();
    read.into_iter().collect()
}

fn roles_only(check: &mut Check, node: &Node, items: Vec<MetaItem>) -> Option<Vec<MetaRole>> {
    let roles: Option<Vec<MetaRole>> = items
        .into_iter()
        .map(|item| match item {
            MetaItem::Role(role) => Some(role),
            MetaItem::Text(_) => None,
        })
        .collect();
    if roles.is_none() {
        let help = "write tables with `role`";
        check.error(node.span, "`reserved_roles` holds a string".into(), Some(help.into()));
    }
    roles
}

fn role(check: &mut Check, mut fields: Fields<'_>) -> Option<MetaRole> {
    let role = fields.require(check, "role", "\"HUMAN\"").and_then(|node| text(check, "role", node));
    let api_role = fields.get("api_role").map(|node| chat(check, "api_role", node));
    let mut words = |key| fields.get(key).map_or(Some(String::new()), |node| joined(check, key, node));
    let (begin, prompt, end) = (words("begin"), words("prompt"), words("end"));
    let generate = match fields.get("generate").map(|node| (&node.value, node)) {
        None => Some(false),
        Some((Value::Boolean(generate), _)) => Some(*generate),
        Some((_, node)) => {
            check.wrong_type("generate", node, "a boolean", "true");
            None
        }
    };
    fields.finish(check);
    let api_role = match api_role {
        Some(read) => Some(read?),
        None => None,
    };
    Some(MetaRole { role: role?.to_owned(), api_role, begin: begin?, prompt: prompt?, end: end?, generate: generate? })
}

/// The chat's name of a role, from OpenCompass's or the chat's own.
fn chat(check: &mut Check, key: &str, node: &Node) -> Option<String> {
    let role = chat_role(text(check, key, node)?).to_owned();
    if !["user", "assistant", "system"].contains(&role.as_str()) {
        let help = "write \"HUMAN\", \"BOT\" or \"SYSTEM\"";
        check.error(node.span, format!("`{key}` cannot be `{role}`"), Some(help.into()));
        return None;
    }
    Some(role)
}

/// A string, or strings that are joined. Token ids are not served: OpenCompass's own reader refuses them too.
fn joined(check: &mut Check, key: &str, node: &Node) -> Option<String> {
    match &node.value {
        Value::String(words) => Some(words.clone()),
        Value::Array(_) => check.texts(key, node).map(|texts| texts.into_iter().map(|(words, _)| words).collect()),
        _ => {
            check.wrong_type(key, node, "a string or an array of strings", "\"...\"");
            None
        }
    }
}

/// Messages before the dialogue: a table with `role` and `prompt`, or an array of such.
fn opening(check: &mut Check, node: &Node) -> Option<Vec<Message>> {
    let items = match &node.value {
        Value::Array(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let read: Vec<Option<Message>> = items
        .iter()
        .map(|item| {
            let mut fields = fields::table(check, "begin", item, &META_MESSAGE)?;
            // Of both OpenCompass reads the role.
            let named = fields.get("role").map(|node| ("role", node)).or_else(|| fields.either(check, "role"));
            let role = named.and_then(|(key, node)| chat(check, key, node));
            let content = fields.require(check, "prompt", "\"...\"").and_then(|node| text(check, "prompt", node));
            fields.finish(check);
            Some(Message { role: role?, content: content?.to_owned() })
        })
        .collect();
    read.into_iter().collect()
}
