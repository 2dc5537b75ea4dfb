//! `columns` of a split: one expression each, read by its verb. The grammar stands with the types.

use super::{lists, row_template};
use crate::keys::vocabulary::AS;
use crate::keys::{Key, Kind, TableKeys, TypeKeys, key};
use crate::read::fields::{self, Fields, flag_of, literal, regex, required_text};
use crate::read::paths;
use crate::read::splits::lists::SPAN;
use crate::report::check::Check;
use crate::syntax::tree::{KeyValue, Node, Table, Value};
use compass_diagnostic::spelling;
use compass_settings::{ColumnConfig, Expression, Group, Pattern, Piece};
use regex::Regex;
use std::path::Path;

const BASE: &[Key] = &[key("base", Kind::Whole(0, 1), "number of the letter A").takes("0 or 1").default("0")];

const REGEX: Key = key("regex", Kind::Text, "a regular expression");

/// The types are the verbs, of which a column has exactly one as a key.
pub(crate) static COLUMN: TableKeys = TableKeys {
    name: "column",
    title: "a column",
    keys: &[
        key("as", Kind::Choice(|| AS.words()), "the type that the value is brought to").default("as it is"),
        key("default", Kind::Anything, "what stands where `PATH` is absent or null, or where nothing was found")
            .takes("any value")
            .default("a fault"),
    ],
    types: &[
        verb("from", &[&[key("from", Kind::Text, "`PATH`")]]),
        verb("const", &[&[key("const", Kind::Anything, "any value")]]),
        verb("format", &[&[key("format", Kind::Text, "`TEMPLATE`")]]),
        verb(
            "join",
            &[&[
                key("join", Kind::Either(&[Kind::Text, Kind::Texts]), "several `PATH`s, or one of a list"),
                key("with", Kind::Text, "between two values").default("nothing"),
                key("each", Kind::Text, "of one list: `TEMPLATE` of an item, with `{item}`, `{letter}` and `{number}`")
                    .default("the item"),
                key(
                    "skip",
                    Kind::ArrayOf(&Kind::Anything),
                    "of one list: items that are left out, without moving the letters",
                )
                .takes("array")
                .default("none"),
            ]],
        ),
        verb(
            "split",
            &[&[
                key("split", Kind::Text, "`PATH`"),
                key("by", Kind::Text, "where the text is split").required(),
                key("at", Kind::Whole(i64::MIN, i64::MAX), "which piece").default("the list"),
            ]],
        ),
        verb(
            "item",
            &[&[
                key("item", Kind::Text, "`PATH`"),
                key(
                    "at",
                    Kind::Either(&[Kind::Text, Kind::Whole(i64::MIN, i64::MAX)]),
                    "position, from the end when negative, or key",
                )
                .default("this or `at_column`"),
                key("at_column", Kind::Text, "`PATH` of the position or key").default("this or `at`"),
            ]],
        ),
        verb("letter_of", &[&[key("letter_of", Kind::Text, "`PATH`")], BASE]),
        verb(
            "index_of",
            &[
                &[
                    key("index_of", Kind::Text, "`PATH`"),
                    key("in", Kind::Text, "`PATH` of the list that is searched").default("none"),
                ],
                BASE,
            ],
        ),
        verb(
            "map",
            &[&[
                key("map", Kind::Text, "`PATH`"),
                key("to", Kind::MapOf(&Kind::Anything), "the values by what a prompt would print").required(),
            ]],
        ),
        verb(
            "capture",
            &[&[
                key("capture", Kind::Text, "`PATH`"),
                REGEX.required(),
                key("group", Kind::Either(&[Kind::Text, Kind::Whole(0, 1000)]), "number or name of a group")
                    .default("the first, else the match"),
            ]],
        ),
        verb(
            "replace",
            &[&[
                key("replace", Kind::Text, "`PATH`"),
                REGEX.default("this or `find`"),
                key("find", Kind::Text, "a text as it is").default("this or `regex`"),
                key("by", Kind::Text, "`TEMPLATE`, in which `{1}` is a group of the regex").required(),
            ]],
        ),
        verb(
            "strip",
            &[&[
                key("strip", Kind::Text, "`PATH`"),
                key("chars", Kind::Text, "what goes off both ends").default("white space"),
            ]],
        ),
        verb("json", &[&[key("json", Kind::Text, "`PATH`")]]),
        verb("lines_of", &[&[key("lines_of", Kind::Text, "a file")]]),
        verb(
            "rows_of",
            &[&[key("rows_of", Kind::Text, "a file"), key("column", Kind::Text, "`PATH` in its rows").required()]],
        ),
        verb("text_of", &[&[key("text_of", Kind::Text, "a file")]]),
        verb("object", &[&[key("object", Kind::Texts, "several `PATH`s")]]),
        verb("list", &[&[key("list", Kind::Texts, "several `PATH`s")]]),
        verb(
            "items",
            &[&[
                key("items", Kind::Text, "`PATH` of a list"),
                key("at", Kind::Either(&[Kind::Text, Kind::Whole(i64::MIN, i64::MAX)]), "position or key in each item")
                    .default("the items"),
                key("order", Kind::Text, "`PATH` of a list of positions, in whose order the items come")
                    .default("as they are"),
                key("unique", Kind::Boolean, "of equal items the first alone").default("`false`"),
            ]],
        ),
        verb("first_of", &[&[key("first_of", Kind::Texts, "several `PATH`s")]]),
        verb("cycle", &[&[key("cycle", Kind::ArrayOf(&Kind::Anything), "values that rows take in turn")]]),
        verb("number", &[&[key("number", Kind::Whole(i64::MIN, i64::MAX), "what the first row is counted as")]]),
        verb(
            "splice",
            &[&[
                key("splice", Kind::Text, "`PATH`"),
                key("by", Kind::Text, "what parts the pieces; `\"\"` for characters").required(),
                key(
                    "spans",
                    Kind::ArrayOf(&Kind::Table(&SPAN)),
                    "pieces that are replaced; where two overlap, the first counts",
                )
                .takes("array of spans")
                .required(),
            ]],
        ),
        verb(
            "upper",
            &[&[
                key("upper", Kind::Text, "`PATH`"),
                key("first", Kind::Boolean, "the first letter alone").default("`false`"),
            ]],
        ),
    ],
};

