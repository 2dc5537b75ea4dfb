//! Programs that try to pass without passing their tests.

use super::support::{goes_on, patient, planned, sandboxes};
use compass_plan as plan;
use compass_sandbox::{Program, ProgramOutcome};

/// Tests after each program, which none of them passes.
const TESTS: &str = "\nassert False, 'the tests ran'\n";

/// Runs the program and expects the tests' own failure, an exception before, or an early exit. Never `passed`.
async fn not_passed(source: &str) -> Vec<ProgramOutcome> {
    let mut outcomes = Vec::new();
    for sandbox in sandboxes().await {
        let program = Program::new(format!("{source}{TESTS}")).within(patient());
        let outcome = sandbox.run(&program).await;
        assert!(matches!(outcome, ProgramOutcome::Failed { .. }), "{}: {outcome}: {source}", sandbox.isolation());
        goes_on(&sandbox).await;
        outcomes.push(outcome);
    }
    outcomes
}

#[tokio::test]
async fn early_exit_does_not_pass() {
    for source in ["import sys\nsys.exit(0)", "exit(0)", "raise SystemExit(0)"] {
        for outcome in not_passed(source).await {
            assert_eq!(outcome.to_string(), "failed: SystemExit: 0", "{source}");
        }
    }
    for source in [
        "import os\nos._exit(0)",
        "import os, threading\nthreading.Thread(target=lambda: os._exit(0)).start()\nwhile True: pass",
        "import os\nos.execv('/usr/bin/true', ['true'])",
    ] {
        for outcome in not_passed(source).await {
            assert_eq!(outcome.to_string(), "failed: ended with exit code 0 before its tests were done", "{source}");
        }
    }
}

