//! Forty data sets: one for each evaluator that keeps an item per sample, and a few that only count, for comparison.
//!
//! Data sets whose answers are programs are missing: what they keep comes from the sandbox, not from an engine.

use super::expected::{Expected, always, chosen, first_chosen, mean_nll, right, right_within};
use super::question::Question;
use serde_json::{Value, json};

/// Request to the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    Generation,
    /// Three drawn answers to each prompt.
    ThreeGenerations,
    /// Two options by `ppl`.
    Perplexity,
    /// Two options by `loglikelihood`.
    Loglikelihood,
    /// One continuation by `loglikelihood`.
    Continuation,
    /// The prompt alone, by `ppl_only` or `rolling`.
    Whole(&'static str),
}

/// A data set of made-up questions.
#[derive(Clone, Copy, Debug)]
pub struct DataSet {
    pub abbr: &'static str,
    pub request: Request,
    /// The body of its `eval_cfg`.
    evaluation: &'static str,
    gold: fn(&Question) -> Value,
    /// A metric that follows from the rows, where one does.
    pub expected: Option<Expected>,
}

const fn generated(
    abbr: &'static str,
    evaluation: &'static str,
    gold: fn(&Question) -> Value,
    expected: Option<Expected>,
) -> DataSet {
    DataSet { abbr, request: Request::Generation, evaluation, gold, expected }
}

const fn asked(
    abbr: &'static str,
    request: Request,
    evaluation: &'static str,
    gold: fn(&Question) -> Value,
    expected: Option<Expected>,
) -> DataSet {
    DataSet { abbr, request, evaluation, gold, expected }
}

const MCC: &str = "evaluator = \"mcc\"\npred_postprocessor = \"first_capital\"";
const CIRCULAR: &str = "evaluator = \"circular\"\npred_postprocessor = \"first_capital\"";
const CROWSPAIRS: &str = "evaluator = \"crowspairs\"\npred_postprocessor = \"first_capital\"";
const F1_MACRO: &str = "evaluator = \"f1\"\npred_postprocessor = \"first_capital\"";
const F1_MICRO: &str = "evaluator = { type = \"f1\", average = \"micro\" }\npred_postprocessor = \"first_capital\"";
const ALL_CHOICE_METRICS: &str = r#"evaluator = { type = "multiple_choice", metrics = ["acc", "acc_norm", "acc_bytes", "exact_match", "brier_score", "mc2", "mcc"] }"#;

fn text(question: &Question) -> Value {
    question.gold_text().into()
}

fn texts(question: &Question) -> Value {
    json!([question.gold_text()])
}

/// TydiQA's evaluator writes predictions in lower case, and golds as they are.
fn lower_texts(question: &Question) -> Value {
    json!([question.gold_text().to_lowercase()])
}

fn letter(question: &Question) -> Value {
    question.gold_letter().into()
}

fn label(question: &Question) -> Value {
    question.label().into()
}

fn paragraph(question: &Question) -> Value {
    format!("Paragraph {}", question.number % 10).into()
}

fn digit(question: &Question) -> Value {
    (question.number % 10).to_string().into()
}

fn class(question: &Question) -> Value {
    json!({ "answers": [question.gold_letter()], "all_classes": ["A", "B", "C", "D"] })
}

/// Four askings of one question, a rotation each.
fn asking(question: &Question) -> Value {
    let pattern = ["ABCD", "BCDA", "CDAB", "DABC"][question.number as usize % 4];
    format!("{}--{}--{pattern}", question.number / 4, question.gold_letter()).into()
}

fn truths(question: &Question) -> Value {
    let (answer, other) = (question.answer.as_str(), "none");
    let (correct, incorrect) = if question.is_right { (answer, other) } else { (other, answer) };
    json!({ "correct_answers": [correct], "incorrect_answers": [incorrect] })
}

fn bbq(question: &Question) -> Value {
    let (polarity, context) = (["neg", "nonneg"], ["ambig", "disambig"]);
    json!({
        "ans0": "A", "ans1": "B", "ans2": "Can't be determined", "label": question.number % 3, "category": "Age",
        "answer_info": { "ans0": ["A", "old"], "ans1": ["B", "nonOld"], "ans2": ["Unknown", "unknown"] },
        "additional_metadata": { "stereotyped_groups": ["old"] },
        "question_polarity": polarity[question.number as usize / 2 % 2],
        "context_condition": context[question.number as usize / 4 % 2],
    })
}

