//! Templates and options as the configuration writes them.

use crate::keys::{Kind, TableKeys, key};
use crate::read::fields;
use crate::report::check::Check;
use crate::syntax::tree::{Node, Table, Value};
use compass_plan::prompt::{Options, Role, Rounds, Template, TemplateLine, TemplateText, jinja_fault};

/// A line, or several.
const LINES: Kind =
    Kind::Either(&[Kind::Text, Kind::Table(&LINE), Kind::ArrayOf(&Kind::Either(&[Kind::Text, Kind::Table(&LINE)]))]);

pub(crate) static ROUNDS: TableKeys = TableKeys {
    name: "template.rounds",
    title: "a dialogue",
    keys: &[
        key("begin", LINES, "before the dialogue; shots go to its ice token").takes("lines").default("none"),
        key("round", LINES, "the dialogue").takes("lines").required(),
        key("end", LINES, "after the dialogue").takes("lines").default("none"),
    ],
    types: &[],
};

pub(crate) static LINE: TableKeys = TableKeys {
    name: "template.line",
    title: "a line",
    keys: &[
        key("role", Kind::Text, "who says it: a role of the model's `meta_template`").required(),
        key("prompt", Kind::Text, "what is said").default("the role's own"),
        key("fallback_role", Kind::Text, "who says it where the model has no such role").default("none"),
        key("begin", Kind::Text, "before what is said").default("the role's own"),
        key("end", Kind::Text, "after what is said").default("the role's own"),
    ],
    types: &[],
};

const EXAMPLE: &str = "[{ role = \"HUMAN\", prompt = \"...\" }, { role = \"BOT\", prompt = \"...\" }]";

/// A string or a dialogue, or a table from label to either, in the order written.
pub(crate) fn read(check: &mut Check, key: &str, node: &Node) -> Option<Template> {
    match &node.value {
        Value::String(text) => {
            doubled_braces(check, key, node, text);
            Some(Template::Text(text.clone()))
        }
        Value::Table(table) if jinja(table).is_some() => jinja_source(check, key, node).map(Template::Jinja),
        Value::Table(table) if table.get("messages").is_some() => {
            super::raw_template::read(check, key, node).map(Template::Rounds)
        }
        Value::Table(table) if is_rounds(table) => rounds(check, key, node).map(Template::Rounds),
        Value::Table(table) if some_jinja(table) => text_templates(check, key, table).map(Template::TemplateTexts),
        Value::Table(table) if table.entries.iter().any(|entry| matches!(entry.node.value, Value::Table(_))) => {
            label_rounds(check, key, table).map(Template::LabelRounds)
        }
        Value::Table(table) => labels(check, key, node, table).map(Template::Labels),
        Value::Array(_) => {
            let help = format!("write `{key} = {{ round = {EXAMPLE} }}`");
            check.error(node.span, format!("`{key}` is an array"), Some(help));
            None
        }
        _ => {
            check.wrong_type(key, node, "a string or a table from label to string", "\"...\"");
            None
        }
    }
}

/// `"{column}"`, a table from label to string, an array of strings, or Jinja.
pub(crate) fn options(check: &mut Check, node: &Node) -> Option<Options> {
    match &node.value {
        Value::String(text) => {
            let column = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
            match column.filter(|column| !column.is_empty() && !column.contains(['{', '}'])) {
                Some(column) => Some(Options::Column(column.into())),
                None => {
                    let help = "name one column that holds a list, as in `options = \"{choices}\"`, or write a table \
                                from label to answer";
                    check.error(node.span, format!("`options` cannot be `{text}`"), Some(help.into()));
                    None
                }
            }
        }
        Value::Table(table) if jinja(table).is_some() => jinja_source(check, "options", node).map(Options::Jinja),
        Value::Table(table) if some_jinja(table) => text_templates(check, "options", table).map(Options::TemplateTexts),
        Value::Table(table) => labels(check, "options", node, table).map(Options::Labels),
        Value::Array(items) if items.is_empty() => {
            let help = "write the answers, as in `options = [\"yes\", \"no\"]`";
            check.error(node.span, "`options` has no answer".into(), Some(help.into()));
            None
        }
        Value::Array(_) => {
            let texts = check.texts("options", node)?;
            Some(Options::List(texts.into_iter().map(|(text, _)| text).collect()))
        }
        _ => {
            let expected = "a string, an array of strings or a table from label to string";
            check.wrong_type("options", node, expected, "\"{choices}\"");
            None
        }
    }
}

/// Notes a column in two pairs of braces, as Jinja has it: here the text of the column stands in braces. In TeX a command or a sign
/// stands before them.
fn doubled_braces(check: &mut Check, key: &str, node: &Node, text: &str) {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    let column = text.match_indices("{{").find_map(|(at, braces)| {
        let (name, _) = text[at + braces.len()..].split_once("}}")?;
        let is_tex = text[..at].ends_with(|c: char| c.is_alphanumeric() || "\\_^{}".contains(c));
        Some(name.trim()).filter(|name| !is_tex && is_name(name))
    });
    if let Some(column) = column {
        let message = format!("`{key}` shows the text of `{column}` between braces, as in `{{text}}`");
        let help = format!(
            "write `{{{column}}}` for the text alone, or Jinja: `{key} = {{ jinja = \"{{{{ {column} }}}}\" }}`"
        );
        check.note(node.span, message, &help);
    }
}

