//! Signals, tracing, surviving children, and every kind of end.

use super::support::{contained, goes_on, patient, processes_with, program, sandbox, sandboxes};
use compass_sandbox::{Isolation, Limits, ProgramOutcome};
use std::time::Duration;

#[tokio::test]
async fn other_processes_cannot_be_reached() {
    let own = std::process::id();
    contained(&format!(
        "contained()
import signal, resource, ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    if getattr(libc, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)
if {own} > 64:
    refused(lambda: os.kill({own}, 0))
    refused(lambda: os.kill({own}, signal.SIGCONT))
    refused(lambda: resource.prlimit({own}, resource.RLIMIT_CPU, (1, 1)))
    refused(lambda: os.sched_setaffinity({own}, {{0}}))
    refused(lambda: os.setpriority(os.PRIO_PROCESS, {own}, 19))
    refused(lambda: open('/proc/{own}/mem', 'rb').read(1))
    refused(lambda: call('ptrace', 16, {own}, 0, 0))
# Nor is the first process of its own namespaces, which no filter holds.
for pid in [1, 2, os.getppid(), 'self', 'thread-self']:
    for name in ['mem', 'maps', 'environ', 'fd', 'root', 'task']:
        refused(lambda: os.open('/proc/%s/%s' % (pid, name), os.O_RDONLY))
refused(lambda: os.listdir('/proc'))
refused(lambda: call('ptrace', 0, 0, 0, 0))
refused(lambda: call('ptrace', 16, os.getppid(), 0, 0))
refused(lambda: call('process_vm_readv', os.getppid(), 0, 0, 0, 0, 0))"
    ))
    .await;
}

#[tokio::test]
async fn killing_all_processes_kills_only_its_own() {
    for sandbox in sandboxes().await {
        for attack in ["os.kill(-1, 9)", "os.kill(os.getppid(), 9)", "os.killpg(0, 9)", "os.kill(0, 9)"] {
            let source = format!("contained()\ntry:\n    {attack}\nexcept OSError: pass\ntime.sleep(0.2)");
            let outcome = sandbox.run(&program(&source)).await;
            let harmless = matches!(outcome, ProgramOutcome::Passed | ProgramOutcome::Killed { signal: 9 });
            assert!(harmless, "{}: {attack}: {outcome}", sandbox.isolation());
            goes_on(&sandbox).await;
        }
    }
}

#[tokio::test]
async fn each_kind_of_end_has_its_outcome() {
    for sandbox in sandboxes().await {
        let killed = |signal| ProgramOutcome::Killed { signal };
        for (source, expected) in [
            ("import os\nos.abort()", killed(6)),
            ("import ctypes\nctypes.string_at(0)", killed(11)),
            ("import os\nos.kill(os.getpid(), 9)", killed(9)),
            ("import os\nos.kill(os.getpid(), 15)", killed(15)),
            (
                "import sys\nsys.setrecursionlimit(10**9)\nclass A:\n    def __getattr__(self, n):\n        return getattr(self, n)\nA().x",
                killed(11),
            ),
        ] {
            assert_eq!(sandbox.run(&program(source)).await, expected, "{}: {source}", sandbox.isolation());
        }
        let deep = sandbox.run(&program("def f():\n    f()\nf()")).await;
        assert!(deep.to_string().starts_with("failed: RecursionError"), "{deep}");
        goes_on(&sandbox).await;
    }
}

#[tokio::test]
async fn endless_program_times_out() {
    let quick = Limits { wall: Duration::from_millis(500), ..Limits::default() };
    for sandbox in sandboxes().await {
        for source in [
            "while True: pass",
            "time.sleep(3600)",
            "while True:\n    try:\n        time.sleep(3600)\n    except BaseException:\n        pass",
            "import signal\nos.kill(os.getpid(), signal.SIGSTOP)",
            "import signal\nfor s in range(1, 32):\n    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nwhile True: pass",
            "import threading\nthreading.Thread(target=lambda: time.sleep(3600)).start()\nwhile True: pass",
            "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E()",
            "import atexit\nos.closerange(3, 256)\nwhile True: pass",
        ] {
            let outcome = sandbox.run(&program(source).within(quick)).await;
            assert_eq!(outcome, ProgramOutcome::Timeout, "{}: {source}", sandbox.isolation());
        }
        goes_on(&sandbox).await;
    }
}