#[tokio::test]
async fn writing_passed_does_not_pass() {
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
async fn replacing_functions_of_the_harness_does_not_pass() {
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
async fn closing_or_moving_the_channel_does_not_pass() {
    not_passed("import os\nos.closerange(0, 256)").await;
    not_passed("import os\nfor d in range(3, 32):\n    os.dup2(1, d)").await;
    // Even if the tests would pass, since there is no proof.
    for sandbox in sandboxes().await {
        let outcome = sandbox.run(&Program::new("import os\nos.closerange(0, 256)").within(patient())).await;
        assert!(matches!(outcome, ProgramOutcome::Failed { .. }), "{}: {outcome}", sandbox.isolation());
    }
}

#[tokio::test]
async fn exception_without_description_does_not_pass() {
    not_passed("class E(Exception):\n    def __str__(self):\n        raise E()\nraise E()").await;
    not_passed("class E(Exception):\n    def __str__(self):\n        import sys; sys.exit(0)\nraise E()").await;
    not_passed("raise type('passed' * 1000, (Exception,), {})('\\ud800' * 9000)").await;
}

/// Objects that a program that knows the harness finds in its interpreter: `frames` from its own to the first, and
/// `everything` reachable from frames and the garbage collector.
const SEARCH: &str = "import gc, os, sys, types
def frames():
    found, frame = [], sys._getframe()
    while frame:
        found.append(frame)
        frame = frame.f_back
    return found
def everything():
    seen, pending = {}, list(gc.get_objects())
    for frame in frames():
        pending += [frame, frame.f_code, frame.f_locals, frame.f_globals, frame.f_builtins]
    while pending:
        thing = pending.pop()
        if id(thing) not in seen:
            seen[id(thing)] = thing
            pending += gc.get_referents(thing)
    return seen.values()
def harness():
    # Functions of the harness, which is no module of the library.
    code = frames()[-1].f_code
    functions = [thing for thing in everything() if isinstance(thing, types.FunctionType)]
    return [one for one in functions if one.__code__.co_filename == code.co_filename and one.__globals__ is not globals()]
";

#[tokio::test]
async fn calling_report_functions_of_the_harness_does_not_pass() {
    for attack in [
        "for frame in frames():
    for scope in [frame.f_locals, frame.f_globals]:
        if 'report' in scope: scope['report']('passed')",
        "for one in harness():
    if one.__name__ == 'report': one('passed')",
        // Whatever its name.
        "for one in harness():
    for arguments in [('passed',), ('passed', '', ''), (b'passed',), ('[\"passed\", \"\", \"\"]',)]:
        try:
            if one.__name__ != 'main': one(*arguments)
        except Exception:
            pass",
    ] {
        not_passed(&format!("{SEARCH}{attack}")).await;
    }
}

#[tokio::test]
async fn interpreter_does_not_expose_secrets_of_the_harness() {
    let attack = "secrets = set()
for thing in everything():
    if isinstance(thing, (bytes, bytearray)):
        secrets.add(bytes(thing))
    elif isinstance(thing, str):
        secrets.add(thing.encode('utf-8', 'replace'))
    elif isinstance(thing, (list, tuple)) and thing and all(isinstance(one, int) and 0 <= one < 256 for one in thing):
        secrets.add(bytes(thing))
secrets = [one for one in secrets if 16 <= len(one) < 128 and not one.strip(b'0123456789abcdef')]
for descriptor in range(3, 256):
    for secret in secrets:
        for end in [b' [\"passed\", \"\", \"\"]', b'\\x01', b'', b' passed']:
            try:
                os.write(descriptor, b'\\n' + secret + end + b'\\n')
            except OSError:
                break
";
    not_passed(&format!("{SEARCH}{attack}")).await;
    not_passed(&format!("{SEARCH}{attack}os._exit(0)")).await;
    // The token cannot be read from a descriptor either.
    let reads = "for descriptor in range(3, 256):
    try:
        os.set_blocking(descriptor, False)
        data = os.read(descriptor, 4096)
        assert not data, data
        os.write(descriptor, b'passed\\n')
    except OSError:
        pass
";
    not_passed(&format!("{SEARCH}{reads}")).await;
}

#[tokio::test]
async fn steering_the_harness_does_not_pass() {
    for attack in [
        // Exceptions that end an iteration in C loops.
        "raise StopIteration('passed')",
        "raise StopIteration",
        "raise IndexError",
        "raise GeneratorExit",
        // Skips lines of the frames below, if tracing allows it.
        "def skip(frame, event, argument):
    for line in range(frame.f_lineno + 1, frame.f_lineno + 64):
        try:
            frame.f_lineno = line
        except ValueError:
            pass
    return skip
for frame in frames()[2:]:
    frame.f_trace = skip
sys.settrace(skip)
raise AssertionError",
        // Writes names of the frames below, which Python 3.13 allows.
        "for frame in frames()[1:]:
    for name in list(frame.f_locals):
        try:
            frame.f_locals[name] = lambda *arguments, **more: None
        except Exception:
            pass",
        // Exhausts, rewinds and feeds iterators in use.
        "for thing in list(everything()):
    if type(thing).__name__ in ('map', 'filter', 'chain', 'tuple_iterator', 'list_iterator', 'bytes_iterator', 'generator'):
        for attempt in [lambda: thing.__setstate__(0), lambda: thing.__setstate__((iter([iter([1] * 64)]),)), lambda: next(thing)]:
            try:
                attempt()
            except BaseException:
                pass",
        // Replaces functions of the harness by ones that do nothing or report success.
        "for one in harness():
    try:
        if one.__name__ != 'main': one.__code__ = (lambda *arguments, **more: True).__code__
    except ValueError:
        pass  # it has variables of its function's",
    ] {
        not_passed(&format!("{SEARCH}{attack}")).await;
    }
}

#[tokio::test]
async fn pending_tests_cannot_be_replaced() {
    let attack = "for thing in list(everything()):
    if isinstance(thing, list):
        for at, one in enumerate(thing):
            if isinstance(one, tuple) and len(one) == 2 and isinstance(one[1], bool):
                thing[at] = ('pass', False)
            elif isinstance(one, (str, types.CodeType)) and 'never' in str(getattr(one, 'co_consts', one)):
                thing[at] = 'pass'
    elif type(thing).__name__ in ('map', 'chain', 'tuple_iterator', 'list_iterator'):
        try:
            next(thing)
        except BaseException:
            pass
";
    for sandbox in sandboxes().await {
        let program = planned(plan::Program::mbpp(&format!("{SEARCH}{attack}"), "assert 'passed' == 'never'"));
        let outcome = sandbox.run(&program).await;
        assert_eq!(outcome.to_string(), "failed: AssertionError", "{}", sandbox.isolation());
    }
}