const fn verb(name: &'static str, keys: &'static [&'static [Key]]) -> TypeKeys {
    TypeKeys { name, meaning: "", keys }
}

/// Every verb; a column has exactly one.
fn verbs() -> impl Iterator<Item = &'static str> {
    COLUMN.types.iter().map(|verb| verb.name)
}

/// All columns in order; `None` when one is wrong, which is reported.
pub(crate) fn read(check: &mut Check, columns: &Table, data_dir: Option<&Path>) -> Option<Vec<ColumnConfig>> {
    // All are read before any is missed, so that every error is found.
    let read: Vec<_> = columns.entries.iter().map(|entry| column(check, entry, data_dir)).collect();
    read.into_iter().collect()
}

fn column(check: &mut Check, entry: &KeyValue, data_dir: Option<&Path>) -> Option<ColumnConfig> {
    let mut fields = fields::table(check, &entry.key, &entry.node, &COLUMN)?.titled(format!("column `{}`", entry.key));
    let verbs: Vec<&'static str> = verbs().filter(|verb| fields.table.get(verb).is_some()).collect();
    let [verb] = verbs.as_slice() else {
        not_one_verb(check, entry, &fields, &verbs);
        return None;
    };
    fields.of_type(verb);
    let node = fields.get(verb)?;
    let expression = expression(check, verb, node, &mut fields, data_dir);
    let cast = match fields.get("as") {
        Some(node) => AS.named(check, "column type", "as", node).map(Some),
        None => Some(None),
    };
    let default = match fields.get("default") {
        Some(node) => literal(check, "default", node).map(Some),
        None => Some(None),
    };
    fields.finish(check);
    let origin = check.sources.origin(entry.key_span);
    Some(ColumnConfig { name: entry.key.clone(), expression: expression?, cast: cast?, default: default?, origin })
}

