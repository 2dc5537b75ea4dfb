//! Programs out of answers, and metrics out of outcomes.

use super::super::fixture::{failed, generate, generated};
use super::super::{Accumulator, judge};
use super::*;
use compass_postprocess::Postprocessor;
use compass_types::result::{Finish, Generation};

fn human_eval(k: &[u32]) -> EvalSpec {
    let evaluator = EvaluatorSpec::HumanEval { k: k.to_vec() };
    EvalSpec { pred_postprocessors: vec![Postprocessor::HumanevalV2], ..EvalSpec::new(evaluator) }
}

fn gold(task: &str) -> Value {
    json!({ "task_id": task, "prompt": "def f():\n", "test": "def check(c):\n    assert c() == 1\n", "entry_point": "f" })
}

fn several(index: u32, texts: &[&str]) -> SampleResult {
    let answer = |text: &&str| Generation::new(*text, 1, Finish::Eos);
    SampleResult { outcome: Outcome::Generated(texts.iter().map(answer).collect()), ..generated(index, "") }
}

fn ran(index: u32, classes: &[ExecutionClass]) -> SampleResult {
    let one = |class: &ExecutionClass| Execution { class: *class, result: format!("{class:?}"), answer: String::new() };
    SampleResult { outcome: Outcome::Executed(classes.iter().map(one).collect()), ..generated(index, "") }
}

use ExecutionClass::{Failed, Memory, Passed, Timeout, WrongAnswer};

#[test]
fn the_program_is_made_of_the_answer_after_the_postprocessors() {
    let sample = generate(0, gold("HumanEval/0"));
    let made = programs(&sample, &generated(0, "Sure:\n```python\n    return 1\n```"), &human_eval(&[1])).unwrap();
    assert_eq!(made, [Program::human_eval("def f():\n", "return 1\n", "def check(c):\n    assert c() == 1\n", "f")]);
    assert_eq!(programs(&sample, &failed(0, "poison"), &human_eval(&[1])).unwrap(), []);
    let bare = generate(0, json!("HumanEval/0"));
    let error = programs(&bare, &generated(0, "x"), &human_eval(&[1])).unwrap_err();
    assert_eq!(error.to_string(), "the gold answer has no text `prompt`, which the program is made of");
}

#[test]
fn mbpp_finds_the_code_in_its_marks() {
    let spec = EvalSpec::new(EvaluatorSpec::Mbpp { answer: MbppAnswer::Marked });
    let sample = generate(0, json!("assert f() == 1"));
    let made = programs(&sample, &generated(0, "[BEGIN]\n 'def f(): return 1' \n[DONE]\n\nmore"), &spec).unwrap();
    assert_eq!(made, [Program::mbpp("def f(): return 1", "assert f() == 1")]);
}

#[test]
fn pass_at_1_is_the_share_of_tasks_that_pass() {
    let spec = human_eval(&[1, 10]);
    let mut fold = Accumulator::new(&spec);
    for (index, class) in [Passed, Failed, Timeout, Passed].into_iter().enumerate() {
        let index = index as u32;
        let sample = generate(index, gold(&format!("HumanEval/{index}")));
        fold.observe(&sample, &executed(&generated(index, "x"), Some(&ran(index, &[class]))));
    }
    let metrics = fold.finish();
    let shown: Vec<_> = metrics.values.iter().map(|metric| (metric.name.as_str(), metric.value)).collect();
    assert_eq!(shown, [("humaneval_pass@1", 50.0)], "no task has ten answers");
}

#[test]
fn several_answers_give_the_unbiased_estimate_over_tasks() {
    // As human_eval and numpy print it: task a has 2 of 5 right, task b none of 5.
    let spec = human_eval(&[1, 3]);
    let mut fold = Accumulator::new(&spec);
    let a = [Passed, Failed, Passed, Timeout, Memory];
    let sample = generate(0, gold("a"));
    fold.observe(&sample, &executed(&several(0, &["x"; 5]), Some(&ran(0, &a))));
    // Task b was asked five times, as OpenCompass's `num_repeats` does.
    for index in 1..6 {
        let sample = generate(index, gold("b"));
        fold.observe(&sample, &executed(&generated(index, "x"), Some(&ran(index, &[WrongAnswer]))));
    }
    let metrics = fold.finish();
    let shown: Vec<_> = metrics.values.iter().map(|metric| (metric.name.as_str(), metric.value)).collect();
    assert_eq!(shown, [("humaneval_pass@1", 19.999999999999996), ("humaneval_pass@3", 45.0)]);
}

