//! Giving up: limits, capabilities, privileges by exec, system calls.
//!
//! Invariant: what is given up here cannot be had again by any process that is started afterwards. The order matters:
//! a filter goes last, because it forbids what the steps before it do. Absent: mounts.

use super::CageLimits;
use super::filter;
use super::wire::Fault;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs,
};

/// # Errors
/// The system refused a step.
pub(super) fn give_up(limits: &CageLimits) -> Result<(), Fault> {
    for (resource, most) in [
        // A second more before the signal that cannot be caught.
        (Resource::Cpu, limits.cpu),
        (Resource::Nofile, limits.files),
        (Resource::Fsize, limits.file_size),
        // The tree's watcher ends a command at its limit and says so; this is for the moment until it looks.
        (Resource::Nproc, limits.processes.saturating_add(300)),
        // Not 0: the kernel would still hand what is left of a crash to a collector outside. It does not for 1.
        (Resource::Core, 1),
    ] {
        let hard = if resource == Resource::Cpu { most.saturating_add(1) } else { most };
        let old = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let new = Rlimit { current: Some(most.min(old)), maximum: Some(hard.min(old)) };
        setrlimit(resource, new).map_err(Fault::at("limits of resources"))?;
    }
    let refused = || Fault::at::<rustix::io::Errno>("capabilities");
    clear_ambient_capability_set().map_err(refused())?;
    for bit in 0..64 {
        let one = CapabilitySet::from_bits_retain(1 << bit);
        match remove_capability_from_bounding_set(one) {
            Ok(()) => {}
            // The kernel has fewer.
            Err(rustix::io::Errno::INVAL) => break,
            Err(error) => return Err(refused()(error)),
        }
    }
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none }).map_err(refused())?;
    set_no_new_privs(true).map_err(Fault::at("no new privileges"))?;
    filter::apply()
}
