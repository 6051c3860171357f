//! Input that is wrong: each gets an error that names the thing and the next step, and the user's files stay.

use crate::support::{Project, Said};
use planwright::actions::{ACTIONS, Verb};
use planwright::testing::script::{Fault, Script, Turn};
use planwright::testing::scripted_model::{ScriptedModel, refused_url};
use std::path::PathBuf;

const LIB: &str = "pub fn total(x: u32) -> u32 {\n    x\n}\n";

const PLAN: &str = "# Rename total\n\n## Contract\n\n- scope: `**`\n- accept: absent: `\\btotal\\b`, in `src/lib.rs`\n\n## Steps\n\n### rename: Rename total\n\n- transform: rename `total` to `sum_of`\n\n### look: Is it right?\n\n- ask: anyone\n";

fn project() -> Project {
    Project::new(&[("src/lib.rs", LIB)])
}

fn given(project: &Project, text: impl AsRef<[u8]>) -> String {
    let path = project.root.with_file_name("given.plan.md");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The plan document of the only task.
fn document(project: &Project, task: &str) -> PathBuf {
    let folder = project.path(format!(".planwright/tasks/{task}"));
    let mut pages = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    pages.find(|path| path.to_str().unwrap().ends_with(".plan.md")).expect("a plan document")
}

/// Runs it for a person and as JSON: both name the parts, with the same code; the JSON is one.
#[track_caller]
fn refused(project: &Project, arguments: &[&str], code: i32, parts: &[&str]) {
    let said = project.run(arguments).exits(code);
    assert!(said.err.contains("next: "), "{arguments:?} names no next step: {said:?}");
    said.says(parts);
    let with_json: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
    let error = project.run(&with_json).exits(code).json()["error"].clone();
    for field in ["kind", "message", "next"] {
        assert!(error[field].as_str().is_some_and(|text| !text.is_empty()), "{arguments:?}: no {field} in {error}");
    }
    let text = format!("{} {}", error["message"], error["next"]);
    for part in parts {
        let part = part.replace('"', "\\\"");
        assert!(text.contains(&part), "{arguments:?}: `{part}` is not in {error}");
    }
}

#[test]
fn a_command_line_that_cannot_be_meant_is_told_with_what_may_be_meant() {
    let project = project();
    let task = project.approved("Rename total", PLAN);
    project.run(&["run", &task]).exits(3);
    let cases: &[(&[&str], i32, &[&str])] = &[
        (&["statsu"], 2, &["statsu", "status"]),
        (&["plan", "x", "--documnt", "f"], 2, &["--documnt", "--document"]),
        (&["run", "--frobnicate"], 2, &["--frobnicate", "planwright run --help"]),
        (&["plan"], 2, &["the goal is missing"]),
        (&["plan", ""], 2, &["an empty goal"]),
        (&["plan", " \n\t"], 2, &["an empty goal"]),
        (&["plan", "two", "words"], 2, &["`words` is one word too many", "quotes"]),
        (&["plan", "x", "--at", "src/lib.rs:4"], 2, &["src/lib.rs has 3 lines", "4"]),
        (&["plan", "x", "--at", "src/lib.rs:0"], 2, &["lines count from 1"]),
        (&["plan", "x", "--at", "src/lib.rs:3-2"], 2, &["src/lib.rs:3-2"]),
        (&["plan", "x", "--at", "src/none.rs"], 2, &["there is no file src/none.rs"]),
        (&["plan", "x", "--at", "src"], 2, &["src is"]),
        (&["plan", "x", "--at", "../beside.rs"], 2, &["`../beside.rs` is not in the workspace"]),
        (&["plan", "x", "--with", "/etc/passwd"], 2, &["`/etc/passwd` is not in the workspace"]),
        (&["plan", "x", "--document", "none.md"], 2, &["none.md cannot be read"]),
        (&["run", "--timeout", "soon"], 2, &["`soon` is no time", "15m"]),
        (&["status", "zzzz"], 2, &["there is no task `zzzz`", "planwright tasks"]),
        (&["run", "zzzz"], 2, &["there is no task `zzzz`"]),
        (&["retry", "nostep"], 2, &["there is no step `nostep`", "rename"]),
        (&["skip", &task, "nostep"], 2, &["there is no step `nostep`"]),
        (&["mark-done", "nostep"], 2, &["there is no step `nostep`"]),
        (&["skip"], 2, &["the step is missing"]),
        (&["accept", "h00000000"], 2, &["there is no hunk `h00000000`"]),
        (&["accept", "hxyz"], 2, &["`hxyz`"]),
        (&["accept", "h00000000", "--all"], 2, &["exclude each other"]),
        (&["accept", "--file", "src/none.rs"], 2, &["src/none.rs"]),
        (&["reject", "--step", "nostep"], 2, &["nostep"]),
        (&["undo", "h00000000"], 2, &["there is no hunk `h00000000`"]),
        (&["gate", "g9", "allow"], 2, &["g9", "g1"]),
        (&["gate", "g1", "perhaps"], 2, &["allow, deny or happened is missing"]),
        (&["gate", "g1"], 2, &["allow, deny or happened is missing"]),
        (&["gate", "deny", "--for-plan"], 2, &["--for-plan goes with allow only"]),
        (&["answer", "yes"], 2, &["question"]),
        (&["approve", "--revision", "7"], 2, &["`7` is no revision", "r1-"]),
        (&["approve", "--revision", "r9-0123456789ab"], 3, &["r9-0123456789ab", "nothing was approved"]),
        (&["approve", "--yes", "--upto", "nostep"], 3, &["`nostep`"]),
        (&["compare", "r1", "r2", "r3"], 2, &["two revisions at most"]),
        (&["compare", "r7", "r8"], 2, &["there is no revision r8"]),
        (&["preview", "nostep"], 2, &["nostep"]),
        (&["timeline", "--states", "--tools"], 2, &["exclude each other"]),
        (&["schema", "plans"], 2, &["plan", "config", "tools"]),
    ];
    for (arguments, code, parts) in cases {
        refused(&project, arguments, *code, parts);
    }
    let raw = std::os::unix::ffi::OsStrExt::from_bytes(b"src/\xff.rs");
    let mut command = project.command(&["plan", "x", "--at"]);
    let raw: &std::ffi::OsStr = raw;
    Said::of(&command.arg(raw).output().unwrap()).exits(2).says(&["UTF-8"]);
    assert_eq!(project.read("src/lib.rs"), LIB);
    assert_eq!(project.run(&["tasks", "--json"]).json()["tasks"].as_array().map(Vec::len), Some(1), "no task was made");
}

#[test]
fn with_several_tasks_nothing_is_done_to_any() {
    let project = project();
    let first = project.approved("Rename total", PLAN);
    let second = project.run(&["plan", "Another", "--document", &given(&project, PLAN), "--json"]).exits(0).json();
    let second = second["task"].as_str().unwrap().to_owned();
    for arguments in [["run"].as_slice(), &["status"], &["show"], &["abandon"], &["accept", "--all"], &["approve"]] {
        refused(&project, arguments, 2, &[&first, &second]);
    }
    let tasks = project.run(&["tasks", "--json"]).json();
    assert_eq!(tasks["tasks"].as_array().map(Vec::len), Some(2), "{tasks}");
    project.run(&["abandon", &second]).exits(0);
    project.run(&["status"]).exits(0).says(&[&first]);
}

#[test]
fn every_action_answers_in_json() {
    let empty = project();
    let full = project();
    let task = full.approved("Rename total", PLAN);
    full.run(&["run", &task]).exits(3);
    let terminal = ACTIONS.iter().filter(|row| !matches!(row.verb, Verb::Tour | Verb::Lsp));
    for word in terminal.filter_map(|row| row.terminal) {
        for project in [&empty, &full] {
            let plain = project.run(&[word, "--json"]);
            assert!(plain.code.is_some(), "{plain:?}");
            let json = plain.json();
            let failed = json.get("error").is_some();
            assert_eq!(failed, plain.code != Some(0) && json.get("view").is_none(), "{word} {plain:?}");
        }
    }
    let one = ["schema", "plan", "--json"];
    assert!(empty.run(&one).exits(0).json().is_object());
}

#[test]
fn each_exit_code_is_reached() {
    let simple = PLAN.replace("\n### look: Is it right?\n\n- ask: anyone\n", "");
    let done = project();
    let task = done.approved("Rename total", &simple);
    done.run(&["run", &task]).exits(3);
    done.run(&["accept", &task, "--all"]).exits(0);
    done.run(&["status", "none"]).exits(2);

    let fails = project();
    let task = fails.approved("Rename total", &simple.replace("absent: `\\btotal\\b`", "present: `\\btotal\\b`"));
    fails.run(&["run", &task]);
    fails.run(&["accept", &task, "--all"]).exits(1);

    let refused = Project::new(&[("src/lib.rs", LIB), ("src/b.rs", "pub fn b() -> u32 {\n    crate::total(1)\n}\n")]);
    let task = refused.approved("Rename total", &simple.replace("## Steps", "- enforce: files at most 1\n\n## Steps"));
    refused.run(&["run", &task]).exits(6).says(&["files"]);

    let slow = project();
    let waits = "\n### wait: Wait\n\n- check: `sleep 600`\n";
    let task = slow.approved("Rename total", &format!("{simple}{waits}"));
    slow.run(&["run", &task]).exits(3);
    slow.run(&["gate", &task, "allow"]).exits(0);
    slow.run(&["run", &task, "--timeout", "700ms"]).exits(5).says(&["the time is up", "planwright resume"]);
    slow.run(&["status", &task]).exits(0).says(&["paused"]);

    let mut later = project();
    later.env = vec![("OPENAI_BASE_URL".to_owned(), refused_url().unwrap())];
    let edit = "\n### edit: Edit it\n\n- edit: `src/lib.rs`\n- retry: 2, every 2 h\n\nMake it better.\n";
    let task = later.approved("Make it better", &format!("{simple}{edit}"));
    later.run(&["run", &task]).exits(4).says(&["nothing listens at"]);
    for project in [&refused, &slow, &later] {
        assert_eq!(project.read("src/lib.rs"), LIB);
    }
}

#[test]
fn a_configuration_that_cannot_be_meant_starts_nothing() {
    let mut project = project();
    let file = project.root.with_file_name("bad.toml");
    let path = file.to_str().unwrap().to_owned();
    project.env = vec![("PLANWRIGHT_CONFIG".to_owned(), path.clone())];
    let cases: &[(&[u8], &[&str])] = &[
        (b"[modle.strong]\nprovider = 'openai'\n", &[":1", "`modle`", "did you mean `model`?"]),
        (b"\n[limits]\nparalel = 3\n", &[":3", "`limits.paralel`", "`limits.parallel`"]),
        (b"[model.strong\n", &[":1", "unclosed"]),
        (b"[limits]\nturns = 'many'\n", &[":2", "invalid type"]),
        (b"[limits]\nturns = 0\n", &["`limits.turns` is 0"]),
        (b"[model.strong]\nbase_url = 'localhost'\n", &["`localhost` is no http address"]),
        (b"[model.strong]\nprovider = 'anthropic'\n", &["not in this release"]),
        (b"\xff\xfe", &["cannot be read"]),
    ];
    for (text, parts) in cases {
        std::fs::write(&file, text).unwrap();
        for arguments in [["tasks"].as_slice(), &["plan", "x"]] {
            refused(&project, arguments, 1, parts);
            project.run(arguments).says(&[&path]);
        }
    }
    std::fs::remove_file(&file).unwrap();
    refused(&project, &["tasks"], 1, &[&path, "cannot be read"]);
    assert!(!project.path(".planwright").exists());
}

#[test]
fn outside_git_everything_works_and_it_is_said_what_is_missing() {
    let project = Project::without_git(&[("src/lib.rs", LIB)]);
    project.run(&["doctor"]).exits(0).says(&["in no git repository", "planwright undo"]);
    let task = project.approved("Rename total", PLAN);
    project.run(&["run", &task]).exits(3);
    project.run(&["accept", &task, "--all"]).exits(0);
    assert_eq!(project.read("src/lib.rs"), LIB.replace("total", "sum_of"));
    project.run(&["undo", &task]).exits(0);
    assert_eq!(project.read("src/lib.rs"), LIB);
}

#[test]
fn a_mangled_plan_stops_new_steps_and_a_deleted_one_is_written_again() {
    let project = project();
    let task = project.approved("Rename total", &format!("{PLAN}\n### more: And this?\n\n- ask: anyone\n"));
    project.run(&["run", &task]).exits(3);
    let page = document(&project, &task);
    let approved = std::fs::read_to_string(&page).unwrap();
    let mangled: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b"no plan at all\n".to_vec(),
        b"# Rename\n\xff\xfe\0".to_vec(),
        approved.replace("`sum_of`", "`something_else`").into_bytes(),
        approved.replace("- scope: `**`", "- scope: `**`, `/etc/**`").into_bytes(),
    ];
    project.run(&["gate", &task, "allow"]).exits(0);
    // What was under way is finished on the stored revision; nothing new is started.
    std::fs::write(&page, &mangled[1]).unwrap();
    project.run(&["run", &task]).exits(3).says(&["look    done"]);
    for text in &mangled {
        std::fs::write(&page, text).unwrap();
        let said = project.run(&["run", &task]).exits(3);
        said.says(&["the plan document says something else than what was approved", "planwright compare"]);
        assert!(std::fs::read(&page).unwrap() == *text, "the user's text was changed");
        let status = project.run(&["status", &task, "--json"]).exits(0).json();
        assert_eq!(status["strayed"], true, "{status}");
        assert!(status["gates"].as_array().is_some_and(Vec::is_empty), "no new step has started: {status}");
        project.run(&["show", &task]).exits(0);
    }
    // The words around the plan are nobody's but the user's.
    std::fs::write(&page, format!("{approved}\n## Notes\n\nMine.\n")).unwrap();
    assert_eq!(project.run(&["status", &task, "--json"]).json()["strayed"], false);
    std::fs::write(&page, &mangled[1]).unwrap();
    project.run(&["run", &task]).exits(3);
    std::fs::remove_file(&page).unwrap();
    project.run(&["run", &task]).exits(3).says(&["gate g2", "more"]);
    assert_eq!(std::fs::read_to_string(&page).unwrap(), approved);
    // Without its folder the task goes on as well.
    std::fs::remove_dir_all(project.path(".planwright")).unwrap();
    project.run(&["gate", &task, "allow"]).exits(0);
    project.run(&["run", &task]).exits(3);
    project.run(&["accept", &task, "--all"]).exits(0).says(&["verified"]);
    assert_eq!(project.read("src/lib.rs"), LIB.replace("total", "sum_of"));
}

