//! Unbounded memory, output and processes.

use super::support::{goes_on, patient, program, sandbox, sandboxes};
use compass_sandbox::{Isolation, Limits, ProgramOutcome};
use std::time::Duration;

#[tokio::test]
async fn memory_bomb_runs_out_of_memory() {
    for sandbox in sandboxes().await {
        for source in [
            "bytearray(2 << 30)",
            "kept = []\nfor _ in range(48): kept.append(bytearray(64 << 20))", // 3 GB without a limit
            "x = 'x' * (1 << 29)\ny = x + x + x",
        ] {
            let outcome = sandbox.run(&program(source)).await;
            assert_eq!(outcome, ProgramOutcome::Memory, "{}: {source}", sandbox.isolation());
        }
        let small = Limits { memory: 128 << 20, ..patient() };
        assert_eq!(sandbox.run(&program("bytearray(200 << 20)").within(small)).await, ProgramOutcome::Memory);
        goes_on(&sandbox).await;
    }
}

#[tokio::test]
async fn memory_limit_applies_to_all_processes_together() {
    let Some(sandbox) = sandbox(Isolation::Bubblewrap).await else { return };
    // 16 children of 40 MB each with a limit of 256 MB: each is small, together they exceed it.
    let source = "for _ in range(16):
    if os.fork() == 0:
        kept = bytearray(b'x') * (40 << 20)
        time.sleep(60)
        os._exit(0)
time.sleep(60)";
    let limits = Limits { memory: 256 << 20, ..patient() };
    assert_eq!(sandbox.run(&program(source).within(limits)).await, ProgramOutcome::TotalMemory { limit: 256 << 20 });
    goes_on(&sandbox).await;
}

/// Memory that no process shows as its own: shared pages outlive mappings that are empty or nearly gone.
#[tokio::test]
async fn uncounted_shared_memory_is_rejected() {
    let source = "import ctypes, mmap
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
size = 64 << 20
def hold(flags, descriptor, leave):
    for _ in range(6):  # 384 MB, where 128 are allowed
        at = libc.mmap(None, size, 3, flags, descriptor, 0)
        if at == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), 'mmap')
        for page in range(at, at + size, 4096):
            ctypes.c_char.from_address(page).value = b'x'
            if page % (1 << 20) == 0 and page > at:  # so that the watch never sees much
                libc.madvise(at, page - at, 4)
        leave(at)
    time.sleep(0.5)
emptied = lambda at: libc.madvise(at, size, 4)
# The pages stay as long as one of them is mapped.
nearly_gone = lambda at: libc.munmap(at + 4096, size - 4096)
";
    let limits = Limits { memory: 128 << 20, ..patient() };
    for sandbox in sandboxes().await {
        for attempt in [
            "hold(0x21, -1, nearly_gone)",
            "hold(0x21, -1, emptied)",
            "hold(0x1, os.open('/dev/zero', os.O_RDWR), nearly_gone)",
        ] {
            let outcome = sandbox.run(&program(&format!("{source}{attempt}")).within(limits)).await;
            let told = outcome.to_string();
            assert!(
                told.contains("OSError") || told.contains("Error: [Errno"),
                "{}: {attempt}: {told}",
                sandbox.isolation()
            );
        }
        let plain = sandbox.run(&program("import mmap\nmmap.mmap(-1, 4096)")).await;
        assert_eq!(
            plain.to_string(),
            "failed: OSError: [Errno 38] Function not implemented",
            "{}",
            sandbox.isolation()
        );
        goes_on(&sandbox).await;
    }
}

const FILL: &str = "import socket
def fill(sender):
    sender.setblocking(False)
    try:
        while True:
            sender.send(bytes(65536))
    except BlockingIOError:
        pass
";

