//! Changes of a plan document that an editor has open: by the editor, in answer to a person's own command, or as an offer
//! that waits beside it.
//!
//! Invariant: no plan document that an editor has open is written on disk (invariant 5). Absent: how an editor shows an
//! offer; it is in the dossier.

use super::actions::missing;
use super::buffered;
use super::input::Input;
use super::opening;
use super::owner::Owner;
use super::page::{beside, page_name, replace};
use super::world::World;
use crate::domain::change::{Entry, file_change};
use crate::domain::ids::*;
use crate::domain::task::action::{Actor, Refusal, RefusalKind, Reply};
use crate::domain::task::decide::refuse;
use crate::domain::task::event::Event;
use crate::domain::task::state::Task;
use crate::ports::{Durability, EditorOrder, SessionId};
use std::sync::Arc;
use tokio::sync::oneshot;

/// Where an action's answer goes.
pub(super) type Answer = oneshot::Sender<Result<Reply, Refusal>>;

/// What follows once the document says what it was to say.
#[derive(Debug)]
pub enum Then {
    /// A question was answered, by this person.
    Answered(Actor),
    /// This offered revision was taken.
    Taken(RevisionRef),
}

/// A plan document on its way to another text.
pub(super) struct Rewrite {
    /// What it was made from.
    pub from: Arc<str>,
    /// What it is to say.
    pub text: String,
    /// Shown by the editor.
    pub label: String,
    /// Whose document is changed, where several editors have it open.
    pub session: Option<SessionId>,
}

/// The name of a task's plan document, if an editor has it open.
pub(super) fn open_page(world: &World, task: &Task) -> Option<WorkspacePath> {
    let path = buffered::page(world.disk.as_ref(), &task.id, &page_name(task))?;
    world.documents.newest(&path).map(|_| path)
}

/// Nobody can undo a text on disk: what a person wrote into it since the revision was made is kept beside.
async fn keep_former(world: &World, task: &Task, from: &str, revision: &RevisionRef) -> Result<(), Refusal> {
    let kept = world.workspace.write_page(&task.id, &beside(revision), from).await;
    kept.map(|_| ()).map_err(|refusal| refuse(RefusalKind::Broken, refusal.to_string(), "planwright doctor"))
}

impl Owner {
    /// Gives the document another text: on disk, or by the editor that has it open; nobody else waits for that one.
    pub(super) async fn rewrite(&mut self, id: &TaskId, rewrite: Rewrite, then: Then, answer: Answer) {
        let Rewrite { from, text, label, session } = rewrite;
        let world = self.world.clone();
        let Some(case) = self.cases.get(id) else {
            let _asker_gone = answer.send(Err(missing(id)));
            return;
        };
        let editor =
            open_page(&world, &case.task).and_then(|path| Some((world.documents.editor(&path, session)?.1, path)));
        let Some((editor, path)) = editor else {
            let result = match &then {
                Then::Taken(revision) => keep_former(&world, &case.task, &from, revision).await,
                Then::Answered(_) => Ok(()),
            };
            let result = match result {
                Ok(()) => replace(&world, &case.task, &from, &text).await,
                Err(refusal) => Err(refusal),
            };
            self.rewritten(id, result, then, answer).await;
            return;
        };
        let entry = |text: &str| Entry::File { text: Arc::from(text), mode: 0o644 };
        let change = file_change(path, &entry(&from), &entry(&text), &StepId::new("plan"), None);
        let put = change.hunks.iter().map(|hunk| hunk.id.clone()).collect();
        let order = EditorOrder { change, put, take: Vec::new(), label, until: None };
        let (inbox, task) = (self.inbox.clone(), id.clone());
        tokio::spawn(async move {
            let result = editor.carry_out(order).await.map_err(|fault| {
                let next = format!("planwright show {task}, then run the command again");
                refuse(RefusalKind::Plan, fault.to_string(), next)
            });
            let _engine_gone = inbox.send(Input::Rewritten { task, result, then, answer });
        });
    }

    /// Goes on from there.
    pub(super) async fn rewritten(&mut self, id: &TaskId, result: Result<(), Refusal>, then: Then, answer: Answer) {
        let result = match (result, then) {
            (Err(refusal), _) => Err(refusal),
            (Ok(()), Then::Answered(actor)) => opening::answered(self, id, actor).await,
            (Ok(()), Then::Taken(_)) => {
                self.read_page(id).await;
                let next = format!("the document says it now; planwright approve {id} when it is as you want it");
                Ok(Reply { task: id.clone(), message: next })
            }
        };
        self.publish().await;
        let _asker_gone = answer.send(result);
    }

    /// Takes the offered revision, or declines it.
    pub(super) async fn decide_offer(
        &mut self,
        id: &TaskId,
        actor: Actor,
        session: Option<SessionId>,
        take: bool,
        answer: Answer,
    ) {
        self.read_page(id).await;
        let none = || {
            let message = format!("no revision is offered for the plan of task {id}");
            refuse(RefusalKind::WrongState, message, format!("planwright show {id}"))
        };
        let offered = self.cases.get(id).and_then(|case| Some((case.offered()?, case.page.clone()?)));
        let Some(((revision, text), page)) = offered else {
            let _asker_gone = answer.send(Err(none()));
            return;
        };
        if take {
            let label = format!("Agent: take {revision}");
            let rewrite = Rewrite { from: page.text.clone(), text: text.to_string(), label, session };
            self.rewrite(id, rewrite, Then::Taken(revision), answer).await;
            return;
        }
        let ended = Event::OfferEnded { revision: revision.clone(), taken: false, actor: Some(actor) };
        let result = self.append(id, vec![ended], Durability::Process).await.map_err(super::actions::broken);
        self.publish().await;
        let _asker_gone =
            answer.send(result.map(|_| Reply { task: id.clone(), message: format!("{revision} is declined") }));
    }

    /// An offer is taken once the document means it, however it came to that.
    pub(super) async fn settle_offer(&mut self, id: &TaskId) {
        let Some(case) = self.cases.get(id) else { return };
        let (Some(offered), Some(page)) = (&case.task.offered, &case.page) else { return };
        if offered.digest == page.revision.digest {
            let ended = Event::OfferEnded { revision: offered.clone(), taken: true, actor: None };
            if let Err(fault) = self.append(id, vec![ended], Durability::Process).await {
                self.stuck(id, &fault);
            }
        }
    }
}