#[test]
fn what_a_plan_hides_keeps_it_from_approval_and_from_the_terminal() {
    let hidden = [
        ("\u{1b}[2J", "U+001B"),
        ("\u{202e}", "U+202E"),
        ("\u{200b}", "U+200B"),
        ("\u{7}", "U+0007"),
        ("\0", "U+0000"),
    ];
    for (text, number) in hidden {
        let project = project();
        let plan = PLAN.replace("# Rename total\n", &format!("# Rename {text} total\n\nA goal{text}.\n"));
        // No argument holds a NUL.
        let goal = format!("x{}y", text.trim_matches('\0'));
        let said = project.run(&["plan", &goal, "--document", &given(&project, &plan)]).exits(3);
        harmless(&said);
        said.says(&["hidden-character", number]);
        for arguments in [["approve", "--yes"].as_slice(), &["show"], &["tasks"], &["status"], &["timeline"]] {
            harmless(&project.run(arguments));
            let with_json: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
            let json = project.run(&with_json);
            harmless(&json);
            json.json();
        }
        project.run(&["approve", "--yes"]).exits(3);
    }
}

/// Nothing in it that a terminal obeys or that shows text in another order.
#[track_caller]
fn harmless(said: &Said) {
    for text in [&said.out, &said.err] {
        let obeyed = |c: char| {
            (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        assert!(!text.chars().any(obeyed), "{said:?}");
    }
}

#[test]
fn hostile_file_names_reach_no_terminal_raw() {
    let call = "pub fn f() -> u32 {\n    crate::total(1)\n}\n";
    let project = project();
    let names = ["src/--all.rs", "src/b\u{202e}idi.rs", "src/new\nline.rs", "src/e\u{1b}[31mscape.rs", "src/`tick`.rs"];
    for name in names {
        project.write(name, call);
    }
    let raw: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"src/raw\xff.rs");
    std::fs::write(project.root.join(raw), call).unwrap();
    let plan = PLAN
        .replace("in `src/lib.rs`", "in `src/lib.rs`, `src/--all.rs`")
        .replace("\n### look: Is it right?\n\n- ask: anyone\n", "\n### list: List it\n\n- check: `ls src`\n");
    let task = project.approved("Rename total", &plan);
    for arguments in [
        ["run", &task].as_slice(),
        &["gate", &task, "allow"],
        &["run", &task],
        &["review"],
        &["review", "--json"],
        &["status"],
        &["timeline"],
        &["timeline", "--json"],
        &["accept", "--file", "src/--all.rs"],
        &["plan", "x", "--at", "src/e\u{1b}[31mscape.rs"],
        &["plan", "x", "--at", "src/new\nline.rs"],
        &["plan", "x", "--at", "src/none\u{202e}.rs"],
        &["e\u{1b}[31mvil"],
        &["status", "e\u{1b}[31mvil", "--json"],
    ] {
        harmless(&project.run(arguments));
    }
    assert_eq!(project.read("src/--all.rs"), call.replace("total", "sum_of"), "--file names the file, not an option");
    for name in &names[1..] {
        assert_eq!(project.read(name), call, "{name:?}");
    }
    assert_eq!(std::fs::read_to_string(project.root.join(raw)).unwrap(), call);
}

#[test]
fn a_plan_over_the_limits_is_told_so_and_one_at_the_limits_is_read() {
    let project = project();
    let steps = |count: usize| -> String {
        let step = |n: usize| format!("\n### s{n}: Step {n}\n\n- ask: anyone\n");
        format!("{PLAN}{}", (0..count - 2).map(step).collect::<String>())
    };
    project.run(&["plan", "at", "--document", &given(&project, steps(200))]).exits(0);
    let said = project.run(&["plan", "over", "--document", &given(&project, steps(201))]).exits(3);
    said.says(&["a plan has at most 200 steps"]);
    let long = format!("{PLAN}\n## Notes\n\n{}\n", "A line of prose, of which there is plenty.\n".repeat(30_000));
    assert!(long.len() > 1_000_000);
    let said = project.run(&["plan", "long", "--document", &given(&project, &long)]).exits(3);
    said.says(&["the limit is 1000000"]);
    let file = given(&project, b"# x\n\xff\n");
    refused(&project, &["plan", "raw", "--document", &file], 2, &["given.plan.md", "UTF-8"]);
    assert_eq!(project.read("src/lib.rs"), LIB);
}

#[test]
fn a_model_that_refuses_or_talks_nonsense_costs_an_error_and_no_goal() {
    let nonsense = [
        ("html", Turn::default().after([Fault::Html, Fault::Html, Fault::Html, Fault::Html]), "web page"),
        ("key", Turn::default().after([Fault::status(401, "bad key"), Fault::status(401, "bad key")]), "bad key"),
        ("prose", Turn::text("I would rather talk about the weather."), "which is no plan"),
    ];
    for (name, turn, expect) in nonsense {
        let mut project = project();
        let model = ScriptedModel::start(Script::in_order([turn])).unwrap();
        project.env = vec![("OPENAI_BASE_URL".to_owned(), model.base_url())];
        let said = project.run(&["plan", "make it better"]);
        assert!(matches!(said.code, Some(1 | 3)), "{name}: {said:?}");
        let told = format!("{}{}", said.out, said.err).to_lowercase();
        assert!(told.contains(expect), "{name}: `{expect}` is not in {said:?}");
        kept(&project, name);
    }
    let mut project = project();
    project.env = vec![("OPENAI_BASE_URL".to_owned(), refused_url().unwrap())];
    let said = project.run(&["plan", "make it better"]).exits(1);
    said.says(&["nothing listens at http://127.0.0.1", "correct $OPENAI_BASE_URL", "planwright replan"]);
    project.run(&["doctor"]).says(&["cannot be used", "nothing listens at"]);
    kept(&project, "refused");
    // The goal outlives the fault: with a model that answers it is planned.
    let task = project.only_task();
    project.env.clear();
    project.run(&["replan", &task]).exits(3).says(&["# make it better", "No model is configured"]);
}

/// The goal is there still, and the files are.
#[track_caller]
fn kept(project: &Project, name: &str) {
    project.run(&["tasks"]).exits(0).says(&["make it better"]);
    assert_eq!(project.read("src/lib.rs"), LIB, "{name}");
}