fn instruction(_: &Question) -> Value {
    json!({ "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}] })
}

/// The data sets; a job of fewer takes the first ones, which keep every kind of item.
pub const DATA_SETS: [DataSet; 40] = [
    generated("rouge", "evaluator = \"rouge\"", text, right_within("rouge1", 3.0)),
    generated("squad", "evaluator = \"squad\"", text, right("f1")),
    generated("bleu", "evaluator = \"bleu\"", text, None),
    generated("mcc", MCC, letter, None),
    generated("circular", CIRCULAR, asking, right("acc_4")),
    generated("gaokao", "evaluator = { type = \"gaokao\", question = \"multi_choice\" }", letter, None),
    asked("auc_roc", Request::Loglikelihood, "evaluator = \"auc_roc\"", label, chosen("accuracy")),
    asked("choices", Request::Loglikelihood, ALL_CHOICE_METRICS, label, chosen("acc")),
    asked("rolling", Request::Whole("rolling"), "evaluator = \"perplexity\"", text, None),
    asked("continuation", Request::Continuation, "evaluator = \"perplexity\"", text, None),
    generated("truthful", "evaluator = \"truthful_qa_gen\"", truths, right("rouge1_acc")),
    generated("em", "evaluator = \"em\"", text, right("score")),
    generated("chrf", "evaluator = \"chrf\"", text, None),
    generated("chrf_words", "evaluator = { type = \"chrf\", word_order = 2 }", text, None),
    generated("ter", "evaluator = \"ter\"", text, None),
    generated("f1_macro", F1_MACRO, letter, None),
    generated("f1_micro", F1_MICRO, letter, right("f1")),
    generated("crowspairs", CROWSPAIRS, letter, None),
    generated("bbq", "evaluator = \"bbq\"", bbq, None),
    generated("drop_bags", "evaluator = \"drop_bags\"", texts, right("em")),
    generated("tydi_qa", "evaluator = \"tydi_qa\"", lower_texts, right("exact_match")),
    generated("jieba_rouge", "evaluator = \"jieba_rouge\"", text, right_within("rouge1", 0.01)),
    generated("long_f1", "evaluator = \"long_bench_f1\"", texts, right("score")),
    generated("long_rouge", "evaluator = \"long_bench_rouge\"", texts, right_within("score", 0.01)),
    generated("long_retrieval", "evaluator = \"long_bench_retrieval\"", paragraph, None),
    generated("long_count", "evaluator = \"long_bench_count\"", digit, None),
    generated("long_code_sim", "evaluator = \"long_bench_code_sim\"", texts, None),
    generated("long_class", "evaluator = \"long_bench_classification\"", class, right("score")),
    generated("ruler", "evaluator = \"ruler\"", texts, right("score")),
    generated("ruler_qa", "evaluator = \"ruler_qa\"", texts, right("score")),
    generated("ifeval", "evaluator = \"ifeval\"", instruction, always("Inst-level-strict-accuracy")),
    asked("drawn", Request::ThreeGenerations, "evaluator = \"acc\"\nk = [1, 2]", text, None),
    asked("pairs", Request::Loglikelihood, "evaluator = \"sentence_pair\"", label, first_chosen("pct_stereotype")),
    asked("average_ppl", Request::Whole("ppl_only"), "evaluator = \"average_ppl\"", text, mean_nll("average_ppl")),
    asked("bpc", Request::Whole("rolling"), "evaluator = \"bpc\"", text, None),
    asked("auc_ppl", Request::Perplexity, "evaluator = \"auc_roc\"", label, chosen("accuracy")),
    asked("acc_ppl", Request::Perplexity, "evaluator = \"acc\"", label, chosen("accuracy")),
    asked("acc_ll", Request::Loglikelihood, "evaluator = \"acc\"", label, chosen("accuracy")),
    generated("exact_match", "evaluator = \"exact_match\"", text, right_within("exact_match", 1e-6)),
    generated("gsm8k", "evaluator = \"gsm8k\"", text, right("accuracy")),
];

impl DataSet {
    /// Its table of an `eval.toml`; rows are in `rows/<abbr>.jsonl`.
    pub(super) fn table(&self) -> String {
        let Self { abbr, evaluation, .. } = self;
        let prompt = match self.request {
            Request::Perplexity | Request::Loglikelihood => {
                format!("{{ 0 = \"{abbr}: {{q}} {{a}}\", 1 = \"{abbr}: {{q}} {{b}}\" }}")
            }
            _ => format!("\"{abbr}: {{q}}\""),
        };
        let target = if self.request == Request::Continuation { "target = \"{gold}\"\n" } else { "" };
        let inferencer = match self.request {
            Request::Generation => "{ type = \"gen\", max_out_len = 16 }".to_owned(),
            Request::ThreeGenerations => {
                "{ type = \"gen\", generation_kwargs = { do_sample = true, num_return_sequences = 3 } }".to_owned()
            }
            Request::Perplexity => "\"ppl\"".to_owned(),
            Request::Loglikelihood | Request::Continuation => "\"loglikelihood\"".to_owned(),
            Request::Whole(name) => format!("\"{name}\""),
        };
        format!(
            "\n[[dataset]]\nabbr = \"{abbr}\"\n\
             reader_cfg = {{ input_columns = [\"q\", \"a\", \"b\"], output_column = \"gold\" }}\n\
             test = {{ path = \"rows/{abbr}.jsonl\" }}\n\
             [dataset.infer_cfg]\nretriever = \"zero\"\ninferencer = {inferencer}\nprompt_template = {prompt}\n{target}\
             [dataset.eval_cfg]\n{evaluation}\n"
        )
    }

    /// A row of its file.
    pub(super) fn row(&self, number: u32) -> Value {
        let question = Question::new(self.abbr, number);
        json!({ "q": question.text, "a": "yes", "b": "nay", "gold": (self.gold)(&question) })
    }
}
