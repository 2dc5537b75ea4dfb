//! `evaluator`: by name or OpenCompass's class, with parameters.

use super::names::EVALUATORS;
use crate::keys::EVALUATOR;
use crate::keys::vocabulary::bare_class;
use crate::report::check::Check;
use crate::syntax::tree::Node;
use compass_plan::evaluation::EvaluatorSpec;

/// Reads the evaluator in `node`.
pub(crate) fn read(check: &mut Check, node: &Node) -> Option<EvaluatorSpec> {
    let name = node.text().or_else(|| node.table()?.text("type")).unwrap_or_default();
    // OpenCompass has some 240 classes of this kind; one that is not listed is not a misspelling.
    let class = bare_class(name);
    if class.len() > "Evaluator".len() && class.contains("Evaluator") && !EVALUATORS.serves(name) {
        check.not_yet(node.span, &format!("evaluator `{class}`"), EVALUATORS.meanwhile);
        return None;
    }
    let (read, mut fields) = EVALUATORS.tagged(check, "evaluator", node, &EVALUATOR)?;
    let spec = read(check, &mut fields);
    fields.finish(check);
    spec
}