/// A string with columns in braces, or `{ jinja = "..." }`.
pub(crate) fn text_template(check: &mut Check, key: &str, node: &Node) -> Option<TemplateText> {
    match &node.value {
        Value::String(text) => {
            doubled_braces(check, key, node, text);
            Some(TemplateText::Text(text.clone()))
        }
        Value::Table(table) if jinja(table).is_some() => jinja_source(check, key, node).map(TemplateText::Jinja),
        _ => {
            check.wrong_type(key, node, "a string or `{ jinja = \"...\" }`", "\"...\"");
            None
        }
    }
}

/// The source of `{ jinja = "..." }`.
fn jinja(table: &Table) -> Option<&str> {
    if table.entries.len() == 1 { table.text("jinja") } else { None }
}

/// The same, checked.
fn jinja_source(check: &mut Check, key: &str, node: &Node) -> Option<String> {
    let table = node.table()?;
    let source = jinja(table)?;
    match jinja_fault(source) {
        None => Some(source.to_owned()),
        Some(fault) => {
            let span = table.get("jinja").map_or(node.span, |node| node.span);
            let help =
                "correct the template; Jinja writes `{{ column }}`, `{% if ... %}...{% endif %}`, `{% set x = ... %}`";
            check.error(span, format!("`{key}` is not Jinja: {fault}"), Some(help.into()));
            None
        }
    }
}

fn some_jinja(table: &Table) -> bool {
    table.entries.iter().any(|entry| entry.node.table().is_some_and(|inner| jinja(inner).is_some()))
}

/// A text or Jinja for each label.
fn text_templates(check: &mut Check, key: &str, table: &Table) -> Option<Vec<(String, TemplateText)>> {
    let read = |entry: &crate::syntax::tree::KeyValue, check: &mut Check| {
        Some((entry.key.clone(), text_template(check, &format!("{key}.{}", entry.key), &entry.node)?))
    };
    let read: Vec<_> = table.entries.iter().filter_map(|entry| read(entry, check)).collect();
    (read.len() == table.entries.len()).then_some(read)
}

fn is_rounds(table: &Table) -> bool {
    !table.entries.is_empty() && table.entries.iter().all(|entry| ROUNDS.keys.iter().any(|key| key.name == entry.key))
}

fn labels(check: &mut Check, key: &str, node: &Node, table: &Table) -> Option<Vec<(String, String)>> {
    if table.entries.is_empty() {
        let help =
            format!("write a string, or a label for each answer, as in `{key} = {{ A = \"...\", B = \"...\" }}`");
        check.error(node.span, format!("`{key}` has no labels"), Some(help));
        return None;
    }
    let mut labels = Vec::with_capacity(table.entries.len());
    for entry in &table.entries {
        match &entry.node.value {
            Value::String(text) => labels.push((entry.key.clone(), text.clone())),
            _ => check.wrong_type(&format!("{key}.{}", entry.key), &entry.node, "a string", "\"...\""),
        }
    }
    (labels.len() == table.entries.len()).then_some(labels)
}

fn label_rounds(check: &mut Check, key: &str, table: &Table) -> Option<Vec<(String, Rounds)>> {
    let mut labels = Vec::with_capacity(table.entries.len());
    for entry in &table.entries {
        let full = format!("{key}.{}", entry.key);
        match &entry.node.value {
            Value::Table(inner) if is_rounds(inner) => {
                labels.extend(rounds(check, &full, &entry.node).map(|rounds| (entry.key.clone(), rounds)));
            }
            Value::String(_) => {
                let help = format!("write every label of `{key}` alike, as text or as {{ round = {EXAMPLE} }}");
                check.error(entry.node.span, format!("`{full}` is a string among dialogues"), Some(help));
            }
            _ => check.wrong_type(&full, &entry.node, "a dialogue", &format!("{{ round = {EXAMPLE} }}")),
        }
    }
    (labels.len() == table.entries.len()).then_some(labels)
}

fn rounds(check: &mut Check, key: &str, node: &Node) -> Option<Rounds> {
    let mut fields = fields::table(check, key, node, &ROUNDS)?.titled(format!("`{key}`"));
    let round = fields.require(check, "round", EXAMPLE).and_then(|node| lines(check, "round", node));
    let mut optional = |name| fields.get(name).map_or(Some(Vec::new()), |node| lines(check, name, node));
    let (begin, end) = (optional("begin"), optional("end"));
    fields.finish(check);
    Some(Rounds { begin: begin?, round: round?, end: end?, raw: false })
}

/// A string or a role's line, or an array of them.
fn lines(check: &mut Check, key: &'static str, node: &Node) -> Option<Vec<TemplateLine>> {
    let items = match &node.value {
        Value::Array(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let read: Vec<Option<TemplateLine>> = items
        .iter()
        .map(|item| match &item.value {
            Value::String(text) => Some(TemplateLine::Text(text.clone())),
            Value::Table(_) => line(check, key, item),
            _ => {
                check.wrong_type(key, item, "strings and tables with `role`", EXAMPLE);
                None
            }
        })
        .collect();
    read.into_iter().collect()
}

fn line(check: &mut Check, key: &'static str, node: &Node) -> Option<TemplateLine> {
    let mut fields = fields::table(check, key, node, &LINE)?.titled(format!("a line of `{key}`"));
    let role = fields.require(check, "role", "\"HUMAN\"").and_then(|node| fields::text(check, "role", node));
    let mut words = |key| fields.text(check, key).map(str::to_owned);
    let (prompt, fallback_role) = (words("prompt"), words("fallback_role"));
    let (begin, end) = (words("begin"), words("end"));
    fields.finish(check);
    Some(TemplateLine::Role(Role { role: role?.to_owned(), prompt, fallback_role, begin, end }))
}
