//! `circular` of a split: every row in several orders of its options, as OpenCompass's CircularEval asks them.

use crate::keys::vocabulary::ORDERS;
use crate::keys::{Kind, TableKeys, key};
use crate::read::fields;
use crate::report::check::Check;
use crate::syntax::tree::Node;
use compass_plan::evaluation::Orders;
use compass_settings::CircularConfig;

pub(crate) static CIRCULAR: TableKeys = TableKeys {
    name: "circular",
    title: "`circular`",
    keys: &[
        key("options", Kind::Texts, "columns of the options").takes("array").required(),
        key("answer", Kind::Text, "column of the right answer; one that names no option stays").required(),
        key("answers", Kind::Texts, "what the right answer says for each option; one that says none of it is a fault")
            .takes("array")
            .default("the names of the options"),
        key("patterns", Kind::Choice(|| ORDERS.words()), "which orders").default("`circular`"),
    ],
    types: &[],
};

/// Most options that `all_possible` permutes: 8 give 40,320 rows of each.
const MOST_PERMUTED: usize = 8;

/// Reads `circular`; `None` when something is wrong, which is reported.
pub(crate) fn read(check: &mut Check, node: &Node) -> Option<CircularConfig> {
    let mut fields = fields::table(check, "circular", node, &CIRCULAR)?;
    let options_node = fields.require(check, "options", "[\"A\", \"B\", \"C\", \"D\"]");
    let options = options_node.and_then(|node| names(check, "options", node));
    let answer = fields.require(check, "answer", "\"answer\"").and_then(|node| fields::text(check, "answer", node));
    let answers_node = fields.get("answers");
    let answers = answers_node.map_or(Some(Vec::new()), |node| names(check, "answers", node));
    let patterns = fields.get("patterns").map_or(Some(Orders::Circular), |node| ORDERS.pick(check, "patterns", node));
    fields.finish(check);
    let (options, answers, patterns) = (options?, answers?, patterns?);
    if let Some(node) = answers_node.filter(|_| answers.len() != options.len()) {
        let message = format!("`answers` is of {} options, and `options` of {}", answers.len(), options.len());
        check.error(
            node.span,
            message,
            Some("write what the right answer says for each option, in their order".into()),
        );
        return None;
    }
    if patterns == Orders::AllPossible && options.len() > MOST_PERMUTED {
        let message = format!("`all_possible` of {} options are too many rows", options.len());
        check.error(node.span, message, Some("write `patterns = \"circular\"`".into()));
        return None;
    }
    Some(CircularConfig { options, answer: answer?.to_owned(), answers, patterns })
}

/// Names that differ, one or more.
fn names(check: &mut Check, key: &'static str, node: &Node) -> Option<Vec<String>> {
    let names: Vec<String> = check.texts(key, node)?.into_iter().map(|(name, _)| name).collect();
    if names.is_empty() {
        check.error(node.span, format!("`{key}` is empty"), Some(format!("write `{key} = [\"A\", \"B\"]`")));
        return None;
    }
    if let Some(twice) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
        let message = format!("`{key}` has `{}` twice", twice.1);
        check.error(node.span, message, Some("name every option once".into()));
        return None;
    }
    Some(names)
}
