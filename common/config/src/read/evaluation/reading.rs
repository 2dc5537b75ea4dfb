//! `reading` of a data set: `"first"`, `false`, or the kind of its answers.

use crate::keys::vocabulary::{Choices, plain};
use crate::keys::{Kind, TableKeys, key};
use crate::read::fields::{Fields, text};
use crate::report::check::Check;
use crate::syntax::tree::{Node, Value};
use compass_plan::evaluation::Reading;
use compass_plan::{EvalSpec, InferSpec};
use compass_postprocess::{AnswerKind, Postprocessor};
use serde_json::Map;

const CHOICE: &str = "choice";

const KINDS: Choices<'_, &str> = plain(&[(CHOICE, CHOICE), ("number", "number"), ("math", "math"), ("text", "text")]);

pub(crate) const PLACES: Choices<'_, Reading> = plain(&[("first", Reading::First)]);

pub(crate) static READING: TableKeys = TableKeys {
    name: "reading",
    title: "`reading`",
    keys: &[
        key("kind", Kind::Choice(|| KINDS.words()), "what the answers are ([kinds](answers.md#kinds))").required(),
        key("options", Kind::Text, "letters of the options of a `choice`").default("none"),
    ],
    types: &[],
};

/// Reads the value of the key; `None` when something is wrong, which is reported.
pub(crate) fn read(check: &mut Check, node: &Node) -> Option<Reading> {
    match &node.value {
        Value::Boolean(false) => Some(Reading::Off),
        Value::String(_) => PLACES.pick(check, "reading", node),
        Value::Table(table) => kind(check, Fields::new(table, node.span, &READING)).map(Reading::As),
        _ => {
            check.wrong_type("reading", node, "`\"first\"`, `false` or a table with `kind`", "{ kind = \"number\" }");
            None
        }
    }
}

fn kind(check: &mut Check, mut fields: Fields<'_>) -> Option<AnswerKind> {
    let kind = fields.require(check, "kind", "\"number\"").and_then(|node| KINDS.pick(check, "kind", node));
    let options = fields.get("options");
    let place = options.map_or(fields.span, |node| node.span);
    let letters = options.map(|node| text(check, "options", node));
    fields.finish(check);
    let kind = kind?;
    if kind == CHOICE && options.is_none() {
        let help = "write the letters of its options, as in `{ kind = \"choice\", options = \"ABCD\" }`";
        check.error(place, "`reading` of a choice has no `options`".into(), Some(help.into()));
        return None;
    }
    let mut parameters = Map::from_iter([("kind".to_owned(), kind.into())]);
    if let Some(letters) = letters {
        parameters.insert("options".into(), letters?.into());
    }
    match Postprocessor::named("answer", &parameters) {
        Ok(Postprocessor::Answer(kind)) => Some(kind),
        Ok(_) => None,
        Err(error) => {
            check.error(place, error.to_string(), error.remedy().map(str::to_owned));
            None
        }
    }
}

/// Reports a second reading, asked for at `node`, of what holds no answers to read.
pub(crate) fn check_fit(check: &mut Check, node: &Node, infer: &InferSpec, eval: &EvalSpec) {
    let (message, help) = match &eval.reading {
        Reading::Auto | Reading::Off => return,
        _ if !matches!(infer, InferSpec::Gen(_)) => {
            let message = format!("`reading` reads generated answers, and `{}` brings none", infer.mode());
            (message, "remove it, or use `inferencer = \"gen\"`")
        }
        _ if eval.evaluator.executes() => (
            "`reading` reads answers, and this evaluator runs them".to_owned(),
            "remove it: programs are judged by their tests",
        ),
        Reading::As(_) if eval.majority_vote || !eval.filters.is_empty() => (
            "`reading` reads each answer, and `filters` and `sc` make one of several".to_owned(),
            "remove it, or ask with `inferencer = \"gen\"` and without `filters`",
        ),
        Reading::First if eval.read_as().is_none() => (
            "`reading = \"first\"`: the evaluator and its postprocessors do not say the kind of the answers".to_owned(),
            "write `evaluator = \"equal\"` with `pred_postprocessor = { type = \"answer\", kind = \"number\" }`",
        ),
        _ => return,
    };
    check.error(node.span, message, Some(help.into()));
}
