//! One [[dataset]].

use super::infer_cfg::{self, InferCfg};
use super::{row_range, version};
use crate::keys::{Kind, TableKeys, key, later};
use crate::read::abbr;
use crate::read::datasets::infer_cfg::INFER_CFG;
use crate::read::datasets::inferencer::INFERENCER;
use crate::read::evaluation::eval_cfg::{self, EVAL_CFG};
use crate::read::evaluation::fit;
use crate::read::evaluation::parameters::several_k;
use crate::read::evaluation::reading::{self, READING};
use crate::read::fields::{Fields, text};
use crate::read::splits::split::{self, SPLIT};
use crate::report::check::Check;
use crate::syntax::source::Span;
use crate::syntax::tree::{Node, Value};
use compass_plan::InferSpec;
use compass_plan::evaluation::{EvaluatorSpec, Reading};
use compass_plan::retriever::RetrieverKind;
use compass_settings::DatasetConfig;
use compass_types::range::RangeSpec;
use std::path::Path;

const RANGE: Kind = Kind::Either(&[Kind::Text, Kind::Number]);

const SPLITS_HELP: &str = "name each split's file in [dataset.test] and [dataset.train]";

pub(crate) static DATASET: TableKeys = TableKeys {
    name: "dataset",
    title: "[[dataset]]",
    keys: &[
        key("abbr", Kind::Text, "name in the table and in paths").required(),
        key("reader_cfg", Kind::Table(&READER_CFG), "columns and ranges").required(),
        key("test", Kind::Table(&SPLIT), "the rows that are asked ([data sets](datasets.md))").required(),
        key("train", Kind::Table(&SPLIT), "the rows from which shots are drawn").default("none"),
        key("infer_cfg", Kind::Table(&INFER_CFG), "retriever, inferencer, templates").required(),
        key("eval_cfg", Kind::Table(&EVAL_CFG), "evaluator, postprocessors, filters").required(),
        key(
            "preset",
            Kind::Text,
            "takes every key of a preset (`siqa_gen`, or `mmlu_ppl/lukaemon_mmlu_virology` for one of its data sets), then \
             overrides; of a preset with several data sets, `abbr` holds `${abbr}`, which is each one's own",
        )
        .takes("preset's name")
        .default("none"),
        key("inferencer", Kind::Named(&INFERENCER), "beside `preset`: that of `infer_cfg`, over the preset's")
            .default("the preset's"),
        key("version", Kind::Text, "what the column of that name shows")
            .default("the digest in a preset's name while its `infer_cfg` is the preset's own, else that of the prompts"),
        key("limit", Kind::from(1), "at most so many of its samples, the first ones of its range; `--limit` overrides")
            .default("none"),
        key("n", Kind::from(1), "OpenCompass's: so many runs of a generation, averaged").default("none"),
        key(
            "k",
            Kind::Either(&[Kind::from(1), Kind::ArrayOf(&Kind::from(1))]),
            "beside `n`: the k of pass@k and G-Pass@k, none above `n`",
        )
        .takes("number or array")
        .default("1"),
        key(
            "reading",
            Kind::Either(&[Kind::Choice(|| reading::PLACES.words()), Kind::Boolean, Kind::Table(&READING)]),
            "the [second reading](answers.md#the-second-reading) of generated answers: `first` makes it the first metric, `false` leaves it \
             out, a table says the kind of the answers",
        )
        .takes("`\"first\"`, `false` or table")
        .default("beside the metrics, where the kind is known"),
        key(
            "for_each",
            Kind::MapOf(&Kind::Texts),
            "one data set written once for many: `${name}` is replaced in every string, position by position",
        )
        .takes("table from name to list")
        .default("none"),
    ],
    types: &[],
};

pub(crate) static READER_CFG: TableKeys = TableKeys {
    name: "reader_cfg",
    title: "`reader_cfg`",
    keys: &[
        key("input_columns", Kind::Either(&[Kind::Text, Kind::Texts]), "columns that the templates use")
            .takes("array, or string with spaces")
            .required(),
        key(
            "output_column",
            Kind::Text,
            "the column with the right answer; required unless `gold` or `target` says it",
        )
        .default("none"),
        key("test_range", RANGE, "rows of `test`: `\"[:100]\"`, `\"[:50][0:8]\"`, `100`, `0.1`")
            .takes("slice, number or share")
            .default("all rows"),
        key("train_range", RANGE, "rows of `train`").takes("slice, number or share").default("all rows"),
        later("test_split", SPLITS_HELP),
        later("train_split", SPLITS_HELP),
    ],
    types: &[],
};

