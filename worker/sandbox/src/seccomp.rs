//! The system calls that a program under test may not make: each answers "not implemented", so that C libraries take
//! their older ways. A list of what is refused, not of what is allowed: the walls are the namespaces or Landlock, and this
//! takes away what those leave open and what the kernel has often been attacked through.

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};
use std::collections::BTreeMap;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Refused whatever isolates the program. Unnumbered ones are newer than the C library's list of names.
const NEVER: &[i64] = &[
    // Other processes' memory and the kernel's own doors.
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
    // Memory that no limit counts.
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    libc::SYS_shmget,
    libc::SYS_msgget,
    libc::SYS_mq_open,
];

/// Refused as well where nothing but Landlock hides the host: it knows no sockets other than TCP's, no attributes of files,
/// and no other ways of touching a process of the same user than signals and tracing.
const WITHOUT_NAMESPACES: &[i64] = &[
    libc::SYS_socket,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_inotify_add_watch,
    libc::SYS_setpriority,
    libc::SYS_ioprio_set,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_semget,
    452, // fchmodat2
    463, // setxattrat
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

/// For a program within namespaces.
pub(crate) fn within_namespaces() -> Result<BpfProgram, BackendError> {
    let mut rules = never()?;
    // Virtual sockets, netlink and raw packets are no concern of a program's own network; vsock even leaves it.
    let family =
        |family: libc::c_int| argument(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family.unsigned_abs().into());
    let others = vec![family(libc::AF_UNIX)?, family(libc::AF_INET)?, family(libc::AF_INET6)?];
    rules.insert(libc::SYS_socket, vec![SeccompRule::new(others)?]);
    compile(rules)
}

/// For a single process under Landlock.
pub(crate) fn without_namespaces() -> Result<BpfProgram, BackendError> {
    let mut rules = never()?;
    rules.extend(WITHOUT_NAMESPACES.iter().chain(LEGACY_WITHOUT_NAMESPACES).map(|&call| (call, Vec::new())));
    // Threads, but no processes.
    let thread = libc::CLONE_THREAD.unsigned_abs().into();
    let no_thread = argument(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(thread), 0)?;
    rules.entry(libc::SYS_clone).or_default().push(SeccompRule::new(vec![no_thread])?);
    // Its own limits and placement only: the first argument names another process of the same user.
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
    // Typing into, or pasting from, a terminal.
    for request in [libc::TIOCSTI, libc::TIOCLINUX] {
        let same = argument(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, request)?;
        rules.entry(libc::SYS_ioctl).or_default().push(SeccompRule::new(vec![same])?);
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

/// On x86-64 a kernel may offer a second set of numbers (x32: bit 30, and 512 to 547 of its own) for the same calls.
fn with_second_abi(mut rules: Rules) -> Rules {
    if cfg!(target_arch = "x86_64") {
        const X32: i64 = 0x4000_0000;
        let refused: Vec<i64> = rules.keys().copied().collect();
        rules.extend(refused.into_iter().chain(512..=547).map(|call| (call | X32, Vec::new())));
    }
    rules
}

/// The bytes that `bwrap --seccomp` reads: the kernel's `struct sock_filter`s.
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
