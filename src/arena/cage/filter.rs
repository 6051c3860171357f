//! The system calls that a caged command does not have.
//!
//! Invariant: everything is allowed but what stands here, because a command that meets an unknown refusal reports a
//! failure that is none of the code's; what stands here makes or enters namespaces, mounts, reaches kernel interfaces
//! that no build or test needs and that have been the way out of many a container, or writes to a terminal's input.
//! Calls of another instruction set kill. Absent: looking through pointers, which a filter cannot.

use super::wire::Fault;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Width, SeccompCmpOp as Op, SeccompCondition as Condition,
    SeccompFilter, SeccompRule as Rule, TargetArch, sock_filter,
};
use std::collections::BTreeMap;

/// Answered with `ENOSYS`: the C library and others then take an older way.
const UNKNOWN: &[libc::c_long] = &[
    // Its flags stand behind a pointer.
    libc::SYS_clone3,
    // Its work is done where no filter sees it.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Answered with `EPERM`.
const FORBIDDEN: &[libc::c_long] = &[
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
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_fanotify_init,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

const NAMESPACES: [libc::c_int; 8] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
    // `CLONE_NEWTIME`, which the C library's headers do not all have.
    0x80,
];

/// The families that a test talks to itself over. `AF_NETLINK` is allowed for `NETLINK_ROUTE` alone: the C library
/// asks it for the addresses of this machine.
const FAMILIES: [libc::c_int; 3] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6];

/// # Errors
/// The kernel has no filters, or the instruction set is not known.
pub(super) fn apply() -> Result<(), Fault> {
    for program in programs().map_err(Fault::at("a system call filter"))? {
        seccompiler::apply_filter(&program).map_err(Fault::at("a system call filter"))?;
    }
    Ok(())
}

fn programs() -> Result<Vec<BpfProgram>, seccompiler::Error> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let errno = |errno: libc::c_int| SeccompAction::Errno(u32::try_from(errno).unwrap_or(1));
    let compile =
        |rules: BTreeMap<i64, Vec<Rule>>, errno_value: libc::c_int| -> Result<BpfProgram, seccompiler::Error> {
            let filter = SeccompFilter::new(rules, SeccompAction::Allow, errno(errno_value), arch)?;
            Ok(BpfProgram::try_from(filter)?)
        };
    let unknown = UNKNOWN.iter().map(|call| (*call, Vec::new())).collect();
    let mut forbidden: BTreeMap<i64, Vec<Rule>> = FORBIDDEN.iter().map(|call| (*call, Vec::new())).collect();
    forbidden.insert(libc::SYS_unshare, namespaces()?);
    forbidden.insert(libc::SYS_clone, namespaces()?);
    // `TIOCSTI` types on a terminal, `TIOCLINUX` pastes to it, `TIOCSETD` changes what it is.
    let mut ioctls = Vec::new();
    for request in [0x5412_u64, 0x541c, 0x5423] {
        ioctls.push(Rule::new(vec![condition(1, Op::Eq, request)?])?);
    }
    forbidden.insert(libc::SYS_ioctl, ioctls);
    let mut others = vec![condition(0, Op::Ne, value(libc::AF_NETLINK))?];
    for family in FAMILIES {
        others.push(condition(0, Op::Ne, value(family))?);
    }
    let netlink = vec![condition(0, Op::Eq, value(libc::AF_NETLINK))?, condition(2, Op::Ne, 0)?];
    forbidden.insert(libc::SYS_socket, vec![Rule::new(others)?, Rule::new(netlink)?]);
    // A foreign number would be read as another call here, so what kills goes first.
    let mut programs = vec![compile(forbidden, libc::EPERM)?, compile(unknown, libc::ENOSYS)?];
    if cfg!(target_arch = "x86_64") {
        programs.push(no_x32());
    }
    Ok(programs)
}

fn namespaces() -> Result<Vec<Rule>, seccompiler::Error> {
    let rules = NAMESPACES.iter().map(|flag| {
        let flag = value(*flag);
        Ok(Rule::new(vec![condition(0, Op::MaskedEq(flag), flag)?])?)
    });
    rules.collect()
}

fn condition(argument: u8, op: Op, value: u64) -> Result<Condition, seccompiler::Error> {
    Ok(Condition::new(argument, Width::Dword, op, value)?)
}

fn value(flag: libc::c_int) -> u64 {
    u64::from(flag.cast_unsigned())
}

/// On a kernel with x32, each call has a second number with this bit, which no rule above would know.
fn no_x32() -> BpfProgram {
    const X32: u32 = 0x4000_0000;
    const ALLOW: u32 = 0x7fff_0000;
    const REFUSE: u32 = 0x0005_0000 | libc::ENOSYS.cast_unsigned();
    let (load, jump_if_at_least, answer) = (0x20, 0x35, 0x06);
    vec![
        sock_filter { code: load, jt: 0, jf: 0, k: 0 },
        sock_filter { code: jump_if_at_least, jt: 0, jf: 1, k: X32 },
        sock_filter { code: answer, jt: 0, jf: 0, k: REFUSE },
        sock_filter { code: answer, jt: 0, jf: 0, k: ALLOW },
    ]
}
