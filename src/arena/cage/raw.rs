//! The three system calls that no crate of ours has a safe form of.
//!
//! Invariant: all `unsafe` of the program stands here. Each call passes only integers and pointers to values that live
//! until it returns, and the kernel writes to none of them. Absent: any decision.

use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::io;
use rustix::thread::UnshareFlags;

/// As `struct mount_attr` of `mount_setattr(2)`, version 0.
#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    user_ns: u64,
}

/// `MOUNT_ATTR_RDONLY`, `MOUNT_ATTR_NOSUID`, `MOUNT_ATTR_NODEV` of `linux/mount.h`.
pub(super) const READ_ONLY: u64 = 1;
pub(super) const NO_SUID: u64 = 2;
pub(super) const NO_DEVICES: u64 = 4;

/// Sets attributes on a mount and on all below it, in one call: there is no moment in which one is missed, and flags
/// that must not be cleared stay. Linux 5.12.
///
/// # Errors
/// As the kernel says.
pub(super) fn set_mount_attributes(tree: BorrowedFd<'_>, set: u64) -> io::Result<()> {
    let attributes = MountAttr { set, clear: 0, propagation: 0, user_ns: 0 };
    let flags = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    // SAFETY: the path is a literal that ends in NUL, the structure is alive, of the layout and of the size that are
    // told, and the kernel only reads it.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            size_of::<MountAttr>(),
        )
    };
    told(done)
}

/// Marks every descriptor above the three streams as closed on exec. Linux 5.11.
///
/// # Errors
/// As the kernel says.
pub(super) fn close_on_exec() -> io::Result<()> {
    // SAFETY: integers only. No descriptor is closed, so none that is owned elsewhere in the process becomes invalid.
    let done = unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    told(done)
}

/// Leaves namespaces. Never the table of descriptors, which is what makes the call unsafe.
///
/// # Errors
/// As the kernel says.
pub(super) fn leave(namespaces: UnshareFlags) -> io::Result<()> {
    let namespaces = namespaces.difference(UnshareFlags::FILES);
    // SAFETY: without `FILES` no thread can come to see another table of descriptors.
    unsafe { rustix::thread::unshare_unsafe(namespaces) }
}

fn told(done: libc::c_long) -> io::Result<()> {
    if done == 0 {
        return Ok(());
    }
    Err(io::Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(io::Errno::IO))
}