/// Reads a data set; `None` when something is wrong, which is reported.
pub(crate) fn read(check: &mut Check, mut fields: Fields<'_>, data_dir: Option<&Path>) -> Option<DatasetConfig> {
    let span = fields.span;
    let abbr = abbr::read(check, &mut fields);
    let reader =
        section(check, &mut fields, "reader_cfg", &READER_CFG, "{ input_columns = [...], output_column = \"...\" }")
            .map(|fields| reader(check, fields));
    let test = fields.require(check, "test", "{ path = \"...\" }");
    let test = test.and_then(|node| split::read(check, "test", node, data_dir));
    let train_node = fields.get("train");
    let train = train_node.and_then(|node| split::read(check, "train", node, data_dir));
    let same_rows = match (&test, &train) {
        (Some(test), Some(train)) => test.has_rows_of(train),
        _ => false,
    };
    let infer =
        section(check, &mut fields, "infer_cfg", &INFER_CFG, "{ retriever = \"zero\", inferencer = \"ppl\", ... }")
            .and_then(|fields| infer_cfg::read(check, fields, same_rows));
    let eval_node = fields.table.get("eval_cfg");
    let eval = section(check, &mut fields, "eval_cfg", &EVAL_CFG, "{ evaluator = \"acc\" }")
        .and_then(|fields| eval_cfg::read(check, fields));
    let repeats = repeats(check, &mut fields);
    let reading_node = fields.get("reading");
    let reading = reading_node.map_or(Some(Reading::Auto), |node| reading::read(check, node));
    let version = version::read(check, &mut fields);
    let limit = fields.u32(check, "limit");
    // Already written out.
    fields.get("for_each");
    fields.get("preset");
    if let Some(node) = fields.get("inferencer") {
        let help = "write it in `infer_cfg`: it stands here beside a `preset` alone";
        check.error(node.span, "`inferencer` of a data set without `preset`".into(), Some(help.into()));
    }
    fields.finish(check);

    let mut infer = infer?;
    if infer.retriever != RetrieverKind::Zero && train_node.is_none() {
        let help = "add `[dataset.train]` with a `path`, or write `retriever = \"zero\"`";
        check.error(span, "shots are wanted and there is nothing to draw them from".into(), Some(help.into()));
        return None;
    }
    let reader = reader??;
    let said = infer.infer.scores_continuations() && infer.prompt.says_target();
    let shows_target = matches!(infer.infer, InferSpec::Gen(_)) && infer.prompt.target.is_some();
    if shows_target && infer.prompt.gold.is_none() {
        target_as_gold(check, &mut infer, reader.output_column.as_deref());
    }
    // What is scored whole has no right answer, what is said is right, and a conversation holds its own.
    let needs_gold = !matches!(
        infer.infer,
        InferSpec::PplOnly
            | InferSpec::InferencePpl
            | InferSpec::Rolling
            | InferSpec::SwceLoss { .. }
            | InferSpec::Chat { .. }
    ) && infer.prompt.gold.is_none()
        && !said;
    if needs_gold && reader.output_column.is_none() {
        let help = "write `output_column = \"...\"`";
        check.error(reader.span, "missing key `output_column` in `reader_cfg`".into(), Some(help.into()));
        return None;
    }
    if let RetrieverKind::Bm25 { columns, .. } = &mut infer.retriever
        && columns.is_empty()
    {
        // OpenCompass compares the inputs of rows: their input columns.
        columns.clone_from(&reader.input_columns);
    }
    let mut eval = eval?;
    let generates = matches!(infer.infer, InferSpec::Gen(_));
    // Once is what everything is asked anyway.
    let repeats = repeats?.filter(|(answers, _)| generates || *answers > 1);
    let repeats = match check.environment.num_runs.filter(|runs| *runs > 1) {
        Some(runs) if generates => Some((runs, vec![runs])),
        Some(runs) => {
            let help = "what is only compared comes out the same each time";
            let name = abbr.as_deref().map_or_else(|| "here".to_owned(), |abbr| format!("on `{abbr}`"));
            check.note(span, format!("`--dataset-num-runs {runs}` has no effect {name}"), help);
            None
        }
        None => repeats,
    };
    if let Some((answers, k)) = repeats {
        let InferSpec::Gen(generation) = &mut infer.infer else {
            let help = "remove it: only what is generated can be asked for several times";
            check.error(span, "`n` needs `inferencer = \"gen\"`".into(), Some(help.into()));
            return None;
        };
        generation.decoding.num_return_sequences = Some(answers);
        if !k.is_empty() || eval.k.is_empty() {
            eval.k = if k.is_empty() { vec![1] } else { k };
        }
    }
    let answers = infer.infer.generation().and_then(|generation| generation.decoding.num_return_sequences);
    if let (Some(answers), Some(most)) = (answers, eval.k.iter().max())
        && *most > answers
    {
        let at = eval_node.and_then(|node| node.table()?.get("k")).map_or(span, |node| node.span);
        let message = format!("`k = {most}` asks for more answers than the {answers} to each prompt");
        check.error(at, message, Some(format!("write `n = {most}` in the data set, or a smaller `k`")));
    }
    if let Some(node) = eval_node {
        fit::check(check, node, &infer.infer, &infer.prompt, &eval);
    }
    eval.reading = reading?;
    if let Some(node) = reading_node {
        reading::check_fit(check, node, &infer.infer, &eval);
    }
    eval.accuracy_alone = infer.infer == InferSpec::MeanLoglikelihood && eval.evaluator == EvaluatorSpec::Acc;
    infer.prompt.unconditional = eval.evaluator.needs_unconditional();
    Some(DatasetConfig {
        abbr: abbr?,
        input_columns: reader.input_columns,
        output_column: reader.output_column,
        test_range: reader.test_range,
        limit,
        train_range: reader.train_range,
        test: test?,
        train,
        retriever: infer.retriever,
        prompt: infer.prompt,
        infer: infer.infer,
        eval,
        version,
        absent: check.absent.take(),
    })
}

