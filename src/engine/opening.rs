//! A goal becomes a task, durable before the command is answered (A1); answers to the planner's questions.
//!
//! Invariant: the same goal at the same place within a minute is the same task (J4). Absent: planning itself.

use super::actions::{broken, missing};
use super::case::{Case, Drive};
use super::offer::{Rewrite, Then};
use super::owner::Owner;
use super::page::{page_name, study};
use crate::domain::change::Entry;
use crate::domain::ids::*;
use crate::domain::plan::{edit, parse};
use crate::domain::policy::paths;
use crate::domain::task::action::*;
use crate::domain::task::decide::refuse;
use crate::domain::task::event::*;
use crate::domain::text;
use crate::ports::Durability;

/// A repeated click is no second wish.
const SAME_WITHIN_MS: u64 = 60_000;

/// What came of a goal.
pub(super) enum Begun {
    /// It is a task already; what the person is told.
    Known(Reply),
    /// A task that stands in the journal.
    New(TaskId),
}

/// Opens a task; planning goes on beside, unless the plan came with the goal.
///
/// # Errors
/// Why the goal makes no task.
pub(super) async fn open(
    owner: &mut Owner,
    actor: Actor,
    goal: Goal,
    document: Option<String>,
) -> Result<Reply, Refusal> {
    let planned = document.is_none();
    let id = match begin(owner, &actor, goal, document, "the plan came with the goal").await? {
        Begun::Known(reply) => return Ok(reply),
        Begun::New(id) => id,
    };
    let message = if planned {
        format!("task {id} is being planned")
    } else {
        format!("task {id} has its plan; planwright show {id}")
    };
    Ok(Reply { task: id, message })
}

/// Makes a goal a task, with the plan that came with it if one did. `reason` says of the plan where it is from.
///
/// # Errors
/// Why the goal makes no task.
pub(super) async fn begin(
    owner: &mut Owner,
    actor: &Actor,
    goal: Goal,
    document: Option<String>,
    reason: &str,
) -> Result<Begun, Refusal> {
    let world = owner.world.clone();
    let goal = Goal { words: goal.words.trim().to_owned(), ..goal };
    if goal.words.is_empty() {
        return Err(refuse(RefusalKind::NotFound, "an empty goal makes no task", "planwright plan \"GOAL\""));
    }
    check_place(owner, &goal).await?;
    let now = world.clock.now();
    let same = owner.cases.values().find(|case| {
        let task = &case.task;
        // Two plans by hand for one goal are two wishes; a plan that we made from the goal is none of its own.
        let own = document
            .as_ref()
            .is_none_or(|document| case.revisions.first().is_some_and(|(_, first)| **first == **document));
        !task.is_over() && task.goal == goal && now.since(task.opened) < SAME_WITHIN_MS && own
    });
    if let Some(case) = same {
        let task = case.task.id.clone();
        let message = format!("this goal became task {task} just now");
        return Ok(Begun::Known(Reply { task, message }));
    }
    let id = fresh_id(owner);
    let trace = TraceId::new(format!("{:032x}", world.clock.fresh()));
    let binding = world.workspace.binding().await;
    let mut events = vec![Event::Opened { goal: goal.clone(), binding, trace, actor: actor.clone() }];
    let mut page = None;
    match document {
        None => events.push(Event::PlanAsked { words: None, from: PlanFrom::Workspace, actor: actor.clone() }),
        Some(document) => {
            let studied = study(&world, &document).await;
            let revision = RevisionRef { number: 1, digest: studied.normal.digest.short().to_owned() };
            let text = world.store.put_blob(document.clone().into_bytes()).await.map_err(broken)?;
            events.push(Event::Revised {
                revision,
                text,
                author: Author::Person(actor.clone()),
                reason: reason.to_owned(),
                errors: studied.errors(),
            });
            page = Some(document);
        }
    }
    world.store.append(&id, 0, now, &events, Durability::Disk).await.map_err(broken)?;
    let case = Case::load(&world, &id).await.map_err(broken)?;
    let name = page_name(&case.task);
    owner.order.push(id.clone());
    owner.cases.insert(id.clone(), case);
    if let Some(document) = page {
        world.workspace.write_page(&id, &name, &document).await.map_err(|refusal| {
            refuse(RefusalKind::Broken, refusal.to_string(), "planwright doctor shows where task folders are")
        })?;
        owner.read_page(&id).await;
    }
    owner.line(&id, format!("task {id}: {}", goal.words));
    owner.drive(&id, Drive::Planned);
    owner.advance(&id).await;
    Ok(Begun::New(id))
}

