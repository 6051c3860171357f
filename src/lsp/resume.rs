//! Which tasks go on by themselves, and when (B2).
//!
//! Invariant: nothing goes on without an act of the user in a session that has lived for a while; never in a temporary
//! root, never in an editor that git opened for a message, never where the setting says no. Absent: what `resume` does.

use super::ground::Workplace;
use super::session::{Acts, Session};
use crate::desk::Dossier;
use crate::domain::task::action::{Action, Which};
use crate::domain::task::standing::TaskState;
use crate::domain::task::state::ProgressState;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// A session that ends sooner was opened for something else.
const LIVED: Duration = Duration::from_secs(20);

/// Lets the tasks go on that were running when their process ended. Called once the root is open, and each time that
/// this process has taken over; `begun` is when the session was.
pub async fn run(session: Arc<Session>, place: Arc<dyn Workplace>, begun: Instant) {
    let wanted = session.facts().and_then(|facts| facts.resume).unwrap_or(true);
    if !wanted || !place.resumes() || place.is_temporary() {
        return;
    }
    // Now, and not when the user acts: what they start themselves meanwhile is none of these.
    let desk = place.port().desks().borrow().clone();
    let left: Vec<_> = desk.tasks.iter().filter(|dossier| was_running(dossier)).map(|d| d.task.id.clone()).collect();
    if left.is_empty() {
        return;
    }
    sleep_until(begun + LIVED).await;
    let mut acts = session.acts();
    if acts.wait_for(|acts| counts(*acts)).await.is_err() {
        return;
    }
    for task in left {
        let still = session.desk().tasks.iter().any(|dossier| dossier.task.id == task && was_running(dossier));
        if still
            && let Err(refusal) = place.port().act(session.actor(), Action::Resume { task: Which::Task(task) }).await
        {
            tracing::info!(%refusal, "a task did not go on by itself");
        }
    }
}

pub(super) fn counts(acts: Acts) -> bool {
    acts.acted && (acts.for_work || !acts.for_git)
}

/// It had begun, and neither ended nor waits for anybody. `resume` changes nothing where somebody carries it on.
fn was_running(dossier: &Dossier) -> bool {
    let task = &dossier.task;
    let begun = task.steps.iter().any(|step| step.attempts > 0)
        || task.planning.state == ProgressState::Running
        || task.acceptance.state == ProgressState::Running;
    match dossier.state {
        TaskState::Planning | TaskState::Running | TaskState::Verifying | TaskState::Delayed { .. } => begun,
        TaskState::AwaitingApproval
        | TaskState::Paused
        | TaskState::Blocked { .. }
        | TaskState::AwaitingReview
        | TaskState::Done { .. }
        | TaskState::Failed { .. }
        | TaskState::Abandoned => false,
    }
}