#[tokio::test]
async fn memory_in_sockets_counts() {
    let Some(sandbox) = sandbox(Isolation::Bubblewrap).await else { return };
    // 8 children with 200 sockets each of about 200 KB: 300 MB with a limit of 128 MB.
    let held = "for _ in range(8):
    if os.fork() == 0:
        kept = [socket.socketpair() for _ in range(100)]
        for one, other in kept: fill(one); fill(other)
        time.sleep(60)
        os._exit(0)
time.sleep(60)";
    // Data of connections that were not accepted counts too, although no descriptor refers to it any longer.
    let waiting = "for child in range(4):
    if os.fork() == 0:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind('/tmp/%d' % child)
        listener.listen(4096)
        for _ in range(400):
            one = socket.socket(socket.AF_UNIX)
            one.connect('/tmp/%d' % child)
            fill(one)
            one.close()
        time.sleep(60)
        os._exit(0)
time.sleep(60)";
    let limits = Limits { memory: 128 << 20, ..patient() };
    for source in [held, waiting] {
        let outcome = sandbox.run(&program(&format!("{FILL}{source}")).within(limits)).await;
        assert_eq!(outcome, ProgramOutcome::TotalMemory { limit: 128 << 20 }, "{source}");
        assert_eq!(outcome.human_eval(), "failed: out of memory: all that it held together was more than 128 MiB");
    }
    goes_on(&sandbox).await;
}

#[tokio::test]
async fn sockets_cannot_exceed_their_assumed_size() {
    for sandbox in sandboxes().await {
        let larger = "import socket
a, b = socket.socketpair()
refused(lambda: a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22))
refused(lambda: a.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22))
# Letters in a box stay when those who sent them are gone.
for kind in [socket.SOCK_DGRAM, socket.SOCK_SEQPACKET]:
    refused(lambda: socket.socketpair(socket.AF_UNIX, kind))
    refused(lambda: socket.socket(socket.AF_UNIX, kind))
refused(lambda: os.openpty())";
        assert_eq!(sandbox.run(&program(larger)).await, ProgramOutcome::Passed, "{}", sandbox.isolation());
    }
}

#[tokio::test]
async fn empty_files_count() {
    let Some(sandbox) = sandbox(Isolation::Bubblewrap).await else { return };
    let source = "for folder in range(1000):
    os.mkdir('/tmp/%d' % folder)
    for file in range(1000): os.close(os.open('/tmp/%d/%d' % (folder, file), os.O_CREAT))
time.sleep(60)";
    let limits = Limits { memory: 128 << 20, ..patient() };
    let outcome = sandbox.run(&program(source).within(limits)).await;
    assert_eq!(outcome, ProgramOutcome::TotalMemory { limit: 128 << 20 });
    let attributes = "refused(lambda: os.setxattr('/tmp', 'user.x', b'x' * 60000))";
    assert_eq!(sandbox.run(&program(attributes)).await, ProgramOutcome::Passed);
}

#[tokio::test]
async fn common_libraries_work() {
    for sandbox in sandboxes().await {
        for source in [
            "import asyncio
async def add(a, b):
    await asyncio.sleep(0.01)
    return a + b
async def main():
    return await asyncio.gather(*[add(n, n) for n in range(10)])
loop = asyncio.new_event_loop()
assert loop.run_until_complete(main()) == [2 * n for n in range(10)]",
            "import concurrent.futures, threading, queue
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    assert list(pool.map(abs, [-1, 2, -3])) == [1, 2, 3]",
        ] {
            assert_eq!(
                sandbox.run(&program(source)).await,
                ProgramOutcome::Passed,
                "{}: {source}",
                sandbox.isolation()
            );
        }
    }
    let Some(sandbox) = sandbox(Isolation::Bubblewrap).await else { return };
    for source in [
        "import multiprocessing
context = multiprocessing.get_context('fork')
with context.Pool(3) as pool:
    assert pool.map(abs, [-1, 2, -3]) == [1, 2, 3]
one, other = context.Pipe()
one.send('hello')
assert other.recv() == 'hello'
shared = context.Array('i', 1000)
shared[999] = 7
queue = context.Queue()
def work():
    shared[0] = shared[999]
    queue.put('done')
child = context.Process(target=work)
child.start()
assert queue.get() == 'done'
child.join()
assert shared[0] == 7
with context.Manager() as manager:
    assert manager.dict(a=1)['a'] == 1",
        "from multiprocessing import shared_memory
block = shared_memory.SharedMemory(create=True, size=1 << 20)
block.buf[0] = 1
block.close()
block.unlink()",
        "import asyncio
async def main():
    process = await asyncio.create_subprocess_exec('/bin/echo', 'hello', stdout=asyncio.subprocess.PIPE)
    return (await process.communicate())[0]
assert asyncio.run(main()) == b'hello\\n'",
    ] {
        assert_eq!(sandbox.run(&program(source)).await, ProgramOutcome::Passed, "{source}");
    }
}