/// lm-eval's `doc_to_target` is what shots show and what is right. Where an output column says something else, it is not for
/// us to choose.
fn target_as_gold(check: &mut Check, infer: &mut InferCfg, output_column: Option<&str>) {
    match (&infer.prompt.target, output_column, infer.target) {
        (Some(target), Some(column), Some(span)) if target.column() != Some(column) => {
            let message =
                format!("`target` is what shots show, and `output_column` names `{column}` as the right answer");
            let help = format!(
                "say which is right: `gold = \"{{{column}}}\"`, or remove `output_column`, and the target is the right answer"
            );
            check.error(span, message, Some(help));
        }
        (target, None, _) => infer.prompt.gold = target.clone(),
        _ => {}
    }
}

/// OpenCompass's `n` and `k` of a data set: answers to each question, and of how many of them pass@k and G-Pass@k are, empty where
/// only `n` is written. `Some(None)` without either, `None` when something is wrong.
fn repeats(check: &mut Check, fields: &mut Fields<'_>) -> Option<Option<(u32, Vec<u32>)>> {
    let given = fields.get("n").is_some();
    let answers = fields.u32(check, "n");
    let Some(node) = fields.get("k") else {
        return if given { answers.map(|answers| Some((answers, Vec::new()))) } else { Some(None) };
    };
    let k = several_k(check, node)?;
    let answers = if given { answers? } else { 1 };
    if let Some(most) = k.iter().find(|k| **k > answers) {
        let help = format!("write `n = {most}` beside it, or a smaller `k`");
        check.error(node.span, format!("`k = {most}` asks for more answers than `n` = {answers} gives"), Some(help));
        return None;
    }
    Some(given.then_some((answers, k)))
}

fn section<'t>(
    check: &mut Check,
    fields: &mut Fields<'t>,
    key: &'static str,
    keys: &'static TableKeys,
    example: &str,
) -> Option<Fields<'t>> {
    let node = fields.require(check, key, example)?;
    crate::read::fields::table(check, key, node, keys)
}

struct Reader {
    span: Span,
    input_columns: Vec<String>,
    output_column: Option<String>,
    test_range: RangeSpec,
    train_range: RangeSpec,
}

fn reader(check: &mut Check, mut fields: Fields<'_>) -> Option<Reader> {
    let span = fields.span;
    let input_columns = fields.require(check, "input_columns", "[\"...\"]").and_then(|node| input_columns(check, node));
    let output_column = match fields.get("output_column") {
        Some(node) => text(check, "output_column", node).map(|column| Some(column.to_owned())),
        None => Some(None),
    };
    let mut range = |key| match fields.get(key) {
        Some(node) => row_range::read(check, key, node),
        None => Some(RangeSpec::All),
    };
    let (test_range, train_range) = (range("test_range"), range("train_range"));
    fields.finish(check);
    Some(Reader {
        span,
        input_columns: input_columns?,
        output_column: output_column?,
        test_range: test_range?,
        train_range: train_range?,
    })
}

/// A list, or OpenCompass's older string with spaces.
fn input_columns(check: &mut Check, node: &Node) -> Option<Vec<String>> {
    let columns: Vec<String> = match &node.value {
        Value::String(text) => text.split_whitespace().map(str::to_owned).collect(),
        _ => check.texts("input_columns", node)?.into_iter().map(|(name, _)| name).collect(),
    };
    if columns.is_empty() || columns.iter().any(String::is_empty) {
        let help = "name the columns that the templates use, as in `input_columns = [\"question\"]`";
        check.error(node.span, "`input_columns` names no column, or one without a name".into(), Some(help.into()));
        return None;
    }
    Some(columns)
}