/// A place that is not there would be found out only by a model's guess; and what a goal names is shown to the planner.
pub(super) async fn check_place(owner: &Owner, goal: &Goal) -> Result<(), Refusal> {
    let next = "name a file of this workspace, relative to its root";
    let mut named: Vec<&WorkspacePath> = goal.references.iter().collect();
    named.extend(goal.place.as_ref().map(|place| &place.path));
    for path in named {
        if let Some(why) = paths::secret(path) {
            let message = format!("{path} is shown to no model ({why})");
            return Err(refuse(RefusalKind::Policy, message, "leave it out, and say in the goal what of it matters"));
        }
        match owner.world.workspace.read(path).await {
            Ok(Entry::Absent) => {
                return Err(refuse(RefusalKind::NotFound, format!("there is no file {path}"), next));
            }
            Ok(Entry::File { text, .. }) => {
                let lines = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
                let asked = goal.place.as_ref().filter(|place| &place.path == path).and_then(|place| place.lines);
                if let Some((first, last)) = asked
                    && (first == 0 || first > last || first > lines.max(1))
                {
                    let message =
                        format!("{path} has {}; there is no line {first} to {last}", text::counted(lines, "line"));
                    return Err(refuse(RefusalKind::NotFound, message, next));
                }
            }
            Err(refusal) => return Err(refuse(RefusalKind::NotFound, refusal.to_string(), next)),
        }
    }
    Ok(())
}

/// Four characters that nobody confuses; longer when the short ones are taken.
fn fresh_id(owner: &Owner) -> TaskId {
    const ALPHABET: &[u8] = b"abcdefghjkmnpqrstuvwxyz23456789";
    let mut length = 4;
    loop {
        let mut bits = owner.world.clock.fresh();
        let mut text = String::new();
        for at in 0..length {
            // The first character is a letter, so that no id is read as a number.
            let letters: u128 = if at == 0 { 23 } else { 31 };
            let index = usize::try_from(bits % letters).unwrap_or(0);
            text.push(ALPHABET.get(index).copied().map_or('a', char::from));
            bits /= letters;
        }
        let id = TaskId::new(text);
        // `g1` and hunk ids have shapes of their own; a task id of four characters is neither.
        if !owner.cases.contains_key(&id) {
            return id;
        }
        length = (length + 1).min(6);
    }
}

/// The document with an answer beneath its question; the plan is made again once all are answered.
///
/// # Errors
/// Why there is nothing to answer.
pub(super) async fn answer(
    owner: &mut Owner,
    id: &TaskId,
    actor: Actor,
    question: Option<u32>,
    words: &str,
) -> Result<(Rewrite, Then), Refusal> {
    owner.read_page(id).await;
    let Some(case) = owner.cases.get(id) else { return Err(missing(id)) };
    let Some(page) = case.page.clone() else {
        return Err(refuse(
            RefusalKind::WrongState,
            "there is no plan with questions yet",
            format!("planwright status {id}"),
        ));
    };
    let questions = edit::questions(&parse(&page.text));
    let open: Vec<u32> = questions.iter().filter(|q| q.answer.is_none()).map(|q| q.number).collect();
    let number = match (question, open.as_slice()) {
        (Some(number), _) => number,
        (None, [only]) => *only,
        (None, _) => {
            let message = format!("{} questions are open; say which one is meant", open.len());
            return Err(refuse(RefusalKind::SeveralCandidates, message, format!("planwright show {id} lists them")));
        }
    };
    let replacement = edit::answer(&page.text, number, words)
        .map_err(|why| refuse(RefusalKind::NotFound, why, format!("planwright show {id} lists the questions")))?;
    let text = text::apply(&page.text, &[replacement])
        .map_err(|error| refuse(RefusalKind::Broken, error.to_string(), "edit the document by hand"))?;
    let label = format!("Agent: answer question {number}");
    let rewrite = Rewrite { from: page.text.clone(), text, label, session: None };
    Ok((rewrite, Then::Answered(actor)))
}

/// Goes on once an answer stands in the document.
///
/// # Errors
/// The store failed.
pub(super) async fn answered(owner: &mut Owner, id: &TaskId, actor: Actor) -> Result<Reply, Refusal> {
    owner.read_page(id).await;
    let text = owner.cases.get(id).and_then(|case| case.page.as_ref()).map(|page| page.text.clone());
    let text = text.unwrap_or_default();
    let open = edit::questions(&parse(&text)).into_iter().filter(|question| question.answer.is_none()).count();
    if open > 0 {
        return Ok(Reply { task: id.clone(), message: format!("noted; {open} questions are open") });
    }
    let asked = Event::PlanAsked {
        words: Some("the questions are answered; make the plan fit the answers".to_owned()),
        from: PlanFrom::Plan,
        actor,
    };
    owner.append(id, vec![asked], Durability::Disk).await.map_err(broken)?;
    owner.drive(id, Drive::Planned);
    owner.advance(id).await;
    Ok(Reply { task: id.clone(), message: "all questions are answered; the plan is being made again".to_owned() })
}