#[tokio::test]
async fn ignored_cpu_limit_still_ends_the_program() {
    // The soft limit's signal is ignored; the hard limit or the wall time ends the program.
    let source = "import resource, signal
signal.signal(signal.SIGXCPU, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
while True: pass";
    for sandbox in sandboxes().await {
        let outcome = sandbox.run(&program(source)).await;
        assert_eq!(outcome, ProgramOutcome::Killed { signal: 9 }, "{}", sandbox.isolation());
        let default = source.replace("signal.signal(signal.SIGXCPU, signal.SIG_IGN)\n", "").replace("(1, 1)", "(1, 9)");
        assert_eq!(sandbox.run(&program(&default)).await, ProgramOutcome::Timeout, "{}", sandbox.isolation());
    }
}

#[tokio::test]
async fn children_do_not_outlive_their_program() {
    let mark = format!("31536.{}", std::process::id());
    // Forked twice, in its own session, ignoring all signals it can, with no descriptor of its parent.
    let daemon = |then: &str| {
        format!(
            "import signal
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 256)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.execv('/usr/bin/sleep', ['sleep', '{mark}'])
    os._exit(0)
os.wait()
{then}"
        )
    };
    let quick = Limits { wall: Duration::from_secs(2), ..Limits::default() };
    if let Some(sandbox) = sandbox(Isolation::Bubblewrap).await {
        assert_eq!(sandbox.run(&program(&daemon(""))).await, ProgramOutcome::Passed);
        assert_eq!(processes_with(&mark), 0, "after a pass");
        assert!(matches!(sandbox.run(&program(&daemon("os._exit(0)"))).await, ProgramOutcome::Failed { .. }));
        assert_eq!(processes_with(&mark), 0, "after an early exit");
        assert_eq!(sandbox.run(&program(&daemon("time.sleep(60)")).within(quick)).await, ProgramOutcome::Timeout);
        assert_eq!(processes_with(&mark), 0, "after a timeout");
        // A child that returns into the tests does not report for its parent.
        let back = sandbox.run(&program("if os.fork() != 0:\n    os.wait()\n    assert False")).await;
        assert_eq!(back.to_string(), "failed: AssertionError");
    }
    if let Some(sandbox) = sandbox(Isolation::Landlock).await {
        let outcome = sandbox.run(&program(&daemon(""))).await;
        assert!(outcome.to_string().starts_with("failed: OSError: [Errno 38]"), "{outcome}");
        let others = "import subprocess\nrefused(lambda: subprocess.run(['/usr/bin/true']))\nrefused(os.forkpty)";
        assert_eq!(sandbox.run(&program(others)).await, ProgramOutcome::Passed);
        assert_eq!(processes_with(&mark), 0);
    }
}

#[tokio::test]
async fn dropped_run_leaves_no_process() {
    let mark = format!("31537.{}", std::process::id());
    for sandbox in sandboxes().await {
        let source = format!("os.execv('/usr/bin/sleep', ['sleep', '{mark}'])");
        let (running, long) = (sandbox.clone(), program(&source).within(patient()));
        let task = tokio::spawn(async move { running.run(&long).await });
        until(|| processes_with(&mark) > 0, "it runs").await;
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        until(|| processes_with(&mark) == 0, "it has ended").await;
        goes_on(&sandbox).await;
    }
}

async fn until(holds: impl Fn() -> bool, what: &str) {
    for _ in 0..6000 {
        if holds() {
            return;
        }
        #[expect(clippy::disallowed_methods, reason = "polls /proc; what it waits for is a process")]
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("waited a minute for: {what}");
}
