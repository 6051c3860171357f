//! The whole job in a real Neovim, with a scripted model on the real wire.
//!
//! Neovim is the one that `tests/all` installs. Invariant: every wait is for something in the editor, on disk or at the
//! model, with a deadline; what a person would do is done by the same keys, commands and menus. Absent: what other
//! clients do; a client in memory plays them.

mod crash;
mod driver;
mod pictures;
mod plugin;
mod quirks;
mod setup;
mod stock;
mod svg;

use crate::support::model::{Modelled, finish, plan, planned};
use planwright::testing::script::{Script, Turn};
use serde_json::{Value, json};
use std::time::Duration;

const FILE: &str = "src/lib.rs";

/// Two comments and three functions, far enough apart for a hunk each.
const LIB: &str = "//! A till.

// agent: name things by what they are

/// One.
pub fn one() -> u32 {
    1
}

/// Two.
pub fn two() -> u32 {
    2
}

/// Three.
pub fn three() -> u32 {
    3
}
";

/// A model that plans one step, and raises three numbers in it.
fn script() -> Script {
    script_of(&[("    1\n", "    10\n"), ("    2\n", "    20\n"), ("    3\n", "    30\n")], Duration::ZERO)
}

/// The same with other replacements, each answer taking so long.
fn script_of(pairs: &[(&str, &str)], latency: Duration) -> Script {
    let pairs: Vec<Value> =
        pairs.iter().map(|(search, replace)| json!({ "search": search, "replace": replace })).collect();
    let change = Turn::call("replace", json!({ "path": FILE, "pairs": pairs })).taking(latency);
    let plan = plan(&["src/**"], &["absent: `no such text`, in `src`"], &[("raise", FILE)], &[]);
    Script::by(move |request, _| {
        let messages = request["messages"].as_array().cloned().unwrap_or_default();
        let turns = messages.iter().filter(|message| message["role"] == "assistant").count();
        match turns {
            _ if request.get("tools").is_none() => planned(&plan),
            0 => change.clone(),
            _ => finish("raised").taking(latency),
        }
    })
}

fn work() -> Modelled {
    Modelled::new(&[(FILE, LIB)], script())
}

/// The same with a task that waits for a review, made from a terminal: what is tested begins at its hunks.
#[track_caller]
fn proposed() -> (Modelled, String) {
    let work = work();
    work.run(&["plan", "Raise them", "--at", FILE]).exits(0);
    let task = work.only_task();
    work.run(&["approve", &task, "--yes"]);
    work.run(&["run", &task]).exits(3);
    (work, task)
}