#[test]
fn a_data_sets_own_k_takes_answers_as_runs() {
    let spec = EvalSpec { k: vec![2], ..human_eval(&[1, 10, 100]) };
    let sample = generate(0, gold("a"));
    let result = executed(&several(0, &["x", "y"]), Some(&ran(0, &[Passed, Failed])));
    let mut fold = Accumulator::new(&spec);
    fold.observe(&sample, &result);
    let names: Vec<String> = fold.finish().values.into_iter().map(|metric| metric.name).collect();
    assert_eq!(names[..3], ["humaneval_pass@1 (2 runs average)", "pass@2", "G-Pass@2_0.0"]);
}

#[test]
fn mbpp_counts_classes_beside_its_score() {
    let spec = EvalSpec::new(EvaluatorSpec::Mbpp { answer: MbppAnswer::Marked });
    let mut fold = Accumulator::new(&spec);
    for (index, class) in [Passed, WrongAnswer, Timeout, Memory].into_iter().enumerate() {
        let index = index as u32;
        fold.observe(&generate(index, json!("t")), &executed(&generated(index, "x"), Some(&ran(index, &[class]))));
    }
    let metrics = fold.finish();
    let shown: Vec<_> = metrics.values.iter().map(|metric| (metric.name.as_str(), metric.value)).collect();
    assert_eq!(shown, [("score", 25.0), ("pass", 1.0), ("timeout", 1.0), ("failed", 1.0), ("wrong_answer", 1.0)]);
}

#[test]
fn what_a_worker_folds_is_what_the_master_folds() {
    let spec = human_eval(&[1]);
    let (mut worker, mut master) = (Accumulator::new(&spec), Accumulator::new(&spec));
    let body = compass_plan::Body::Execute { programs: Vec::new() };
    let sent = Sample { body, gold: json!({ "task_id": "HumanEval/0" }), ..generate(0, Value::Null) };
    worker.observe(&sent, &ran(0, &[Passed]));
    master.observe(&generate(0, gold("HumanEval/0")), &executed(&generated(0, "x"), Some(&ran(0, &[Passed]))));
    assert_eq!(worker, master);
}

#[test]
fn a_sample_without_a_run_has_a_reason() {
    let (spec, sample) = (human_eval(&[1]), generate(0, gold("a")));
    let why = |generated: &SampleResult, run: Option<&SampleResult>| {
        judge(&sample, &executed(generated, run), &spec).unwrap_err().to_string()
    };
    assert_eq!(why(&generated(0, "x"), None), "its program was not run");
    assert_eq!(why(&generated(0, "x"), Some(&failed(0, "refused: no isolation"))), "refused: no isolation");
    assert_eq!(why(&failed(0, "poison"), None), "poison");
    assert_eq!(judge(&sample, &generated(0, "x"), &spec).unwrap_err().to_string(), "its program was not run");
}

#[test]
fn details_have_the_peers_keys() {
    let sample = generate(0, gold("HumanEval/0"));
    let result = executed(&generated(0, "```python\nreturn 1\n```"), Some(&ran(0, &[Failed])));
    let score = judge(&sample, &result, &human_eval(&[1])).unwrap();
    assert_eq!(
        Value::Object(score.details.unwrap()),
        json!({ "task_id": "HumanEval/0", "completion": "return 1\n", "result": "Failed", "passed": false,
                "is_correct": false, "prompt": "def f():\n" })
    );
    let spec = EvalSpec::new(EvaluatorSpec::Mbpp { answer: MbppAnswer::Marked });
    let result = executed(&several(0, &["```\nx = 1\n```", "y"]), Some(&ran(0, &[Passed, Timeout])));
    let score = judge(&generate(0, json!("assert x")), &result, &spec).unwrap();
    assert_eq!(
        Value::Object(score.details.unwrap()),
        json!({ "origin": ["```\nx = 1\n```", "y"], "programs": [["x = 1", "assert x"], ["y", "assert x"]],
                "result": ["pass", "timeout"], "reason": ["Passed", "Timeout"], "is_correct": [true, false] })
    );
}
