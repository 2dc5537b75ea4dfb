//! HumanEval's canonical solutions pass, and empty solutions fail.

use super::support::{planned, sandboxes};
use compass_plan as plan;
use compass_sandbox::{Program, ProgramOutcome};
use serde_json::Value;
use std::fs;

fn problems() -> Option<Vec<Value>> {
    let text = fs::read_to_string(compass_needs::shared("data/humaneval/HumanEval.jsonl")?).unwrap();
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn program(problem: &Value, completion: &str) -> Program {
    let text = |key: &str| problem[key].as_str().unwrap();
    planned(plan::Program::human_eval(text("prompt"), completion, text("test"), text("entry_point")))
}

#[tokio::test]
async fn canonical_solutions_pass_and_empty_ones_fail() {
    let Some(problems) = problems() else { return };
    assert_eq!(problems.len(), 164);
    for sandbox in sandboxes().await {
        let solution = |problem: &Value| program(problem, problem["canonical_solution"].as_str().unwrap());
        let outcomes = sandbox.execute(problems.iter().map(solution).collect()).await;
        let wrong: Vec<_> = problems.iter().zip(&outcomes).filter(|(_, outcome)| !outcome.passed()).collect();
        assert!(wrong.is_empty(), "{}: {:?}", sandbox.isolation(), wrong.iter().map(|w| w.1).collect::<Vec<_>>());

        let outcomes = sandbox.execute(problems.iter().map(|problem| program(problem, "    pass\n")).collect()).await;
        let failed = outcomes.iter().filter(|outcome| matches!(outcome, ProgramOutcome::Failed { .. })).count();
        assert_eq!(failed, 164, "{}: {outcomes:?}", sandbox.isolation());
    }
}
