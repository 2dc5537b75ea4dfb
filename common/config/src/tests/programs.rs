//! Evaluators that run programs, and how often each question is asked.

use super::fixture::{DATASET, Fixture, MODEL};
use compass_plan::evaluation::{EvaluatorSpec, MbppAnswer};

fn evaluated(by: &str) -> compass_plan::EvalSpec {
    let text = format!("{MODEL}{}", DATASET.replace("evaluator = \"em\"", by));
    Fixture::new().good(&text).datasets.remove(0).eval
}

#[test]
fn evaluators_under_opencompasss_names() {
    let human_eval = |k: &[u32]| EvaluatorSpec::HumanEval { k: k.to_vec() };
    assert_eq!(evaluated("evaluator = \"HumanEvalEvaluator\"").evaluator, human_eval(&[1, 10, 100]));
    assert_eq!(evaluated("evaluator = { type = \"human_eval\", k = 5 }").evaluator, human_eval(&[5]));
    // As OpenCompass's configurations write it beside the evaluator.
    let beside = evaluated("evaluator = \"human_eval\", k = [1, 2]");
    assert_eq!((beside.evaluator, beside.k), (human_eval(&[1, 2]), vec![]));
    let mbpp = |answer| EvaluatorSpec::Mbpp { answer };
    assert_eq!(evaluated("evaluator = \"MBPPEvaluator\"").evaluator, mbpp(MbppAnswer::Marked));
    assert_eq!(evaluated("evaluator = { type = \"mbpp\", metric = \"MBPP\" }").evaluator, mbpp(MbppAnswer::Marked));
    assert_eq!(evaluated("evaluator = \"MBPPEvaluator2\"").evaluator, mbpp(MbppAnswer::Block));
    let pass_k = EvaluatorSpec::MbppPassK { k: vec![1, 10, 100] };
    assert_eq!(evaluated("evaluator = \"MBPPPassKEvaluator\"").evaluator, pass_k);
}

#[test]
fn a_data_set_asks_n_times_and_counts_k() {
    let text = |line: &str| format!("{MODEL}{DATASET}{line}\n");
    let dataset = Fixture::new().good(&text("n = 5\nk = 3")).datasets.remove(0);
    let sequences = dataset.infer.generation().map(|generation| generation.decoding.num_return_sequences);
    assert_eq!((sequences, dataset.eval.k), (Some(Some(5)), vec![3]));
    let places = Fixture::new().places(&text("n = 2\nk = [1, 3]"));
    assert_eq!(places, ["eval.toml:12:5: `k = 3` asks for more answers than `n` = 2 gives"]);
    let eval_k =
        |k: &str, line: &str| text(line).replace("evaluator = \"em\"", &format!("evaluator = \"em\", k = {k}"));
    assert_eq!(
        Fixture::new().good(&eval_k("[2, 4]", "n = 4")).datasets.remove(0).eval.k,
        [2, 4],
        "where `k` stands there alone"
    );
    assert_eq!(Fixture::new().good(&eval_k("[2, 4]", "n = 4\nk = 3")).datasets.remove(0).eval.k, [3]);
    assert_eq!(Fixture::new().good(&text("n = 4")).datasets.remove(0).eval.k, [1]);
    let places = Fixture::new().places(&eval_k("[2, 8]", "n = 4"));
    assert_eq!(places, ["eval.toml:10:36: `k = 8` asks for more answers than the 4 to each prompt"]);
    let ppl = text("n = 2").replace("\"gen\"", "\"ppl_only\"");
    let places = Fixture::new().places(&ppl);
    assert!(places.iter().any(|place| place.contains("`n` needs `inferencer = \"gen\"`")), "{places:?}");
}
