//! `reading` of a data set: what is read, and mistakes with their places.

use super::fixture::{DATASET, Fixture, MODEL, Messages};
use compass_plan::EvalSpec;
use compass_plan::evaluation::Reading;
use compass_postprocess::AnswerKind;
use compass_settings::{LoadedRows, Loader, LoaderCall, LoaderWorld, NoRows, RowLoader};
use std::path::PathBuf;
use std::sync::Arc;

const GSM8K: &str = "evaluator = \"gsm8k\", pred_postprocessor = \"gsm8k\"";

/// The data set with this evaluation, and a line below it.
fn with(evaluation: &str, line: &str) -> String {
    format!("{MODEL}{}{line}\n", DATASET.replace("evaluator = \"em\"", evaluation))
}

fn eval(evaluation: &str, line: &str) -> EvalSpec {
    Fixture::new().good(&with(evaluation, line)).datasets.remove(0).eval
}

#[test]
fn the_second_reading_is_as_written() {
    assert_eq!((eval(GSM8K, "").reading, eval(GSM8K, "").read_as()), (Reading::Auto, Some(AnswerKind::Number)));
    assert_eq!(eval(GSM8K, "reading = \"first\"").reading, Reading::First);
    assert_eq!(eval(GSM8K, "reading = false").read_as(), None);
    let choice = eval("evaluator = \"em\"", "reading = { kind = \"choice\", options = \"ABCD\" }").read_as();
    assert!(matches!(choice, Some(AnswerKind::Choice { options }) if options.as_str() == "ABCD"));
    assert_eq!(eval("evaluator = \"em\"", "reading = { kind = \"text\" }").read_as(), Some(AnswerKind::Text));
}

/// OpenCompass 0.5.4's `aime2024_gen_17d799.py`.
const AIME: &str = r"
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever
from opencompass.openicl.icl_inferencer import GenInferencer
from opencompass.evaluator import MATHVerifyEvaluator
from opencompass.datasets import Aime2024Dataset

aime2024_infer_cfg = dict(
    prompt_template=dict(
        type=PromptTemplate,
        template=dict(
            round=[
                dict(role='HUMAN', prompt='{question}\nPlease reason step by step, and put your final answer within \\boxed{}.'),
            ],
        )
    ),
    retriever=dict(type=ZeroRetriever),
    inferencer=dict(type=GenInferencer)
)
datasets = [
    dict(
        abbr='aime2024',
        type=Aime2024Dataset,
        path='opencompass/aime2024',
        reader_cfg=dict(input_columns=['question'], output_column='answer'),
        infer_cfg=aime2024_infer_cfg,
        eval_cfg=dict(evaluator=dict(type=MATHVerifyEvaluator)),
    )
]
models = [dict(type='echo', abbr='m', path='m')]
";

/// Gives every class the rows of one file.
#[derive(Debug)]
struct Rows(PathBuf);

impl RowLoader for Rows {
    fn load(&self, _: &LoaderWorld, calls: &[LoaderCall]) -> Vec<Result<LoadedRows, NoRows>> {
        let splits = |call: &LoaderCall| call.splits.iter().map(|split| (split.clone(), self.0.clone())).collect();
        calls.iter().map(|call| Ok(LoadedRows { splits: splits(call), said: String::new() })).collect()
    }
}

#[test]
fn the_preset_of_aime_is_that_of_opencompass() {
    let mut fixture = Fixture::new();
    fixture.write("data/aime.jsonl", "{}");
    fixture.flags.python.loader = Some(Loader(Arc::new(Rows(fixture.path("data/aime.jsonl")))));
    fixture.write("eval.py", AIME);
    fixture.flags.data_dir = Some(fixture.path("data"));
    let written = crate::load(Some(&fixture.path("eval.py")), &fixture.flags).unwrap().config.datasets.remove(0);
    for name in ["aime2024_gen_17d799", "aime2024_gen"] {
        let preset = crate::preset_datasets(name, Some(&fixture.path("data"))).unwrap().unwrap().remove(0);
        assert_eq!((&preset.abbr, &preset.version), (&written.abbr, &Some("17d799".to_owned())), "{name}");
        assert_eq!((&preset.prompt, &preset.infer), (&written.prompt, &written.infer), "{name}");
        assert_eq!((&preset.eval, &preset.version), (&written.eval, &written.version), "{name}");
    }
}

#[test]
fn a_preset_takes_it_and_keeps_its_prompts() {
    let mut fixture = Fixture::new();
    fixture.write("cache/aime.jsonl", "{}");
    fixture.flags.data_dir = Some(fixture.path("cache"));
    let preset = |line: &str| {
        let text = format!("{MODEL}[[dataset]]\npreset = \"aime2024_gen\"\n{line}\n");
        fixture.good(&text).datasets.remove(0)
    };
    let (plain, first) = (preset(""), preset("reading = \"first\""));
    assert_eq!((plain.version.as_deref(), plain.eval.read_as()), (Some("17d799"), Some(AnswerKind::Math)));
    assert_eq!((first.version, &first.prompt, &first.infer), (plain.version.clone(), &plain.prompt, &plain.infer));
}

#[test]
fn the_class_of_opencompass_is_served() {
    for name in ["MATHVerifyEvaluator", "opencompass.evaluator.MATHVerifyEvaluator", "math_verify"] {
        let eval = eval(&format!("evaluator = \"{name}\""), "");
        assert_eq!((eval.evaluator.metric(), eval.read_as()), ("accuracy", Some(AnswerKind::Math)), "{name}");
    }
}

#[test]
fn mistakes_are_told_at_their_places() {
    let mut messages = Messages::default();
    for line in [
        "reading = true",
        "reading = 1",
        "reading = \"frist\"",
        "reading = \"first\"",
        "reading = {}",
        "reading = { kind = \"numbr\" }",
        "reading = { kind = \"choice\" }",
        "reading = { kind = \"choice\", options = \"ABCA\" }",
        "reading = { kind = \"choice\", options = \"A-D\" }",
        "reading = { kind = \"math\", options = \"AB\" }",
        "reading = { kind = \"number\", option = \"AB\" }",
    ] {
        messages.add(line, &Fixture::new().bad(&with("evaluator = \"em\"", line)));
    }
    let line = "reading = { kind = \"number\" }";
    let scored = with("evaluator = \"acc\"", line).replace(
        "inferencer = \"gen\", prompt_template = \"{q}\"",
        "inferencer = \"ppl\", prompt_template = { A = \"{q} A\", B = \"{q} B\" }",
    );
    messages.add("what is not generated", &Fixture::new().bad(&scored));
    messages.add("programs", &Fixture::new().bad(&with("evaluator = \"mbpp\"", line)));
    let filters = "evaluator = \"em\", filters = [{ name = \"f\", steps = [\"take_first\"] }]";
    messages.add("filters", &Fixture::new().bad(&with(filters, line)));
    let several = with("evaluator = \"emm\"", "reading = { kind = \"choice\" }\nn = 0");
    messages.add("several at once", &Fixture::new().bad(&several));
    insta::assert_snapshot!(messages);
}
