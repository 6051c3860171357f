//! An `ask` step: a person decides. Waiting holds nothing but the gate's row (B7).
//!
//! Invariant: the answer is a person's, and comes through the gate alone. Absent: deadlines; for people there are none.

use crate::domain::plan::Step;
use crate::domain::task::action::GateAnswer;
use crate::domain::task::event::{Ask, Cause, Outcome};
use crate::engine::work::{Halt, Run};

/// Asks, and ends with the answer.
pub(super) async fn run(run: &mut Run, step: &Step, who: &str) -> Result<Outcome, Halt> {
    let question = if step.instruction.is_empty() {
        step.title.clone()
    } else {
        format!("{}\n\n{}", step.title, step.instruction)
    };
    let (answer, comment) = run.gate(Ask::Person { question, who: who.to_owned() }).await?;
    let said = comment.unwrap_or_default();
    Ok(match answer {
        GateAnswer::Allow | GateAnswer::AllowForPlan | GateAnswer::Happened => {
            Outcome::Done { verified: true, summary: run.payload(said).await? }
        }
        GateAnswer::Deny => Outcome::Blocked {
            cause: Cause::Policy,
            message: if said.is_empty() {
                "the answer was no".to_owned()
            } else {
                format!("the answer was no: {said}")
            },
        },
    })
}
