//! A store that kills its own process at a named place of the journal: a real SIGKILL at an exact instant.
//!
//! `PLANWRIGHT_FAILPOINT=CELL:KIND:N` dies at the N-th effect of this process whose intent is of this kind (`any`,
//! `model`, `tool`, `command`, `outside`, `write`, `look`), or at the N-th task that begins (`task`, whose first event
//! counts as its intent). CELL is one of `before-intent`, `before-start` (the intent
//! is in the journal, the effect has not begun), `before-result` (the effect is done, its result is not in the
//! journal), `after-result`. The cell "during" needs no help: there a test kills from outside.
//!
//! Invariant: compiled only with the feature `testing`; the shipped binary knows neither the variable nor this module.
//! Absent: any way to come back; what follows is what follows a crash.

use crate::domain::ids::{ContentHash, EffectId, TaskId, Time};
use crate::domain::task::event::{Event, Intent, Recorded};
use crate::ports::{Durability, Fut, Snapshot, Store, StoreFault};
use std::sync::{Arc, Mutex, PoisonError};

/// The variable.
pub const VARIABLE: &str = "PLANWRIGHT_FAILPOINT";

/// The store itself, or one that dies where the variable says.
pub fn wrap(store: Arc<dyn Store>) -> Arc<dyn Store> {
    let wish = std::env::var(VARIABLE).ok();
    match wish.as_deref().and_then(Point::parse) {
        None => store,
        Some(point) => Arc::new(Failing { store, point, state: Mutex::default() }),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cell {
    BeforeIntent,
    BeforeStart,
    BeforeResult,
    AfterResult,
}

struct Point {
    cell: Cell,
    kind: String,
    nth: u32,
}

impl Point {
    fn parse(text: &str) -> Option<Point> {
        let mut parts = text.split(':');
        let cell = match parts.next()? {
            "before-intent" => Cell::BeforeIntent,
            "before-start" => Cell::BeforeStart,
            "before-result" => Cell::BeforeResult,
            "after-result" => Cell::AfterResult,
            _ => return None,
        };
        Some(Point { cell, kind: parts.next()?.to_owned(), nth: parts.next()?.parse().ok()? })
    }

    fn is_of(&self, intent: &Intent) -> bool {
        let kind = match intent {
            Intent::Model { .. } => "model",
            Intent::Tool { .. } => "tool",
            Intent::Snapshot | Intent::Transform | Intent::Format => "look",
            Intent::Command { .. } => "command",
            Intent::Outside { .. } => "outside",
            Intent::Write { .. } => "write",
        };
        self.kind == "any" || self.kind == kind
    }
}

#[derive(Default)]
struct State {
    seen: u32,
    /// The effect that is to be the last.
    last: Option<EffectId>,
}

struct Failing {
    store: Arc<dyn Store>,
    point: Point,
    state: Mutex<State>,
}

impl Failing {
    /// Whether one of these events is the intent, or the result, of the effect that is to be the last.
    fn meets(&self, after: u64, events: &[Event]) -> (bool, bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut intent, mut result) = (false, false);
        if after == 0 && self.point.kind == "task" {
            state.seen += 1;
            intent = state.seen == self.point.nth;
        }
        for event in events {
            match event {
                Event::Intended { effect, what, .. } if self.point.is_of(what) => {
                    state.seen += 1;
                    if state.seen == self.point.nth {
                        state.last = Some(effect.clone());
                        intent = true;
                    }
                }
                Event::Settled { effect, .. } => result |= state.last.as_ref() == Some(effect),
                _ => {}
            }
        }
        (intent, result)
    }

    fn die(&self, here: bool, cell: Cell) {
        if here && self.point.cell == cell {
            let _never_comes_back =
                rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        }
    }
}

impl Store for Failing {
    fn tasks(&self) -> Fut<'_, Result<Vec<TaskId>, StoreFault>> {
        self.store.tasks()
    }

    fn append<'a>(
        &'a self,
        task: &'a TaskId,
        after: u64,
        at: Time,
        events: &'a [Event],
        how: Durability,
    ) -> Fut<'a, Result<u64, StoreFault>> {
        Box::pin(async move {
            let (intent, result) = self.meets(after, events);
            self.die(intent, Cell::BeforeIntent);
            self.die(result, Cell::BeforeResult);
            let appended = self.store.append(task, after, at, events, how).await;
            self.die(intent, Cell::BeforeStart);
            self.die(result, Cell::AfterResult);
            appended
        })
    }

    fn events<'a>(&'a self, task: &'a TaskId, after: u64) -> Fut<'a, Result<Vec<Recorded>, StoreFault>> {
        self.store.events(task, after)
    }

    fn snapshot<'a>(&'a self, task: &'a TaskId) -> Fut<'a, Result<Option<Snapshot>, StoreFault>> {
        self.store.snapshot(task)
    }

    fn keep_snapshot<'a>(&'a self, task: &'a TaskId, snapshot: Snapshot) -> Fut<'a, Result<(), StoreFault>> {
        self.store.keep_snapshot(task, snapshot)
    }

    fn put_blob(&self, bytes: Vec<u8>) -> Fut<'_, Result<ContentHash, StoreFault>> {
        self.store.put_blob(bytes)
    }

    fn blob<'a>(&'a self, hash: &'a ContentHash) -> Fut<'a, Result<Vec<u8>, StoreFault>> {
        self.store.blob(hash)
    }

    fn remember<'a>(&'a self, key: &'a str, value: String) -> Fut<'a, Result<(), StoreFault>> {
        self.store.remember(key, value)
    }

    fn recall<'a>(&'a self, key: &'a str) -> Fut<'a, Result<Option<String>, StoreFault>> {
        self.store.recall(key)
    }
}