fn not_one_verb(check: &mut Check, entry: &KeyValue, fields: &Fields<'_>, given: &[&str]) {
    if let [_, second, ..] = given {
        let help = format!("a column has one of {}: compute it in two columns", spelling::list(given));
        let span = fields.table.entry(second).map_or(entry.key_span, |entry| entry.key_span);
        check.error(span, format!("column `{}` has two expressions", entry.key), Some(help));
        return;
    }
    let near = fields.table.entries.iter().find_map(|key| Some((key, spelling::nearest(&key.key, verbs())?)));
    match near {
        Some((key, meant)) => {
            check.error(key.key_span, format!("unknown key `{}`", key.key), Some(format!("did you mean `{meant}`?")));
        }
        None => {
            let help = format!(
                "write one of {}, as in `{{ from = \"question\" }}`",
                spelling::list(&verbs().collect::<Vec<_>>())
            );
            check.error(entry.node.span, format!("column `{}` says nothing of its value", entry.key), Some(help));
        }
    }
}

fn expression(
    check: &mut Check,
    verb: &'static str,
    node: &Node,
    fields: &mut Fields<'_>,
    data_dir: Option<&Path>,
) -> Option<Expression> {
    if verb == "const" {
        return literal(check, verb, node).map(|value| Expression::Const { value });
    }
    if verb == "object" || verb == "list" {
        let of: Vec<String> = check.texts(verb, node)?.into_iter().map(|(path, _)| path).collect();
        if of.is_empty() {
            check.error(node.span, format!("`{verb}` is empty"), Some("name the columns that it holds".into()));
            return None;
        }
        return Some(if verb == "list" { Expression::List { of } } else { Expression::Object { of } });
    }
    match verb {
        "join" => return lists::join(check, node, fields),
        "first_of" => return lists::first_of(check, node),
        "cycle" => return lists::cycle(check, node),
        "number" => {
            return fields::whole(check, verb, node, i64::MIN..=i64::MAX).map(|base| Expression::Number { base });
        }
        _ => {}
    }
    let text = fields::text(check, verb, node);
    let of = text.unwrap_or_default().to_owned();
    if of.is_empty() && text.is_some() && verb != "format" {
        check.error(
            node.span,
            format!("`{verb}` is empty"),
            Some("name a column, or a file where one is meant".into()),
        );
    }
    let read = match verb {
        "from" => Some(Expression::From { of }),
        "format" => row_template::read(check, verb, node).map(|template| Expression::Format { template }),
        "split" => {
            let by = required_text(check, fields, "by", "\"\\n\"");
            let at = fields.get("at").map(|node| fields::whole(check, "at", node, i64::MIN..=i64::MAX));
            by.zip(at.map_or(Some(None), |at| at.map(Some))).map(|(by, at)| Expression::Split { of, by, at })
        }
        "item" => lists::item(check, of, fields),
        "items" => lists::items(check, of, fields),
        "splice" => lists::splice(check, of, fields),
        "upper" => Some(Expression::Upper { of, first: flag_of(check, fields, "first").unwrap_or(false) }),
        "letter_of" => base(check, fields).map(|base| Expression::LetterOf { of, base }),
        "index_of" => {
            let list = fields.text(check, "in").map(str::to_owned);
            base(check, fields).map(|base| Expression::IndexOf { of, base, list })
        }
        "map" => {
            let to = fields.require(check, "to", "{ \"0\" = \"no\" }");
            to.and_then(|node| table(check, node)).map(|to| Expression::Map { of, to })
        }
        "capture" => capture(check, of, fields),
        "replace" => replace(check, of, fields),
        "strip" => Some(Expression::Strip { of, chars: fields.text(check, "chars").map(str::to_owned) }),
        "json" => Some(Expression::Json { of }),
        "lines_of" => paths::data_file(check, verb, node, data_dir).map(|file| Expression::LinesOf { file }),
        "text_of" => paths::data_file(check, verb, node, data_dir).map(|file| Expression::TextOf { file }),
        _ => {
            let column = required_text(check, fields, "column", "\"...\"");
            let file = text.and_then(|_| paths::data_file(check, verb, node, data_dir));
            column.zip(file).map(|(column, file)| Expression::RowsOf { file, column })
        }
    };
    read.filter(|_| text.is_some_and(|text| !text.is_empty() || verb == "format"))
}

