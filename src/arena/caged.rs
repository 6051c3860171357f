//! Rung 1 as an arena: a task's view, and a cage around each command in it.
//!
//! Invariant: a command of a view runs in a cage or not at all; there is no way from here back to the copy. The task's
//! folder is held until nothing of the command is alive, also if whoever waited for it is gone. An approved outside
//! effect and a formatter run as at rung 0: the one is meant for the world, the other is the user's own setting and
//! gets a text.
//! Absent: what lies in the view, and how a cage is made.

use super::cage::{self, Bound, Cage, CageLimits, Caged, End, Ending, Fault, Network, Rung1};
use super::environment::scrubbed;
use super::output::is_cut;
use super::run::given;
use super::shorten::shortened;
use super::sources::{Links, Sources};
use super::view::{Caps, Ready, TaskView, clear};
use super::{CopyArena, Limits, blocking};
use crate::domain::change::Entry;
use crate::domain::ids::{ContentHash, WorkspacePath};
use crate::domain::task::facts::{Ended, RunOutcome, Rung};
use crate::ports::{Arena, ArenaFault, Deltas, Fut, RunOrder, Stage};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Rung 1.
pub struct CagedArena {
    below: CopyArena,
    rung: Rung1,
    sources: Arc<Sources>,
    /// Empty inside.
    hidden: Vec<PathBuf>,
}

impl CagedArena {
    /// What `below` is for at rung 0, with a cage around each command of a view. `own` are folders of ours that no
    /// command may see. Tasks' folders that have not been used for long are cleared away on the way.
    pub fn new(below: CopyArena, rung: Rung1, own: &[&Path]) -> Self {
        let sources = Arc::new(Sources::new(below.root.clone(), Links::Kept));
        let mut hidden = cage::secrets(std::env::vars_os());
        hidden.extend(own.iter().map(|path| path.to_path_buf()));
        hidden.push(below.cache.clone());
        // A command of root's could leave a program there that makes others root.
        let _ = std::fs::set_permissions(&below.cache, std::fs::Permissions::from_mode(0o700));
        let cache = below.cache.clone();
        std::thread::spawn(move || clear(&cache, Caps::default()));
        Self { below, rung, sources, hidden }
    }

    async fn run_in_cage(
        &self,
        order: &RunOrder,
        overlay: Vec<(WorkspacePath, Entry)>,
        output: Deltas,
    ) -> Result<RunOutcome, ArenaFault> {
        let (cache, task, sources) = (self.below.cache.clone(), order.task.clone(), self.sources.clone());
        let (view, ready) = blocking(move || {
            let mut view = TaskView::open(&cache, &task, Caps::default())?;
            let ready = view.prepare(&sources, &overlay)?;
            Ok::<_, String>((view, ready))
        })
        .await?
        .map_err(ArenaFault::View)?;
        let cage = self.cage(order, &ready)?;
        let view = Arc::new(Mutex::new(view));
        let ran = cage::run(self.rung.wrapper(), &cage, self.below.limits.output, output, view.clone()).await;
        let Caged { ending, output: mut text, bytes, millis } = ran.map_err(|fault| match fault {
            Fault::NoProgram(program) => ArenaFault::NoProgram(program),
            fault @ Fault::Refused { .. } => ArenaFault::Start(format!(
                "it could not be isolated: {fault}; `planwright doctor` tries it again, and with `isolation = false` \
                 commands run in a copy, each after a gate"
            )),
        })?;
        // Whoever reads a message wants the path in the workspace.
        text = shortened(&text, &self.below.root, order.command.dir.as_deref(), &self.below.root);
        let root = self.below.root.clone();
        let keeps = order.keeps;
        let ended = move || view.lock().unwrap_or_else(PoisonError::into_inner).ended(&root, keeps);
        let wrote = blocking(ended).await?;
        for note in ready.notes.iter().chain(&wrote.notes) {
            text.push_str(&format!("\n[planwright: {note}]"));
        }
        let ended = of_ending(ending);
        let (view, wrote) = (ready.hash, wrote.entries);
        let cut = is_cut(bytes);
        Ok(RunOutcome { ended, output: text, bytes, cut, millis, rung: Rung::Cage, view, wrote })
    }

