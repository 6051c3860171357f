//! Real SIGKILLs of the real binary, in every cell between an intent and its result.
//!
//! One task is killed again and again on its way to the end; a person at a terminal resumes it, answers its gates by
//! what really happened, and reviews. At the end its files and its journal's projection are those of a task that
//! nobody killed. Invariant: every wait is for a thing (a line in the outside world's log, a request at the server, a
//! process's end), with a deadline. Absent: every position of a journal; that is the in-memory twin's.

#![allow(clippy::print_stdout, reason = "the count of kills by cell is what a reader of the run wants to see")]

use crate::support::Project;
use planwright::domain::ids::TaskId;
use planwright::domain::task::event::{Ask, Event, Recorded};
use planwright::domain::task::evolve::replay;
use planwright::domain::task::state::Task;
use planwright::ports::Store;
use planwright::store::Sqlite;
use planwright::testing::failpoint;
use planwright::testing::projection::projection;
use planwright::testing::script::{Script, Turn};
use planwright::testing::scripted_model::ScriptedModel;
use serde_json::json;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const PLAN: &str = "# Rename total

A better name, told to everybody.

## Contract

- scope: `src/**`
- accept: absent: `\\btotal\\b`, in `src`

## Steps

### notes: Say something in the notes

- edit: `src/notes.rs` (focus `notes`)
- check: `tools/check`
- repair: 2

### rename: Rename total

- transform: rename `total` to `sum_of`
- write: `src/**`

### made: Make the table

- run: `tools/make`
- write: `src/made.rs`
- effect: repeatable

### tally: Count the change

- run: `tools/tally`

### tell: Tell the others

- run: `tools/tell`
- effect: outside
- probe: `tools/was-told`

### post: Post it

- run: `tools/post`
- effect: outside

### look: Is it right?

- ask: anyone

### verify: Verify it

- check: `tools/verify`
";

/// What each command does between its two lines in the outside world's log.
const COMMANDS: [(&str, &str); 6] = [
    ("check", "if grep -q BROKEN src/notes.rs; then code=1; fi"),
    ("make", "echo 'pub const MADE: u8 = 1;' > src/made.rs"),
    ("tally", ""),
    ("tell", ""),
    ("post", ""),
    ("verify", ""),
];

/// The cells of a kill, in the order of an effect's life.
const CELLS: [&str; 5] = ["before-intent", "before-start", "during", "before-result", "after-result"];

/// How long anything may take on a machine that does much else.
const DEADLINE: Duration = Duration::from_secs(60);

/// A project, its model, and what happens outside.
struct Job {
    project: Project,
    server: ScriptedModel,
    /// The model takes its time until its client is gone.
    slow: Arc<AtomicBool>,
    outside: PathBuf,
    task: String,
    kills: BTreeMap<&'static str, usize>,
}

fn script(slow: Arc<AtomicBool>) -> Script {
    let replace = |search: &str, replace: &str| {
        let pair = json!({ "search": search, "replace": replace });
        Turn::call("replace", json!({ "path": "src/notes.rs", "pairs": [pair] }))
    };
    let finish = || Turn::call("finish", json!({ "summary": "the notes say something" }));
    let turns = [
        Turn::call("outline", json!({ "path": "src/notes.rs" })),
        replace("\"none\"", "\"BROKEN\""),
        finish(),
        replace("\"BROKEN\"", "\"everything\""),
        finish(),
    ];
    Script::by(move |request, _| {
        let messages = request["messages"].as_array().cloned().unwrap_or_default();
        let said = messages.iter().filter(|message| message["role"] == "assistant").count();
        let turn = turns[said.min(turns.len() - 1)].clone();
        if slow.load(Ordering::SeqCst) { turn.taking(DEADLINE) } else { turn }
    })
}

