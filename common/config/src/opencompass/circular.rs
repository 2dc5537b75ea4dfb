//! Data sets of OpenCompass's CircularEval: the classes that `CircularDatasetMeta` makes of others (`opencompass.datasets.circular`).
//!
//! Such a class reads the rows of the class that it names and asks each in several orders of its options. Here the rows are
//! those of that class, whichever way they are read, and the split says the rest in its key `circular`.

use super::class;
use super::tree::{self, Places};
use crate::report::check::Check;
use crate::syntax::source::Span;
use crate::syntax::tree::{KeyValue, Node, Table, Value, array};
use compass_python::{Node as PythonNode, Plain};
use compass_settings::is_own;

/// Parameters of `load` that the made class takes for itself.
pub(super) const PARAMETERS: &[&str] = &["circular_patterns", "option_keys", "answer_key"];
/// The evaluator of these data sets, and the package that it comes from: that of the same name in `opencompass.openicl` is
/// MathBench's.
const EVALUATOR: &str = "CircularEvaluator";
const PACKAGE: &str = "opencompass.datasets.";

/// One of the classes.
#[derive(Debug)]
pub(super) struct CircularClass {
    name: &'static str,
    /// `dataset_class`, whose rows they are.
    pub(super) base: &'static str,
    rotated: Rotated,
    options: &'static [&'static str],
    answer: &'static str,
    /// Answers that `default_answer_key_switch_method` makes of the options' names; empty where the class has no such method.
    answers: &'static [&'static str],
}

/// `default_circular_splits`.
#[derive(Debug)]
enum Rotated {
    /// The class gives no splits, and all that is taken of it is rotated.
    All,
    Splits(&'static [&'static str]),
    /// Splits, of which none is named: the rows stay as they are.
    Nothing,
}

const ABCD: &[&str] = &["A", "B", "C", "D"];

const CLASSES: &[CircularClass] = &[
    plain("CircularCEvalDataset", "CEvalDataset", Rotated::Splits(&["val", "test"]), ABCD, "answer"),
    plain("CircularMMLUDataset", "MMLUDataset", Rotated::Splits(&["test"]), ABCD, "target"),
    plain("CircularCMMLUDataset", "CMMLUDataset", Rotated::Splits(&["test"]), ABCD, "answer"),
    plain(
        "CircularCSQADataset",
        "commonsenseqaDataset",
        Rotated::Splits(&["validation"]),
        &["A", "B", "C", "D", "E"],
        "answerKey",
    ),
    CircularClass {
        answers: ABCD,
        ..plain("CircularARCDataset", "ARCDataset", Rotated::All, &["textA", "textB", "textC", "textD"], "answerKey")
    },
    plain("CircularHSWAGDataset", "HellaswagDataset_V2", Rotated::All, ABCD, "label"),
    plain("CircularOBQADataset", "OBQADataset", Rotated::All, ABCD, "answerKey"),
    plain("CircularRaceDataset", "RaceDataset", Rotated::Splits(&["test"]), ABCD, "answer"),
    plain("CircularXiezhiDataset", "XiezhiDataset", Rotated::Nothing, ABCD, "answer"),
    plain("CircularsiqaDataset", "SiqaDatasetV3", Rotated::Splits(&["validation"]), &["A", "B", "C"], "answer"),
    CircularClass {
        answers: &["A", "B"],
        ..plain("CircularPIQADataset", "PIQADatasetV2", Rotated::Splits(&["validation"]), &["sol1", "sol2"], "answer")
    },
];

const fn plain(
    name: &'static str,
    base: &'static str,
    rotated: Rotated,
    options: &'static [&'static str],
    answer: &'static str,
) -> CircularClass {
    CircularClass { name, base, rotated, options, answer, answers: &[] }
}

/// A class with the value of `circular` that an entry gives it.
#[derive(Debug)]
pub(super) struct Circular {
    pub(super) class: &'static CircularClass,
    key: KeyValue,
}