    fn cage(&self, order: &RunOrder, ready: &Ready) -> Result<Cage, ArenaFault> {
        let root = &self.below.root;
        let directory = match order.command.dir.as_deref().filter(|dir| !matches!(*dir, "" | "." | "./")) {
            None => root.clone(),
            Some(dir) => {
                let path = WorkspacePath::new(dir);
                root.join(path.map_err(|problem| ArenaFault::View(format!("`in {dir}`: {problem}")))?.as_str())
            }
        };
        let mut env = scrubbed(std::env::vars_os(), root, root);
        given(order, &mut env);
        // Last: what a plan names lies where nothing can be written, or where the user's own builds do.
        env.insert("TMPDIR".into(), "/tmp".into());
        env.extend(ready.env.iter().cloned());
        Ok(Cage {
            root: root.clone(),
            layers: vec![ready.layer.clone()],
            upper: ready.upper.clone(),
            work: ready.work.clone(),
            bound: ready.bound.iter().map(|(from, at)| Bound { from: from.clone(), at: at.clone() }).collect(),
            hidden: self.hidden.clone(),
            network: Network::Loopback,
            directory,
            argv: order.command.argv.iter().map(Into::into).collect(),
            env: env.into_iter().collect(),
            limits: limits(order, self.below.limits),
        })
    }
}

/// Wide enough for any honest build of this machine's size; a bomb meets them all the same.
fn limits(order: &RunOrder, limits: Limits) -> CageLimits {
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    CageLimits {
        cpu: order.timeout.as_secs().max(1).saturating_mul(processors),
        memory: memory(&std::fs::read_to_string("/proc/meminfo").unwrap_or_default(), limits.parallel),
        processes: 4096,
        files: 65_536,
        file_size: 16 << 30,
        disk: 32 << 30,
        wall: order.timeout,
        grace: limits.grace,
    }
}

/// Its part of three quarters of the machine's, at least 2 GB.
fn memory(table: &str, parallel: u64) -> u64 {
    let total = table.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes = total.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    (kilobytes.unwrap_or(0).saturating_mul(1024) / 4 * 3 / parallel.max(1)).max(2 << 30)
}

fn of_ending(ending: Ending) -> Ended {
    match ending {
        Ending::Output => Ended::OutputLimit,
        Ending::Told(End::Exit(code)) => Ended::Exit(code),
        Ending::Told(End::Signal(signal)) => Ended::Signal(signal),
        Ending::Told(End::Timeout) => Ended::Timeout,
        Ending::Told(End::Memory) => Ended::MemoryLimit,
        Ending::Told(End::Processes) => Ended::ProcessLimit,
        Ending::Told(End::Disk) => Ended::DiskLimit,
        Ending::Told(End::Cpu) => Ended::CpuLimit,
    }
}

impl Arena for CagedArena {
    fn rung(&self) -> Rung {
        Rung::Cage
    }

    fn run(&self, order: RunOrder, output: Deltas) -> Fut<'_, Result<RunOutcome, ArenaFault>> {
        Box::pin(async move {
            match order.stage.clone() {
                Stage::View(overlay) => self.run_in_cage(&order, overlay, output).await,
                Stage::Workspace => self.below.run(order, output).await,
            }
        })
    }

    fn format<'a>(&'a self, path: &'a WorkspacePath, text: &'a str) -> Fut<'a, Option<String>> {
        self.below.format(path, text)
    }

    fn view(&self, overlay: Vec<(WorkspacePath, Entry)>) -> Fut<'_, Result<ContentHash, ArenaFault>> {
        Box::pin(async move {
            let sources = self.sources.clone();
            let inputs = blocking(move || sources.scan(&overlay)).await?.map_err(ArenaFault::View)?;
            Ok(inputs.hash())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_run_at_once_share_the_memory() {
        let gigabytes = |total: u64, parallel| memory(&format!("MemTotal:  {} kB\n", total << 20), parallel) >> 30;
        assert_eq!([gigabytes(32, 1), gigabytes(32, 2), gigabytes(32, 0), gigabytes(4, 3)], [24, 12, 24, 2]);
    }
}