impl Job {
    fn new() -> Job {
        let mut project = Project::new(&[
            ("src/lib.rs", "pub mod shop;\n\npub fn total(xs: &[u32]) -> u32 {\n    xs.iter().sum()\n}\n"),
            (
                "src/shop.rs",
                "use crate::total;\n\npub fn bill(xs: &[u32]) -> String {\n    format!(\"{}\", total(xs))\n}\n",
            ),
            ("src/notes.rs", "pub fn notes() -> &'static str {\n    \"none\"\n}\n"),
        ]);
        let outside = project.root.parent().unwrap().join("outside");
        std::fs::create_dir(&outside).unwrap();
        // `$HOME` is the one thing that a command sees of the outside: its text is the same in every project.
        for (name, body) in COMMANDS {
            let text = format!(
                "#!/bin/sh\ncode=0\necho \"start {name} $$\" >> \"$HOME/log\"\nwhile [ -e \"$HOME/hold\" ]; do sleep 0.02; done\n{body}\necho \"done {name}\" >> \"$HOME/log\"\nexit $code\n"
            );
            tool(&project, name, &text);
        }
        tool(&project, "was-told", "#!/bin/sh\ngrep -q 'done tell' \"$HOME/log\" && exit 0\nexit 1\n");
        project.git(&["add", "-A"]);
        project.git(&["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-m", "tools"]);
        let slow = Arc::new(AtomicBool::new(false));
        let server = ScriptedModel::start(script(slow.clone())).unwrap();
        project.env.push(("OPENAI_BASE_URL".to_owned(), server.base_url()));
        project.env.push(("OPENAI_API_KEY".to_owned(), "sk-scripted".to_owned()));
        project.env.push(("HOME".to_owned(), outside.display().to_string()));
        std::fs::write(outside.join("log"), "").unwrap();
        let task = project.approved("Rename total", PLAN);
        Job { project, server, slow, outside, task, kills: BTreeMap::new() }
    }

    fn journal(&self) -> Vec<Recorded> {
        let database = self.project.database();
        let (store, _) = Sqlite::open(&database, &database.parent().unwrap().join("blobs")).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(store.events(&TaskId::new(&self.task), 0)).unwrap()
    }

    fn state(&self) -> Task {
        replay(&TaskId::new(&self.task), &self.journal()).unwrap()
    }

    fn log(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.outside.join("log")).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// Answers the gate that waits, by what really happened. False when none waits.
    fn answer(&self, state: &Task) -> bool {
        let Some(gate) = state.open_gates().next() else { return false };
        let name = |argv: &[String]| argv[0].rsplit('/').next().unwrap().to_owned();
        let answer = match &gate.ask {
            Ask::Ambiguous { command, .. } => {
                let done = format!("done {}", name(&command.argv));
                if self.log().contains(&done) { "happened" } else { "allow" }
            }
            _ => "allow",
        };
        self.project.run(&["gate", &self.task, gate.id.as_str(), answer]).exits(0);
        true
    }

