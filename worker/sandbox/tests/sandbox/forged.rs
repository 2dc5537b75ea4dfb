//! Programs that want to pass without passing their tests.

use super::support::{goes_on, patient, sandboxes};
use compass_sandbox::{Program, Verdict};

/// What stands after each program: tests that none of them passes.
const TESTS: &str = "\nassert False, 'the tests ran'\n";

/// What must come out: the tests' own failure, an exception on the way, or an end before them. Never `passed`.
async fn not_passed(source: &str) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for sandbox in sandboxes().await {
        let program = Program::new(format!("{source}{TESTS}")).within(patient());
        let verdict = sandbox.run(&program).await;
        assert!(matches!(verdict, Verdict::Failed { .. }), "{}: {verdict}: {source}", sandbox.isolation());
        goes_on(&sandbox).await;
        verdicts.push(verdict);
    }
    verdicts
}

#[tokio::test]
async fn ending_early_is_no_pass() {
    for source in ["import sys\nsys.exit(0)", "exit(0)", "raise SystemExit(0)"] {
        for verdict in not_passed(source).await {
            assert_eq!(verdict.to_string(), "failed: SystemExit: 0", "{source}");
        }
    }
    for source in [
        "import os\nos._exit(0)",
        "import os, threading\nthreading.Thread(target=lambda: os._exit(0)).start()\nwhile True: pass",
        "import os\nos.execv('/usr/bin/true', ['true'])",
    ] {
        for verdict in not_passed(source).await {
            assert_eq!(verdict.to_string(), "failed: ended with exit code 0 before its tests were done", "{source}");
        }
    }
}

#[tokio::test]
async fn saying_passed_is_no_pass() {
    not_passed("print('passed')\nprint('ready')").await;
    let everywhere = "import os
for descriptor in range(256):
    for text in [b'passed\\n', b'[\"passed\", \"\", \"\"]\\n', b'0' * 32 + b' [\"passed\", \"\", \"\"]\\n']:
        try:
            os.write(descriptor, text)
        except OSError:
            pass
";
    not_passed(everywhere).await;
    not_passed(&format!("{everywhere}os._exit(0)")).await;
}

#[tokio::test]
async fn replacing_what_the_harness_uses_is_no_pass() {
    for source in [
        "import os\nos.write = os._exit = lambda *a: None",
        "import json\njson.dumps = json.JSONEncoder.encode = lambda *a: '[\"passed\", \"\", \"\"]'",
        "import builtins\nbuiltins.BaseException = builtins.AssertionError = KeyError",
        "import builtins\nbuiltins.exec = builtins.issubclass = builtins.str = lambda *a: True",
        "import builtins, types\nbuiltins.__dict__.clear()",
        "import sys\nsys.modules.clear()\nsys.stdout = sys.stderr = None",
        "import sys\nsys.excepthook = sys.unraisablehook = lambda *a: None",
        "import atexit, os\natexit.register(lambda: print('passed'))",
        "import sys\nsys.settrace(lambda *a: None)\nsys.setprofile(lambda *a: None)",
    ] {
        not_passed(source).await;
    }
}

#[tokio::test]
async fn closing_or_moving_the_channel_is_no_pass() {
    not_passed("import os\nos.closerange(0, 256)").await;
    not_passed("import os\nfor d in range(3, 32):\n    os.dup2(1, d)").await;
    // Even where the tests would hold, for nobody can know.
    for sandbox in sandboxes().await {
        let verdict = sandbox.run(&Program::new("import os\nos.closerange(0, 256)").within(patient())).await;
        assert!(matches!(verdict, Verdict::Failed { .. }), "{}: {verdict}", sandbox.isolation());
    }
}

#[tokio::test]
async fn an_error_that_cannot_be_described_is_no_pass() {
    not_passed("class E(Exception):\n    def __str__(self):\n        raise E()\nraise E()").await;
    not_passed("class E(Exception):\n    def __str__(self):\n        import sys; sys.exit(0)\nraise E()").await;
    not_passed("raise type('passed' * 1000, (Exception,), {})('\\ud800' * 9000)").await;
}