/// The class of an entry, where it is one of these. `Some(None)` where its parameters are wrong, which is reported.
pub(super) fn of(check: &mut Check, places: &Places, entry: &PythonNode) -> Option<Option<Circular>> {
    let name = class::of(entry)?;
    let class = CLASSES.iter().find(|class| class.name == name && !class::dotted(entry).is_some_and(is_own))?;
    let span = entry.get("type").map_or(entry.place, |node| node.place);
    Some(class.key(check, places, entry, places.span(span)).map(|key| Circular { class, key }))
}

impl CircularClass {
    fn key(&'static self, check: &mut Check, places: &Places, entry: &PythonNode, span: Span) -> Option<KeyValue> {
        let given = |key: &str| entry.get(key).filter(|node| node.value != Plain::None);
        let text = |text: &str| Node { value: Value::String(text.to_owned()), span };
        let texts = |names: &[&str]| array(names.iter().map(|name| text(name)).collect(), span);
        let mut table = Table::default();
        let mut put = |key: &str, node: Node| {
            table.entries.push(KeyValue { key: key.to_owned(), key_span: span, node });
        };
        if let Some(node) = given("answer_key").filter(|_| !self.answers.is_empty()) {
            let message = format!("`{}` has a method for the right answer and takes no `answer_key`", self.name);
            check.error(places.span(node.place), message, Some("remove the key".into()));
            return None;
        }
        put(
            "options",
            given("option_keys")
                .and_then(|node| tree::convert(check, places, node))
                .unwrap_or_else(|| texts(self.options)),
        );
        put(
            "answer",
            given("answer_key")
                .and_then(|node| tree::convert(check, places, node))
                .unwrap_or_else(|| text(self.answer)),
        );
        if !self.answers.is_empty() {
            put("answers", texts(self.answers));
        }
        if let Some(node) = given("circular_patterns") {
            put("patterns", tree::convert(check, places, node)?);
        }
        Some(KeyValue { key: "circular".to_owned(), key_span: span, node: Node { value: Value::Table(table), span } })
    }
}

impl Circular {
    /// Gives a split its key `circular`, where the class rotates the one that OpenCompass calls `theirs`.
    pub(super) fn rotate(&self, source: &mut Node, theirs: &str) {
        let is_rotated = match self.class.rotated {
            Rotated::All => true,
            Rotated::Splits(splits) => splits.contains(&theirs),
            Rotated::Nothing => false,
        };
        if let Value::Table(split) = &mut source.value
            && is_rotated
        {
            split.remove(&self.key.key);
            split.entries.push(self.key.clone());
        }
    }

    /// Likewise for a data set of a preset: its questions, and where all is rotated what shots are drawn from.
    pub(super) fn rotate_preset(&self, table: &mut Table) {
        for key in ["type"].iter().chain(PARAMETERS) {
            table.remove(key);
        }
        let theirs = match self.class.rotated {
            Rotated::Splits(splits) => splits.first().copied().unwrap_or_default(),
            Rotated::All | Rotated::Nothing => "test",
        };
        for (ours, theirs) in [("test", theirs), ("train", "train")] {
            if let Some(source) = table.get_mut(ours) {
                self.rotate(source, theirs);
            }
        }
    }
}

/// Gives the evaluator of these data sets a name of its own, where an entry's is that one.
pub(super) fn name_evaluator(eval: &mut Table, theirs: &PythonNode) {
    let named = theirs.get("evaluator").and_then(class::dotted);
    let is_named = named.is_some_and(|name| name.starts_with(PACKAGE) && tree::last(name) == EVALUATOR);
    if let Some(Node { value: Value::Table(evaluator), .. }) = eval.get_mut("evaluator")
        && is_named
        && let Some(node) = evaluator.get_mut("type")
    {
        node.value = Value::String("circular_eval".to_owned());
    }
}
