//! Memory, output and processes without end.

use super::support::{goes_on, patient, program, sandbox, sandboxes};
use compass_sandbox::{Isolation, Limits, Verdict};
use std::time::Duration;

#[tokio::test]
async fn a_memory_bomb_is_told_so() {
    for sandbox in sandboxes().await {
        for source in [
            "bytearray(2 << 30)",
            "kept = []\nfor _ in range(48): kept.append(bytearray(64 << 20))", // 3 GB if nothing held it
            "x = 'x' * (1 << 29)\ny = x + x + x",
        ] {
            let verdict = sandbox.run(&program(source)).await;
            assert_eq!(verdict, Verdict::Memory, "{}: {source}", sandbox.isolation());
        }
        let small = Limits { memory: 128 << 20, ..patient() };
        assert_eq!(sandbox.run(&program("bytearray(200 << 20)").within(small)).await, Verdict::Memory);
        goes_on(&sandbox).await;
    }
}

#[tokio::test]
async fn many_processes_together_have_no_more_memory_than_one() {
    let Some(sandbox) = sandbox(Isolation::Bubblewrap).await else { return };
    // 16 children of 40 MB each, within an allowance of 256 MB: each is small, together they are not.
    let source = "for _ in range(16):
    if os.fork() == 0:
        kept = bytearray(b'x') * (40 << 20)
        time.sleep(60)
        os._exit(0)
time.sleep(60)";
    let limits = Limits { memory: 256 << 20, ..patient() };
    assert_eq!(sandbox.run(&program(source).within(limits)).await, Verdict::Memory);
    goes_on(&sandbox).await;
}

#[tokio::test]
async fn an_output_flood_is_stopped() {
    for sandbox in sandboxes().await {
        for source in [
            // 10 GB if nothing stopped it.
            "for _ in range(10 * 1024): print('x' * (1 << 20))",
            "for _ in range(10 * 1024): sys.stderr.write('x' * (1 << 20))",
            "for _ in range(10 * 1024): os.write(1, b'x' * (1 << 20))",
            "for _ in range(10 * 1024): os.write(2, b'x' * (1 << 20))",
        ] {
            let verdict = sandbox.run(&program(source)).await;
            assert_eq!(verdict, Verdict::OutputFlood, "{}: {source}", sandbox.isolation());
        }
        // Within the bound output is nobody's business.
        assert_eq!(sandbox.run(&program("for _ in range(100): print('x' * 10000)")).await, Verdict::Passed);
        goes_on(&sandbox).await;
    }
}

#[tokio::test]
async fn a_fork_bomb_stays_small() {
    // At most 200 processes of two seconds each if nothing held it.
    let source = "contained()
started = 0
try:
    for _ in range(200):
        if os.fork() == 0:
            time.sleep(2)
            os._exit(0)
        started += 1
except OSError:
    pass
assert started < 64, started";
    for sandbox in sandboxes().await {
        assert_eq!(sandbox.run(&program(source)).await, Verdict::Passed, "{}", sandbox.isolation());
        goes_on(&sandbox).await;
    }
}

#[tokio::test]
async fn a_thread_bomb_stays_small() {
    let source = "import threading
threading.stack_size(65536)
started = 0
try:
    for _ in range(2000):
        threading.Thread(target=time.sleep, args=(2,), daemon=True).start()
        started += 1
except RuntimeError:
    pass
assert started < 1000, started";
    for sandbox in sandboxes().await {
        assert_eq!(sandbox.run(&program(source)).await, Verdict::Passed, "{}", sandbox.isolation());
        goes_on(&sandbox).await;
    }
}

#[tokio::test]
async fn raising_limits_is_refused() {
    let source = "import resource
for limit in [resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC]:
    try:
        resource.setrlimit(limit, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except (OSError, ValueError):
        continue
    raise AssertionError(limit)";
    for sandbox in sandboxes().await {
        assert_eq!(sandbox.run(&program(source)).await, Verdict::Passed, "{}", sandbox.isolation());
    }
}

#[tokio::test]
async fn programs_side_by_side_do_not_starve_each_other() {
    let bomb = "for _ in range(100):\n    try:\n        if os.fork() == 0: time.sleep(3); os._exit(0)\n    except OSError: pass\ntime.sleep(1)";
    let honest = "import subprocess\nfor _ in range(5): assert subprocess.run(['/usr/bin/true']).returncode == 0";
    let Some(sandbox) = sandbox(Isolation::Bubblewrap).await else { return };
    let wide = Limits { wall: Duration::from_secs(60), ..Limits::default() };
    let programs = (0..8).map(|at| program(if at % 2 == 0 { bomb } else { honest }).within(wide)).collect();
    for verdict in sandbox.execute(programs).await {
        assert_eq!(verdict, Verdict::Passed);
    }
}