#[tokio::test]
async fn output_flood_is_stopped() {
    for sandbox in sandboxes().await {
        for source in [
            // 10 GB without a limit.
            "for _ in range(10 * 1024): print('x' * (1 << 20))",
            "for _ in range(10 * 1024): sys.stderr.write('x' * (1 << 20))",
            "for _ in range(10 * 1024): os.write(1, b'x' * (1 << 20))",
            "for _ in range(10 * 1024): os.write(2, b'x' * (1 << 20))",
        ] {
            let outcome = sandbox.run(&program(source)).await;
            assert_eq!(outcome, ProgramOutcome::OutputFlood, "{}: {source}", sandbox.isolation());
        }
        // Output within the limit is ignored.
        assert_eq!(sandbox.run(&program("for _ in range(100): print('x' * 10000)")).await, ProgramOutcome::Passed);
        goes_on(&sandbox).await;
    }
}

#[tokio::test]
async fn fork_bomb_stays_small() {
    // At most 200 processes without a limit, which end with the first one.
    let source = "contained()
started = 0
try:
    for _ in range(200):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        started += 1
except OSError:
    pass
assert started < 64, started";
    for sandbox in sandboxes().await {
        assert_eq!(sandbox.run(&program(source)).await, ProgramOutcome::Passed, "{}", sandbox.isolation());
        goes_on(&sandbox).await;
    }
}

#[tokio::test]
async fn thread_bomb_stays_small() {
    let source = "import threading
threading.stack_size(65536)
started = 0
try:
    for _ in range(2000):
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        started += 1
except RuntimeError:
    pass
assert started < 1000, started";
    for sandbox in sandboxes().await {
        assert_eq!(sandbox.run(&program(source)).await, ProgramOutcome::Passed, "{}", sandbox.isolation());
        goes_on(&sandbox).await;
    }
}

#[tokio::test]
async fn raising_limits_is_rejected() {
    let source = "import resource
for limit in [resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC]:
    try:
        resource.setrlimit(limit, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except (OSError, ValueError):
        continue
    raise AssertionError(limit)";
    for sandbox in sandboxes().await {
        assert_eq!(sandbox.run(&program(source)).await, ProgramOutcome::Passed, "{}", sandbox.isolation());
    }
}

#[tokio::test]
async fn concurrent_programs_do_not_starve_each_other() {
    let bomb = "for _ in range(100):\n    try:\n        if os.fork() == 0: time.sleep(3); os._exit(0)\n    except OSError: pass\ntime.sleep(1)";
    let honest = "import subprocess\nfor _ in range(5): assert subprocess.run(['/usr/bin/true']).returncode == 0";
    let Some(sandbox) = sandbox(Isolation::Bubblewrap).await else { return };
    let wide = Limits { wall: Duration::from_secs(60), ..Limits::default() };
    let programs = (0..8).map(|at| program(if at % 2 == 0 { bomb } else { honest }).within(wide)).collect();
    for outcome in sandbox.execute(programs).await {
        assert_eq!(outcome, ProgramOutcome::Passed);
    }
}
