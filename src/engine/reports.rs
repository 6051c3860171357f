//! What work under way reports: events to be appended, gates to be opened, its own end.
//!
//! Invariant: work appends only while its ticket is the present one and its task goes on; who was replaced, paused or has
//! used up a budget is told to stop. Absent: starting anything (`advance`).

use super::input::Ticket;
use super::owner::Owner;
use super::refresh::Stale;
use super::work::Halt;
use crate::domain::ids::*;
use crate::domain::task::budget;
use crate::domain::task::event::*;
use crate::domain::task::state::*;
use crate::ports::Durability;

impl Owner {
    /// Appends for work under way, if it is still the present one and the task goes on.
    pub(super) async fn append_for(
        &mut self,
        ticket: &Ticket,
        mut events: Vec<Event>,
        how: Durability,
    ) -> Result<Vec<Recorded>, Halt> {
        let starts = events.iter().any(|event| matches!(event, Event::Intended { .. } | Event::Began { .. }));
        if events.iter().any(|event| matches!(event, Event::Ended { work: Work::Planning, .. })) {
            // Whoever sees that the plan stands sees its document, too.
            self.read_page(&ticket.task).await;
        }
        let Some(case) = self.cases.get(&ticket.task) else { return Err(Halt::Stopped) };
        if case.live.get(&ticket.work).is_none_or(|live| live.serial != ticket.serial) {
            return Err(Halt::Stopped);
        }
        let stands_still = match case.task.course {
            Course::Going => false,
            // A decision on a hunk is carried out also while the task is paused, and when it was given up meanwhile:
            // the person asked for it before, and was not refused.
            Course::Paused { .. } | Course::Over(_) => ticket.work != Work::Review,
        };
        // A permission that a new approval has ended meanwhile: the work starts again from its journal, and asks.
        let lapsed = events
            .iter()
            .any(|event| matches!(event, Event::Intended { gate: Some(gate), .. } if !case.task.permits(gate)));
        if starts && (stands_still || lapsed) {
            return Err(Halt::Stopped);
        }
        if let Some(plan) = &case.plan
            && let Some(why) =
                budget::exceeded(&case.task, &plan.plan().contract.budget, &events, self.world.clock.now())
        {
            return Err(Halt::OverBudget(why));
        }
        // Work knows the task as it was when it began; a number that a person's edit took since is not given twice.
        let mut number = case.task.newest().map_or(0, |newest| newest.name.number);
        for event in &mut events {
            if let Event::Revised { revision, .. } = event {
                number = number.saturating_add(1);
                revision.number = number;
            }
        }
        self.append(&ticket.task, events, how).await.map_err(Halt::Store)
    }

    /// Opens a gate, unless the command was allowed for the plan: by the state as it is, since another step's gate may
    /// have been answered after this work had begun.
    pub(super) async fn open_gate(&mut self, ticket: &Ticket, ask: Ask) -> Option<Halt> {
        let Some(case) = self.cases.get(&ticket.task) else { return Some(Halt::Stopped) };
        if let Ask::Command { command, outside: false, .. } = &ask
            && case.task.allowed_for_plan(command)
        {
            return None;
        }
        let gate = GateId::new(format!("g{}", case.task.gates_opened.saturating_add(1)));
        let event = Event::GateOpened { gate: gate.clone(), work: ticket.work.clone(), ask };
        match self.append_for(ticket, vec![event], Durability::Process).await {
            Ok(_) => Some(Halt::AtGate(gate)),
            Err(halt) => Some(halt),
        }
    }

    pub(super) async fn returned(&mut self, ticket: Ticket, halt: Option<Halt>) {
        let Some(case) = self.cases.get_mut(&ticket.task) else { return };
        if case.live.get(&ticket.work).is_none_or(|live| live.serial != ticket.serial) {
            return;
        }
        case.live.remove(&ticket.work);
        if ticket.work != Work::Review {
            case.stale.add(Stale::all());
        }
        let attempt = case.task.attempt(&ticket.work);
        match halt {
            Some(Halt::Diverged) => {
                let end = Event::Ended { work: ticket.work.clone(), attempt, outcome: Outcome::Interrupted };
                if let Err(fault) = self.append(&ticket.task, vec![end], Durability::Process).await {
                    self.stuck(&ticket.task, &fault);
                    return;
                }
            }
            Some(Halt::Store(fault)) => {
                self.stuck(&ticket.task, &fault);
                return;
            }
            Some(Halt::AtGate(_) | Halt::Stopped | Halt::OverBudget(_)) | None => {}
        }
        if ticket.work == Work::Planning {
            // The desk shows the plan that was just made, also to those who attached to this host.
            self.read_page(&ticket.task).await;
        }
        self.advance(&ticket.task).await;
    }
}
