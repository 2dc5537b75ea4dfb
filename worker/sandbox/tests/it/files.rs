//! Host files, mounts, links and secrets.

use super::support::{contained, program, sandbox, sandboxes};
use compass_sandbox::{Isolation, ProgramOutcome};
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[tokio::test]
async fn host_files_cannot_be_read_or_written() {
    contained(
        "for path in ['/etc/passwd', '/etc/shadow', '/etc/hostname', '/sys/kernel/notes', '/proc/1/mem', '/proc/kcore']:
    refused(lambda: open(path, 'rb').read(1))
try:
    assert set(os.listdir('/etc')) <= {'ld.so.cache'}
except OSError:
    pass
for path in ['/home', '/root', '/var', '/sys', '/mnt', '/opt', '/srv', '/proc/1/root/root']:
    refused(lambda: os.listdir(path))
for path in ['/x', '/usr/x', '/usr/lib/x', '/bin/x', '/etc/x', '/dev/x', '/proc/x', '/root/x', '/var/tmp/x']:
    refused(lambda: write(path))
for path in ['/usr/bin/python3', '/usr/bin/env', '/proc/sys/kernel/hostname', '/proc/sysrq-trigger', '/dev/mem', '/dev/sda']:
    refused(lambda: open(path, 'r+b').write(b'x'))
    refused(lambda: os.unlink(path))
    refused(lambda: os.chmod(path, 0o777))
    refused(lambda: os.utime(path))",
    )
    .await;
}

#[tokio::test]
async fn world_writable_host_file_stays_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let path = folder.path().join("canary");
    fs::write(&path, "alive").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let (path_text, folder_text) = (path.to_str().unwrap(), folder.path().to_str().unwrap());
    contained(&format!(
        "path, folder = {path_text:?}, {folder_text:?}
refused(lambda: open(path).read())
refused(lambda: write(path))
refused(lambda: os.truncate(path, 0))
refused(lambda: os.unlink(path))
refused(lambda: os.rename(path, path + '2'))
refused(lambda: os.listdir(folder))
refused(lambda: os.chmod(path, 0o000))
refused(lambda: write(folder + '/new'))
refused(lambda: os.setxattr(path, 'user.x', b'x'))
refused(lambda: open('/proc/1/root' + path).read())"
    ))
    .await;
    assert_eq!(fs::read_to_string(&path).unwrap(), "alive");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o666);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn links_do_not_lead_outside() {
    for sandbox in sandboxes().await {
        // Under Landlock links cannot be made at all.
        let source = if sandbox.isolation() == Isolation::Bubblewrap {
            "os.symlink('/etc/passwd', '/tmp/link')
refused(lambda: open('/tmp/link').read())
os.symlink('/usr/lib/x', '/tmp/out')
refused(lambda: write('/tmp/out'))
os.symlink('/tmp/../../../../var', '/tmp/up')
refused(lambda: os.listdir('/tmp/up'))
refused(lambda: os.link('/usr/bin/env', '/tmp/hard'))
refused(lambda: os.rename('/usr/bin/env', '/tmp/moved'))
refused(lambda: os.listdir('../../../../../../root'))"
        } else {
            "refused(lambda: os.symlink('/etc/passwd', '/tmp/compass-link'))
refused(lambda: os.link('/usr/bin/env', '/tmp/compass-hard'))
refused(lambda: os.listdir('../../../../../../root'))"
        };
        assert_eq!(sandbox.run(&program(source)).await, ProgramOutcome::Passed, "{}", sandbox.isolation());
    }
}

#[tokio::test]
async fn mounts_namespaces_and_chroot_are_rejected() {
    contained(
        "import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    if getattr(libc, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)
refused(lambda: call('mount', b'none', b'/tmp', b'tmpfs', 0, None))
refused(lambda: call('mount', b'proc', b'/proc', b'proc', 0, None))
refused(lambda: call('umount2', b'/usr', 2))
refused(lambda: call('chroot', b'/usr'))
refused(lambda: call('pivot_root', b'/usr', b'/usr'))
for flag in [0x10000000, 0x00020000, 0x20000000, 0x40000000, 0x10000000 | 0x00020000]:
    refused(lambda: call('unshare', flag))
    refused(lambda: call('setns', 0, flag))
refused(lambda: call('setuid', 0))
refused(lambda: call('setgid', 0))
refused(lambda: call('mknod', b'/tmp/disk', 0o60666, 0x800))
refused(lambda: call('sethostname', b'x', 1))
refused(lambda: call('ioperm', 0, 1, 1))
refused(lambda: call('memfd_create', b'x', 0))
refused(lambda: call('shmget', 0, 4096, 0o1600))
SYS_bpf, SYS_keyctl, SYS_userfaultfd, SYS_io_uring_setup, SYS_clone3 = 321, 250, 323, 425, 435
if os.uname().machine == 'x86_64':
    for number in [SYS_bpf, SYS_keyctl, SYS_userfaultfd, SYS_io_uring_setup, SYS_clone3]:
        refused(lambda: call('syscall', number, 0, 0, 0, 0))",
    )
    .await;
}

#[tokio::test]
async fn environment_has_no_secrets() {
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "a variable that programs must not see");
    contained(
        "assert set(os.environ) <= {'PATH', 'HOME', 'LANG', 'OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'PYTHONHASHSEED', \
         'PWD', 'LC_CTYPE'}, os.environ
def seen(pid):
    try:
        return open('/proc/%s/environ' % pid, 'rb').read() + open('/proc/%s/cmdline' % pid, 'rb').read()
    except OSError:
        return b''
for pid in ['self', os.getppid()] + list(range(1, 64)):
    assert b'CARGO' not in seen(pid), pid",
    )
    .await;
}

#[tokio::test]
async fn private_file_systems_are_small_and_temporary() {
    let Some(sandbox) = sandbox(Isolation::Bubblewrap).await else { return };
    let fill = "def fill(folder):
    written = 0
    try:
        for number in range(256):  # 256 MB if nothing held it
            with open('%s/fill-%d' % (folder, number), 'wb') as file:
                for _ in range(16):
                    file.write(bytes(65536)); written += 65536
    except OSError:
        return written
    raise AssertionError('%s takes %d bytes' % (folder, written))
for folder in ['/tmp', '/dev/shm']:
    assert 32 << 20 < fill(folder) <= 64 << 20
for folder in ['/', '/dev', '/usr', '/tmp/..', '/dev/pts']:
    refused(lambda: write(folder + '/fill'))
    refused(lambda: os.mkdir(folder + '/fill'))";
    assert_eq!(sandbox.run(&program(fill)).await, ProgramOutcome::Passed);
    let big = "with open('/tmp/big', 'wb') as file:\n    for _ in range(40): file.write(bytes(1 << 20))";
    let outcome = sandbox.run(&program(big)).await;
    assert_eq!(outcome.to_string(), "failed: OSError: [Errno 27] File too large");
    // Each program starts with an empty folder.
    assert_eq!(
        sandbox.run(&program("assert os.listdir('/tmp') == [] and os.getcwd() == '/tmp'")).await,
        ProgramOutcome::Passed
    );
}