    /// Starts a command that is to be killed.
    fn start(&self, arguments: &[&str], failpoint: Option<String>) -> Child {
        let mut command = self.project.command(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(point) = failpoint {
            command.env(failpoint::VARIABLE, point);
        }
        command.spawn().unwrap()
    }

    /// One life of a host that dies in this cell, if it gets there. True when it was killed.
    fn die(&mut self, arguments: &[&str], cell: &'static str, kind: &str, nth: usize) -> bool {
        let status = if cell == "during" {
            self.die_during(arguments)
        } else {
            let mut child = self.start(arguments, Some(format!("{cell}:{kind}:{nth}")));
            let start = Instant::now();
            until("the end of a process", || {
                let journal = || self.journal().into_iter().rev().take(8).map(|one| one.event).collect::<Vec<_>>();
                let late = start.elapsed() > DEADLINE / 2;
                assert!(
                    !late,
                    "{arguments:?} goes on for ever at {cell}:{kind}:{nth}: {:?}\n{:?}",
                    journal(),
                    self.log()
                );
                child.try_wait().unwrap()
            })
        };
        let killed = status.signal() == Some(9);
        if killed {
            *self.kills.entry(cell).or_default() += 1;
        }
        killed
    }

    /// Kills from outside, once a command or a model call is under way.
    fn die_during(&self, arguments: &[&str]) -> ExitStatus {
        let hold = self.outside.join("hold");
        std::fs::write(&hold, "").unwrap();
        self.slow.store(true, Ordering::SeqCst);
        let (log, calls) = (self.log().len(), self.server.calls().len());
        let mut child = self.start(arguments, None);
        let status = until("a command, a request or the end", || {
            if let Some(status) = child.try_wait().unwrap() {
                return Some(status);
            }
            if self.log().len() > log || self.server.calls().len() > calls {
                child.kill().unwrap();
                return Some(child.wait().unwrap());
            }
            None
        });
        self.slow.store(false, Ordering::SeqCst);
        // The next process of this workspace, whichever it is, ends what the dead host's command left running.
        self.project.run(&["status", &self.task]);
        for line in self.log().split_off(log) {
            let pid = line.rsplit(' ').next().unwrap().to_owned();
            assert!(line.starts_with("start") && !lives(&pid), "{line}: it outlived its host");
        }
        std::fs::remove_file(&hold).unwrap();
        status
    }

    /// Kills at a time and not at a place. The command that it leaves may still come to its end before the next host
    /// ends it, which is then what really happened.
    fn die_at(&mut self, arguments: &[&str], after: Duration) -> bool {
        let mut child = self.start(arguments, None);
        let start = Instant::now();
        let status = until("the end", || {
            if start.elapsed() >= after {
                child.kill().unwrap();
            }
            child.try_wait().unwrap()
        });
        self.project.run(&["status", &self.task]);
        let killed = status.signal() == Some(9);
        if killed {
            *self.kills.entry("any time").or_default() += 1;
        }
        killed
    }

    /// To the end of the task. `die` may kill the process that carries it on; after a false it is carried on in peace.
    fn carry_on(&mut self, mut die: impl FnMut(&mut Job, &[&str], bool) -> bool) {
        let task = self.task.clone();
        let mut answered = false;
        for _ in 0..300 {
            let state = self.state();
            if state.is_over() {
                return;
            }
            if self.answer(&state) {
                answered = true;
                continue;
            }
            if die(self, &["resume", &task], std::mem::take(&mut answered)) {
                continue;
            }
            let said = self.project.run(&["resume", &task]);
            if said.code == Some(0) || self.state().open_gates().next().is_some() {
                continue;
            }
            assert_eq!(said.code, Some(3), "{said:?}");
            self.review(&mut die);
        }
        panic!("it does not end: {:?}", self.journal().last());
    }

    /// Accepts the rename, rejects what was made, accepts the rest. A killed acceptance is given again.
    fn review(&mut self, die: &mut impl FnMut(&mut Job, &[&str], bool) -> bool) {
        let task = self.task.clone();
        let made = self.project.run(&["review", &task, "--json"]).json();
        let made = made["hunks"].as_array().unwrap().iter().find(|hunk| hunk["path"] == "src/made.rs").cloned();
        for step in ["rename", "notes"] {
            let accept = ["accept", &task, "--step", step];
            die(self, &accept, true);
            // What the killed process had written already waits no more; the rest does.
            self.project.run(&accept);
        }
        if let Some(made) = made {
            self.project.run(&["reject", &task, made["id"].as_str().unwrap()]).exits(0);
        }
    }

    fn projection(&self) -> String {
        let events: Vec<Event> = self.journal().into_iter().map(|recorded| recorded.event).collect();
        projection(&events)
    }

    fn files(&self) -> String {
        let diff = self.project.git(&["status", "--short"]);
        let texts = ["src/lib.rs", "src/shop.rs", "src/notes.rs"].map(|path| self.project.read(path));
        format!("{diff}{}", texts.concat())
    }

    /// Files, projection, requests and outside effects are those of a task that nobody killed.
    fn is_as(&self, undisturbed: &Job) {
        assert_eq!(self.files(), undisturbed.files());
        let (now, before) = (self.projection(), undisturbed.projection());
        if now != before {
            let diff = similar::TextDiff::from_lines(&before, &now).unified_diff().context_radius(1).to_string();
            panic!("{diff}");
        }
        let kills: usize = self.kills.values().sum();
        let (calls, needed) = (self.server.calls().len(), undisturbed.server.calls().len());
        assert!(calls <= needed + kills, "{calls} requests, {needed} needed, {kills} kills");
        for once in ["done tally", "done tell", "done post"] {
            assert_eq!(self.log().iter().filter(|line| *line == once).count(), 1, "{once}");
        }
        // No request whose answer the journal has was sent again: each is on record as answered once.
        let answered = self.journal().into_iter().filter(|recorded| match &recorded.event {
            Event::Settled { result, .. } => {
                matches!(result, planwright::domain::task::event::Settlement::Returned { usage: Some(_), .. })
            }
            _ => false,
        });
        assert_eq!(answered.count(), needed);
    }

    fn table(&self) -> String {
        self.kills.iter().map(|(cell, count)| format!("{cell}: {count}\n")).collect()
    }
}

fn tool(project: &Project, name: &str, text: &str) {
    let path = format!("tools/{name}");
    project.write(&path, text);
    std::fs::set_permissions(project.path(&path), std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn lives(pid: &str) -> bool {
    // A zombie whose parent was killed is reaped by init, not by us.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < DEADLINE, "{what} did not come");
        std::thread::yield_now();
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

fn undisturbed() -> Job {
    let mut job = Job::new();
    job.carry_on(|_, _, _| false);
    job
}

/// Kills in every cell, one after the other, from this one on, as long as there is something to kill.
fn kill_in_cells(first: usize) -> Job {
    let mut job = Job::new();
    let mut turn = first;
    let mut missed = 0;
    job.carry_on(|job, arguments, at_once| {
        // A life that ended by itself had nothing left to do: it is a person's turn.
        if missed >= 1 && !at_once {
            missed = 0;
            return false;
        }
        let cell = CELLS[turn % CELLS.len()];
        turn += 1;
        let kind = if arguments[0] == "accept" { "write" } else { "any" };
        // Two effects a life, so that it gets on; but where a person has just spoken, it is the next one that counts.
        let nth = if at_once || cell == "after-result" { 1 } else { 2 };
        let killed = job.die(arguments, cell, kind, nth);
        missed = if killed { 0 } else { missed + 1 };
        killed
    });
    job
}

#[test]
fn fifty_kills_in_every_cell_change_nothing() {
    let (undisturbed, jobs) = std::thread::scope(|scope| {
        let jobs = [0, 2, 3].map(|first| scope.spawn(move || kill_in_cells(first)));
        (undisturbed(), jobs.map(|job| job.join().unwrap()))
    });
    let mut all: BTreeMap<&str, usize> = BTreeMap::new();
    for job in &jobs {
        job.is_as(&undisturbed);
        for (cell, count) in &job.kills {
            *all.entry(cell).or_default() += count;
        }
    }
    let table: Vec<String> = all.iter().map(|(cell, count)| format!("{cell}: {count}")).collect();
    println!("kills by cell: {}", table.join(", "));
    assert!(all.values().sum::<usize>() >= 50 && CELLS.iter().all(|cell| all[cell] >= 6), "{table:?}");
}

#[test]
fn kills_at_any_time_change_nothing() {
    let (undisturbed, job) = std::thread::scope(|scope| {
        let job = scope.spawn(|| {
            let mut job = Job::new();
            // Milliseconds without a pattern, the same in every run.
            let mut times = [90, 35, 140, 60, 210, 15, 120, 75, 180, 50, 260, 100].into_iter();
            job.carry_on(|job, arguments, _| {
                let Some(after) = times.next() else { return false };
                job.die_at(arguments, Duration::from_millis(after))
            });
            job
        });
        (undisturbed(), job.join().unwrap())
    });
    println!("{}", job.table());
    job.is_as(&undisturbed);
    assert!(job.kills.values().sum::<usize>() >= 3, "{}", job.table());
}