fn base(check: &mut Check, fields: &mut Fields<'_>) -> Option<i64> {
    fields.get("base").map_or(Some(0), |node| fields::whole(check, "base", node, 0..=1))
}

fn table(check: &mut Check, node: &Node) -> Option<Vec<(String, serde_json::Value)>> {
    let to = fields::any_table(check, "to", node)?;
    let read: Vec<_> =
        to.entries.iter().map(|entry| Some((entry.key.clone(), literal(check, &entry.key, &entry.node)?))).collect();
    read.into_iter().collect()
}

fn capture(check: &mut Check, of: String, fields: &mut Fields<'_>) -> Option<Expression> {
    let found = fields.require(check, "regex", "\"...\"").and_then(|node| regex(check, node));
    let group = match fields.get("group") {
        None => found.as_ref().map(|(_, regex)| Group::Number(1.min(regex.captures_len() - 1))),
        Some(node) => group(check, node, found.as_ref().map(|(_, regex)| regex)),
    };
    let (regex, group) = found.map(|(text, _)| text).zip(group)?;
    Some(Expression::Capture { of, regex, group })
}

fn group(check: &mut Check, node: &Node, regex: Option<&Regex>) -> Option<Group> {
    let group = match &node.value {
        Value::String(name) => Group::Name(name.clone()),
        _ => Group::Number(fields::whole(check, "group", node, 0..=1000)?.try_into().ok()?),
    };
    let regex = regex?;
    let there = match &group {
        Group::Number(number) => *number < regex.captures_len(),
        Group::Name(name) => regex.capture_names().flatten().any(|known| known == name),
    };
    if !there {
        let help = format!("the regex has {} groups in round brackets; 0 is the whole match", regex.captures_len() - 1);
        check.error(node.span, format!("{} names no group", check.quoted("group", node)), Some(help));
    }
    there.then_some(group)
}

fn replace(check: &mut Check, of: String, fields: &mut Fields<'_>) -> Option<Expression> {
    let by = fields.require(check, "by", "\"...\"").and_then(|node| row_template::read(check, "by", node));
    let regex_node = fields.get("regex");
    let find = fields.text(check, "find").map(str::to_owned);
    let (find, groups) = match (regex_node, find) {
        (Some(node), None) => regex(check, node).map(|(text, regex)| (Pattern::Regex(text), regex.captures_len())),
        (None, Some(text)) if !text.is_empty() => Some((Pattern::Literal(text), 1)),
        _ => {
            let help = "write `regex = \"...\"`, or `find = \"...\"` for a text as it is";
            check.error(fields.span, "`replace` takes one of `regex` and `find`".into(), Some(help.into()));
            None
        }
    }?;
    let by = by?;
    let beyond = by.iter().find_map(|piece| match piece {
        Piece::Path(path) => path.parse::<usize>().ok().filter(|group| *group >= groups),
        Piece::Text(_) => None,
    });
    if let Some(group) = beyond {
        let help = format!("the regex has {} groups in round brackets; {{0}} is the whole match", groups - 1);
        check.error(fields.span, format!("`by` names group {group}, which does not exist"), Some(help));
        return None;
    }
    Some(Expression::Replace { of, find, by })
}
