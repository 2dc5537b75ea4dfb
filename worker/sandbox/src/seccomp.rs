//! System calls that a program under test may not make: each fails with "not implemented", so that C libraries fall
//! back to older ones. A deny list: the isolation comes from namespaces or Landlock, and the filter closes what those
//! leave open and what attacks on the kernel often use.

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};
use std::collections::BTreeMap;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Rejected under every isolation. Numeric entries are newer than the C library's list of names.
const NEVER: &[i64] = &[
    // Memory of other processes, and interfaces to the kernel itself.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_vhangup,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    // Mounts and namespaces. `clone3` hides its flags in memory: without it the C library takes `clone`.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_clone3,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    // Memory that no limit counts. A pipe keeps whole pages given to it, even huge ones; extended attributes of files
    // in memory have no limit of their own.
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    libc::SYS_shmget,
    libc::SYS_semget,
    libc::SYS_msgget,
    libc::SYS_mq_open,
    libc::SYS_io_setup,
    libc::SYS_vmsplice,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    463, // setxattrat
];

/// Rejected as well under Landlock alone, which knows no sockets other than TCP's, no extended attributes, and no
/// access to processes of the same user other than signals and tracing.
const WITHOUT_NAMESPACES: &[i64] = &[
    libc::SYS_socket,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_inotify_add_watch,
    libc::SYS_setpriority,
    libc::SYS_ioprio_set,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    452, // fchmodat2
    466, // removexattrat
    469, // file_setattr
];

#[cfg(target_arch = "x86_64")]
const LEGACY_NEVER: &[i64] = &[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_kexec_file_load, libc::SYS_uselib];
#[cfg(not(target_arch = "x86_64"))]
const LEGACY_NEVER: &[i64] = &[];

#[cfg(target_arch = "x86_64")]
const LEGACY_WITHOUT_NAMESPACES: &[i64] = &[
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const LEGACY_WITHOUT_NAMESPACES: &[i64] = &[];

/// Filter for a program inside namespaces.
pub(crate) fn within_namespaces() -> Result<BpfProgram, BackendError> {
    let mut rules = never()?;
    // Memory of TCP and UDP belongs to the whole machine, across namespaces, and no control group divides it.
    let unix = libc::AF_UNIX.unsigned_abs().into();
    let others = SeccompRule::new(vec![argument(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, unix)?])?;
    rules.entry(libc::SYS_socket).or_default().push(others);
    compile(rules)
}

/// Filter for a single process under Landlock.
pub(crate) fn without_namespaces() -> Result<BpfProgram, BackendError> {
    let mut rules = never()?;
    rules.extend(WITHOUT_NAMESPACES.iter().chain(LEGACY_WITHOUT_NAMESPACES).map(|&call| (call, Vec::new())));
    // Threads are allowed, processes are not.
    let thread = libc::CLONE_THREAD.unsigned_abs().into();
    let no_thread = argument(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(thread), 0)?;
    rules.entry(libc::SYS_clone).or_default().push(SeccompRule::new(vec![no_thread])?);
    // Only its own limits and scheduling: the first argument names another process of the same user.
    for call in [libc::SYS_prlimit64, libc::SYS_sched_setaffinity, libc::SYS_sched_setscheduler] {
        rules.insert(call, vec![SeccompRule::new(vec![argument(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0)?])?]);
    }
    for call in [libc::SYS_sched_setparam, libc::SYS_sched_setattr] {
        rules.insert(call, vec![SeccompRule::new(vec![argument(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0)?])?]);
    }
    compile(rules)
}

fn never() -> Result<Rules, BackendError> {
    let mut rules: Rules = NEVER.iter().chain(LEGACY_NEVER).map(|&call| (call, Vec::new())).collect();
    let spaces = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP;
    for space in (0..32).map(|bit| 1u64 << bit).filter(|bit| u64::from(spaces.cast_unsigned()) & bit != 0) {
        let wanted = argument(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(space), space)?;
        rules.entry(libc::SYS_clone).or_default().push(SeccompRule::new(vec![wanted])?);
    }
    // Typing into a terminal, or pasting from it.
    for request in [libc::TIOCSTI, libc::TIOCLINUX] {
        let same = argument(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, request)?;
        rules.entry(libc::SYS_ioctl).or_default().push(SeccompRule::new(vec![same])?);
    }
    rules.extend(uncounted()?);
    Ok(rules)
}

/// Calls whose arguments allocate memory that cannot be counted from outside.
fn uncounted() -> Result<Rules, BackendError> {
    let mut rules = Rules::new();
    // Shared pages without a file outlive all their mappings but one. Files in `/dev/shm` serve the same purpose.
    let kind = u64::from((libc::MAP_TYPE | libc::MAP_ANONYMOUS).unsigned_abs());
    let shared = u64::from((libc::MAP_SHARED | libc::MAP_ANONYMOUS).unsigned_abs());
    let shared = argument(3, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(kind), shared)?;
    rules.entry(libc::SYS_mmap).or_default().push(SeccompRule::new(vec![shared])?);
    // Streams only: unread datagrams stay with the receiver after their senders have closed and ended.
    const KINDS: u64 = 0xf;
    for other in (0..=KINDS).filter(|&kind| kind != u64::from(libc::SOCK_STREAM.unsigned_abs())) {
        for call in [libc::SYS_socket, libc::SYS_socketpair] {
            let same = argument(1, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(KINDS), other)?;
            rules.entry(call).or_default().push(SeccompRule::new(vec![same])?);
        }
    }
    // Socket buffers keep their size, by which a socket is counted.
    for option in [libc::SO_SNDBUF, libc::SO_RCVBUF, libc::SO_ATTACH_FILTER, libc::SO_ATTACH_REUSEPORT_CBPF] {
        let equal = |at, value: libc::c_int| {
            argument(at, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value.unsigned_abs().into())
        };
        let same = vec![equal(1, libc::SOL_SOCKET)?, equal(2, option)?];
        rules.entry(libc::SYS_setsockopt).or_default().push(SeccompRule::new(same)?);
    }
    Ok(rules)
}

fn argument(
    index: u8,
    length: SeccompCmpArgLen,
    comparison: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(index, length, comparison, value)
}

fn compile(rules: Rules) -> Result<BpfProgram, BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let refused = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    SeccompFilter::new(with_second_abi(rules), SeccompAction::Allow, refused, arch)?.try_into()
}

/// Adds the second set of numbers for the same calls that an x86-64 kernel may offer (x32: bit 30, and 512 to 547).
fn with_second_abi(mut rules: Rules) -> Rules {
    if cfg!(target_arch = "x86_64") {
        const X32: i64 = 0x4000_0000;
        let refused: Vec<i64> = rules.keys().copied().collect();
        rules.extend(refused.into_iter().chain(512..=547).map(|call| (call | X32, Vec::new())));
    }
    rules
}

/// Returns the bytes that `bwrap --seccomp` reads: the kernel's `struct sock_filter`s.
pub(crate) fn bytes(program: &BpfProgram) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(program.len() * 8);
    for instruction in program {
        bytes.extend(instruction.code.to_ne_bytes());
        bytes.extend([instruction.jt, instruction.jf]);
        bytes.extend(instruction.k.to_ne_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_compile_and_fit_into_a_pipe() {
        for filter in [within_namespaces().unwrap(), without_namespaces().unwrap()] {
            let length = bytes(&filter).len();
            assert_eq!(length, filter.len() * 8);
            assert!(length < 65536, "{length} bytes would block the writer");
        }
    }
}
