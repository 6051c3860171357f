#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

use super::arguments::{Known, given};
use super::errand::{Errand, Wanted, errand};
use super::paper;
use crate::actions::ACTIONS;
use crate::domain::ids::{HunkId, StepId, TaskId, WorkspacePath};
use crate::domain::task::action::Place;
use proptest::prelude::*;
use serde_json::{Value, json};

fn file(text: &str) -> Option<WorkspacePath> {
    WorkspacePath::new(text.strip_prefix("file:///w/").unwrap_or(text)).ok()
}

/// What a command with these arguments comes to, in a line.
fn told(name: &str, arguments: &[Value]) -> String {
    let row = ACTIONS.iter().find(|row| row.lsp == Some(name)).unwrap();
    let tasks = [TaskId::new("k3xf")];
    let known = Known { tasks: &tasks, file: &file };
    let usage = |what: String| (what, row.usage());
    match given(row, arguments, &known).map_err(usage).and_then(|given| errand(row, given)) {
        Ok(Errand::Act(action)) => serde_json::to_string(&action).unwrap().replace('"', ""),
        Ok(Errand::Begin(action)) => format!("page of {}", serde_json::to_string(&action).unwrap().replace('"', "")),
        Ok(other) => format!("{other:?}").replace("WorkspacePath", "").replace('"', ""),
        Err((what, _)) => format!("! {what}"),
    }
}

#[track_caller]
fn check(rows: &[(&str, Value)], expect: &str) {
    let told = rows.iter().map(|(name, arguments)| {
        let Value::Array(values) = arguments else { panic!("arguments are a list") };
        format!("{name} {}\n  {}\n", arguments.to_string().replace('"', "'"), told(name, values))
    });
    let told: String = told.collect();
    let expect: Vec<&str> = expect.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let lines: Vec<&str> = told.lines().map(str::trim).collect();
    assert_eq!(lines, expect, "\n{told}");
}

#[test]
fn new_work() {
    check(
        &[
            ("plan", json!(["make retries configurable"])),
            ("plan", json!(["make", "retries", "configurable"])),
            ("plan", json!([])),
            ("plan", json!([null])),
            ("plan", json!([["src/a.rs", 12, 10, 14]])),
            ("plan", json!(["src/a.rs", 12, 10, 14])),
            ("plan", json!(["src/a.rs", 12, "make it so"])),
            ("plan", json!(["make it so", "--at", "src/a.rs:3-4", "--with", "notes.md"])),
            ("plan", json!([{"goal": "g", "path": "src/a.rs", "line": 2, "last": 3, "comment": {"line": 2, "text": "# agent: g\n"}}])),
            ("plan", json!([{"goal": "g", "uri": "file:///w/src/a.rs", "references": ["b.md"],
                "range": {"start": {"line": 4, "character": 1}, "end": {"line": 6, "character": 0}}}])),
            ("changeItem", json!([{"path": "src/a.rs", "line": 7, "last": 9, "words": "faster"}])),
            ("changeItem", json!([{"path": "src/a.rs", "line": 7}])),
            ("changeItem", json!(["src/a.rs:7", "faster"])),
            ("changeItem", json!(["src/a.rs"])),
            ("fixProblem", json!([{"path": "src/a.rs", "line": 7, "last": 7,
                "problem": {"message": "unused", "code": "E1", "source": "rustc", "range": {}}}])),
            ("fixProblem", json!([{"path": "src/a.rs", "line": 7}])),
            ("ask", json!(["who calls send?"])),
            ("ask", json!([{"path": "src/a.rs", "line": 7}])),
        ],
        "
        plan ['make retries configurable']
          page of {do:plan,goal:{words:make retries configurable,place:null,references:[]},document:null}
        plan ['make','retries','configurable']
          page of {do:plan,goal:{words:make retries configurable,place:null,references:[]},document:null}
        plan []
          Words { wanted: Plan, place: None }
        plan [null]
          Words { wanted: Plan, place: None }
        plan [['src/a.rs',12,10,14]]
          Words { wanted: Plan, place: Some(Place { path: (src/a.rs), lines: Some((10, 14)) }) }
        plan ['src/a.rs',12,10,14]
          Words { wanted: Plan, place: Some(Place { path: (src/a.rs), lines: Some((10, 14)) }) }
        plan ['src/a.rs',12,'make it so']
          page of {do:plan,goal:{words:make it so,place:{path:src/a.rs,lines:[12,12]},references:[]},document:null}
        plan ['make it so','--at','src/a.rs:3-4','--with','notes.md']
          page of {do:plan,goal:{words:make it so,place:{path:src/a.rs,lines:[3,4]},references:[notes.md]},document:null}
        plan [{'goal':'g','path':'src/a.rs','line':2,'last':3,'comment':{'line':2,'text':'# agent: g\\n'}}]
          page of {do:plan,goal:{words:g,place:{path:src/a.rs,lines:[2,3]},references:[],comment:{line:2,text:# agent: g\\n}},document:null}
        plan [{'goal':'g','uri':'file:///w/src/a.rs','references':['b.md'],'range':{'start':{'line':4,'character':1},'end':{'line':6,'character':0}}}]
          page of {do:plan,goal:{words:g,place:{path:src/a.rs,lines:[5,6]},references:[b.md]},document:null}
        changeItem [{'path':'src/a.rs','line':7,'last':9,'words':'faster'}]
          Small { place: Place { path: (src/a.rs), lines: Some((7, 9)) }, words: Some(faster), fix: false }
        changeItem [{'path':'src/a.rs','line':7}]
          Words { wanted: Change, place: Some(Place { path: (src/a.rs), lines: Some((7, 7)) }) }
        changeItem ['src/a.rs:7','faster']
          Small { place: Place { path: (src/a.rs), lines: Some((7, 7)) }, words: Some(faster), fix: false }
        changeItem ['src/a.rs']
          ! the line is missing
        fixProblem [{'path':'src/a.rs','line':7,'last':7,'problem':{'message':'unused','code':'E1','source':'rustc','range':{}}}]
          Small { place: Place { path: (src/a.rs), lines: Some((7, 7)) }, words: Some(unused (rustc E1)), fix: true }
        fixProblem [{'path':'src/a.rs','line':7}]
          Small { place: Place { path: (src/a.rs), lines: Some((7, 7)) }, words: None, fix: true }
        ask ['who calls send?']
          page of {do:ask_question,goal:{words:who calls send?,place:null,references:[]}}
        ask [{'path':'src/a.rs','line':7}]
          Words { wanted: Ask, place: Some(Place { path: (src/a.rs), lines: Some((7, 7)) }) }
        ",
    );
}

#[test]
fn decisions() {
    check(
        &[
            ("approve", json!([])),
            ("approve", json!(["k3xf", "--revision", "r1-9f2c81d04a7e", "--upto", "policy"])),
            ("approve", json!([{"task": "k3xf", "revision": "r1-9f2c81d04a7e"}])),
            ("approve", json!([{"task": "k3xf", "revision": "r1"}])),
            ("accept", json!([])),
            ("accept", json!(["--all"])),
            ("accept", json!(["h1a2b3c4d", "h5e6f7a8b"])),
            ("accept", json!([{"task": "k3xf", "hunks": ["h1a2b3c4d"]}])),
            ("accept", json!([{"task": "k3xf", "file": "src/a.rs"}])),
            ("accept", json!([{"path": "src/a.rs", "line": 7}])),
            ("accept", json!([{"hunks": ["h1a2b3c4d"], "all": true}])),
            ("accept", json!([{"task": "k3xf", "hunks": ["h1a2b3c4d"], "plan": true}])),
            ("reject", json!([{"plan": true}])),
            ("reject", json!(["h1a2b3c4d", "the", "name is taken"])),
            ("reject", json!([{"task": "k3xf", "step": "policy", "reason": "no"}])),
            ("undo", json!([])),
            ("undo", json!([["src/a.rs", 3]])),
            ("gate", json!(["allow"])),
            ("gate", json!(["k3xf", "g2", "deny", "not on a Friday"])),
            ("gate", json!([{"task": "k3xf", "gate": "g1", "answer": "allow_for_plan"}])),
            ("gate", json!(["g1"])),
            ("answer", json!(["three attempts"])),
            ("answer", json!([2, "no jitter"])),
            ("answer", json!([{"task": "k3xf", "gate": "g3", "words": "yes"}])),
            ("answer", json!([{"task": "k3xf", "number": 1}])),
        ],
        "
        approve []
          Approve { task: TheOnlyOne, upto: None }
        approve ['k3xf','--revision','r1-9f2c81d04a7e','--upto','policy']
          {do:approve,task:{task:k3xf},revision:{number:1,digest:9f2c81d04a7e},upto:policy}
        approve [{'task':'k3xf','revision':'r1-9f2c81d04a7e'}]
          {do:approve,task:{task:k3xf},revision:{number:1,digest:9f2c81d04a7e},upto:null}
        approve [{'task':'k3xf','revision':'r1'}]
          ! `r1` is no revision; one looks like r1-9f2c81d04a7e
        accept []
          Decide { decision: Accept, task: None, place: None }
        accept ['--all']
          {do:accept,task:the_only_one,target:all}
        accept ['h1a2b3c4d','h5e6f7a8b']
          {do:accept,task:the_only_one,target:{hunks:[h1a2b3c4d,h5e6f7a8b]}}
        accept [{'task':'k3xf','hunks':['h1a2b3c4d']}]
          {do:accept,task:{task:k3xf},target:{hunks:[h1a2b3c4d]}}
        accept [{'task':'k3xf','file':'src/a.rs'}]
          {do:accept,task:{task:k3xf},target:{file:src/a.rs}}
        accept [{'path':'src/a.rs','line':7}]
          Decide { decision: Accept, task: None, place: Some(Place { path: (src/a.rs), lines: Some((7, 7)) }) }
        accept [{'hunks':['h1a2b3c4d'],'all':true}]
          ! hunks, file, step and all exclude each other
        accept [{'task':'k3xf','hunks':['h1a2b3c4d'],'plan':true}]
          Offered { accept: true, task: TaskId(k3xf), hunks: [HunkId(h1a2b3c4d)] }
        reject [{'plan':true}]
          ! the task is missing
        reject ['h1a2b3c4d','the','name is taken']
          {do:reject,task:the_only_one,target:{hunks:[h1a2b3c4d]},reason:the name is taken}
        reject [{'task':'k3xf','step':'policy','reason':'no'}]
          {do:reject,task:{task:k3xf},target:{step:policy},reason:no}
        undo []
          {do:undo,task:the_only_one,target:all}
        undo [['src/a.rs',3]]
          Decide { decision: Undo, task: None, place: Some(Place { path: (src/a.rs), lines: Some((3, 3)) }) }
        gate ['allow']
          {do:gate,task:the_only_one,gate:null,answer:allow,comment:null}
        gate ['k3xf','g2','deny','not on a Friday']
          {do:gate,task:{task:k3xf},gate:g2,answer:deny,comment:not on a Friday}
        gate [{'task':'k3xf','gate':'g1','answer':'allow_for_plan'}]
          {do:gate,task:{task:k3xf},gate:g1,answer:allow_for_plan,comment:null}
        gate ['g1']
          ! allow, deny or happened is missing
        answer ['three attempts']
          {do:answer,task:the_only_one,question:null,words:three attempts}
        answer [2,'no jitter']
          {do:answer,task:the_only_one,question:2,words:no jitter}
        answer [{'task':'k3xf','gate':'g3','words':'yes'}]
          {do:gate,task:{task:k3xf},gate:g3,answer:allow,comment:yes}
        answer [{'task':'k3xf','number':1}]
          ! the answer is missing
        ",
    );
}

#[test]
fn the_course_of_a_task_and_its_pages() {
    check(
        &[
            ("run", json!([])),
            ("pause", json!(["k3xf"])),
            ("resume", json!([{"task": "k3xf"}])),
            ("cancel", json!(["zzzz"])),
            ("abandon", json!([])),
            ("retry", json!(["policy"])),
            ("skip", json!([])),
            ("skip", json!(["k3xf", "announce"])),
            ("takeOver", json!([{"task": "k3xf", "step": "policy"}])),
            ("markDone", json!(["policy"])),
            ("say", json!(["keep the", "builder style"])),
            ("say", json!([])),
            ("revise", json!(["k3xf", "split the second step"])),
            ("replan", json!([])),
            ("openPlan", json!([])),
            ("openReview", json!([{"task": "k3xf", "hunks": ["h1a2b3c4d"]}])),
            ("openTimeline", json!(["--states"])),
            ("preview", json!(["k3xf", "policy"])),
            ("compare", json!(["r1", "r3-9f2c81d04a7e"])),
            ("compare", json!([{"task": "k3xf", "from": 1, "to": "r2"}])),
            ("tasks", json!([])),
            ("status", json!(["k3xf"])),
            ("nextHunk", json!([["src/a.rs", 4]])),
            ("previousHunk", json!([])),
            ("doctor", json!([])),
        ],
        "
        run []
          {do:run,task:the_only_one}
        pause ['k3xf']
          {do:pause,task:{task:k3xf}}
        resume [{'task':'k3xf'}]
          {do:resume,task:{task:k3xf}}
        cancel ['zzzz']
          ! there is no task `zzzz`
        abandon []
          {do:abandon,task:the_only_one}
        retry ['policy']
          {do:retry,task:the_only_one,step:policy}
        skip []
          ! the step is missing
        skip ['k3xf','announce']
          {do:skip,task:{task:k3xf},step:announce}
        takeOver [{'task':'k3xf','step':'policy'}]
          {do:take_over,task:{task:k3xf},step:policy}
        markDone ['policy']
          {do:mark_done,task:the_only_one,step:policy}
        say ['keep the','builder style']
          {do:say,task:the_only_one,words:keep the builder style,step:null}
        say []
          ! what to say is missing
        revise ['k3xf','split the second step']
          {do:revise,task:{task:k3xf},words:split the second step}
        replan []
          {do:replan,task:the_only_one,words:null}
        openPlan []
          Show(Plan(TheOnlyOne))
        openReview [{'task':'k3xf','hunks':['h1a2b3c4d']}]
          Show(Review(Task(TaskId(k3xf)), Some(HunkId(h1a2b3c4d))))
        openTimeline ['--states']
          Show(Page(TheOnlyOne, Timeline(States)))
        preview ['k3xf','policy']
          Show(Page(Task(TaskId(k3xf)), Preview(Some(policy))))
        compare ['r1','r3-9f2c81d04a7e']
          Show(Compare(TheOnlyOne, Some(1), Some(3)))
        compare [{'task':'k3xf','from':1,'to':'r2'}]
          Show(Compare(Task(TaskId(k3xf)), Some(1), Some(2)))
        tasks []
          Show(Tasks)
        status ['k3xf']
          Show(Page(Task(TaskId(k3xf)), Task))
        nextHunk [['src/a.rs',4]]
          Walk { forward: true, place: Some(Place { path: (src/a.rs), lines: Some((4, 4)) }), task: None }
        previousHunk []
          Walk { forward: false, place: None, task: None }
        doctor []
          ! this is done in a terminal
        ",
    );
}

#[test]
fn what_is_not_understood_widens_no_decision() {
    check(
        &[
            ("accept", json!([{"hunks": 5}])),
            ("accept", json!([{"hunks": []}])),
            ("accept", json!([{"hunk": "all"}])),
            ("accept", json!([{"hunkz": ["h1a2b3c4d"]}])),
            ("accept", json!([{"all": "yes"}])),
            ("accept", json!([{"path": "/etc/passwd", "line": 1}])),
            ("accept", json!([{"path": "a.rs", "line": -1}])),
            ("accept", json!([{"line": 3}])),
            ("accept", json!([true])),
            ("accept", json!([[["h1a2b3c4d"]]])),
            ("accept", json!([["a.rs", 0]])),
            ("accept", json!(["--file"])),
            ("gate", json!(["zzzz", "allow"])),
            ("gate", json!(["nosuchtask", "allow"])),
            ("gate", json!(["deny", "--for-plan"])),
            ("gate", json!(["deny", "allow"])),
            ("gate", json!([{"task": "k3xf"}, {"task": "zzzz", "answer": "allow"}])),
            ("reject", json!(["zzzz"])),
            ("reject", json!(["zzzz", "h1a2b3c4d"])),
            ("reject", json!(["--all", "zzzz"])),
            ("undo", json!(["zzzz"])),
            ("approve", json!(["zzzz"])),
            ("skip", json!(["zzzz", "policy"])),
            ("say", json!(["zzzz", "stop here"])),
            ("answer", json!(["zzzz", 2, "yes"])),
            ("answer", json!(["k3xf", 2, "yes"])),
            ("abandon", json!([{"hunks": ["h1a2b3c4d"]}])),
            ("abandon", json!([["src/a.rs", 3]])),
            ("cancel", json!([{"step": "policy"}])),
            ("accept", json!([{"all": true, "path": "src/a.rs", "line": 3}])),
            ("accept", json!([{"hunks": ["h1a2b3c4d"], "gate": "g1"}])),
            ("accept", json!([{"task": "k3xf", "plan": true}])),
            ("accept", json!([{"task": "k3xf", "plan": true, "step": "policy"}])),
            ("run", json!([{"upto": "policy"}])),
            ("resume", json!([{"number": 2}])),
            ("plan", json!([{"references": ["b.md"]}])),
            ("approve", json!([{"task": ["k3xf"]}])),
            ("plan", json!([{"goal": {"deep": [[[[]]]]}}])),
        ],
        "
        accept [{'hunks':5}]
          ! `hunks` is no text
        accept [{'hunks':[]}]
          ! `hunks` is empty
        accept [{'hunk':'all'}]
          ! `all` is no hunk; one looks like h1a2b3c4d
        accept [{'hunkz':['h1a2b3c4d']}]
          ! nothing is known of `hunkz`
        accept [{'all':'yes'}]
          ! `all` is neither true nor false
        accept [{'path':'/etc/passwd','line':1}]
          ! `/etc/passwd` is no file of this workspace
        accept [{'path':'a.rs','line':-1}]
          ! `line` is no whole number
        accept [{'line':3}]
          ! lines are given without a file
        accept [true]
          ! `true` and `false` mean nothing here; name what is meant
        accept [[['h1a2b3c4d']]]
          ! a list holds words, or a file and its lines
        accept [['a.rs',0]]
          ! lines count from 1
        accept ['--file']
          ! --file takes FILE
        gate ['zzzz','allow']
          ! there is no task `zzzz`
        gate ['nosuchtask','allow']
          ! `nosuchtask` is one word too many
        gate ['deny','--for-plan']
          ! `for-plan` goes with allow
        gate ['deny','allow']
          ! the answer is given twice
        gate [{'task':'k3xf'},{'task':'zzzz','answer':'allow'}]
          ! the task is given twice
        reject ['zzzz']
          ! there is no task `zzzz`
        reject ['zzzz','h1a2b3c4d']
          ! there is no task `zzzz`
        reject ['--all','zzzz']
          ! there is no task `zzzz`
        undo ['zzzz']
          ! there is no task `zzzz`
        approve ['zzzz']
          ! there is no task `zzzz`
        skip ['zzzz','policy']
          ! there is no task `zzzz`
        say ['zzzz','stop here']
          ! there is no task `zzzz`; several words are one text
        answer ['zzzz',2,'yes']
          ! there is no task `zzzz`; several words are one text
        answer ['k3xf',2,'yes']
          {do:answer,task:{task:k3xf},question:2,words:yes}
        abandon [{'hunks':['h1a2b3c4d']}]
          ! a hunk means nothing here
        abandon [['src/a.rs',3]]
          ! a place means nothing here
        cancel [{'step':'policy'}]
          ! a step means nothing here
        accept [{'all':true,'path':'src/a.rs','line':3}]
          ! a place means nothing here
        accept [{'hunks':['h1a2b3c4d'],'gate':'g1'}]
          ! a gate means nothing here
        accept [{'task':'k3xf','plan':true}]
          ! the hunk is missing
        accept [{'task':'k3xf','plan':true,'step':'policy'}]
          ! changes of a plan are hunks, or all
        run [{'upto':'policy'}]
          ! `upto` means nothing here
        resume [{'number':2}]
          ! a number means nothing here
        plan [{'references':['b.md']}]
          ! a reference means nothing here
        approve [{'task':['k3xf']}]
          ! `task` is no text
        plan [{'goal':{'deep':[[[[]]]]}}]
          ! `goal` is no text
        ",
    );
    assert_eq!(told("plan", &[json!("x".repeat(100_001))]), "! a text has 100001 bytes; at most 100000 are taken");
}

/// Values as a client in disorder sends them.
fn value() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("k3xf"),
        Just("h1a2b3c4d"),
        Just("g1"),
        Just("allow"),
        Just("r1-9f2c81d04a7e"),
        Just("r2"),
        Just("--all"),
        Just("--file"),
        Just("--revision"),
        Just("src/a.rs"),
        Just("src/a.rs:3-9"),
        Just("/etc"),
        Just(""),
        Just("\u{0}é"),
        Just("4294967296"),
        Just(":-"),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u8>().prop_map(Value::from),
        Just(json!(1.5)),
        word.clone().prop_map(Value::from),
    ];
    let names = prop::sample::select(vec![
        "task",
        "step",
        "hunk",
        "hunks",
        "file",
        "all",
        "gate",
        "answer",
        "words",
        "revision",
        "from",
        "to",
        "upto",
        "number",
        "path",
        "uri",
        "line",
        "last",
        "lines",
        "range",
        "references",
        "problem",
        "problems",
        "states",
        "x",
    ]);
    leaf.prop_recursive(3, 24, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec((names.clone(), inner), 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_arguments_panic(which in any::<prop::sample::Index>(), values in prop::collection::vec(value(), 0..5)) {
        let rows: Vec<&str> = ACTIONS.iter().filter_map(|row| row.lsp).collect();
        let name: &str = which.get::<&str>(&rows);
        prop_assert!(!told(name, &values).is_empty());
    }

    #[test]
    fn no_page_panics_and_a_blank_one_asks_for_nothing(text in ".{0,200}", lines in any::<Option<(u16, u16)>>()) {
        drop(paper::read(&text));
        let path = WorkspacePath::new("src/a b.rs").unwrap();
        let lines = lines.map(|(a, b)| (u32::from(a.min(b)) + 1, u32::from(a.max(b)) + 1));
        let place = Place { path, lines };
        let (task, hunk) = (TaskId::new("k3xf"), HunkId::new("h1a2b3c4d"));
        let say = |step| Wanted::Say { task: task.clone(), step };
        let all = [Wanted::Plan, Wanted::Change, Wanted::Ask, say(None), say(Some(StepId::new("policy")))];
        for wanted in all.into_iter().chain([Wanted::Reject { task: task.clone(), hunk }]) {
            let blank = paper::blank(&wanted, Some(&place));
            prop_assert_eq!(paper::read(&blank), None);
            let asked = paper::read(&format!("{blank}\nmake it so: now\nand then\n")).unwrap();
            prop_assert_eq!((asked.wanted, asked.place), (wanted, Some(place.clone())));
            prop_assert_eq!(asked.words, "make it so: now\nand then");
        }
    }
}

#[test]
fn a_touched_hunk_is_settled_and_a_reason_may_be_asked_for() {
    let hash = "a".repeat(64);
    check(
        &[
            ("resolve", json!(["k3xf", "h1a2b3c4d", "theirs"])),
            ("resolve", json!([{"task": "k3xf", "hunk": "h1a2b3c4d", "side": "mine", "shown": hash}])),
            ("resolve", json!(["k3xf", "h1a2b3c4d", "theirs", hash])),
            ("resolve", json!([{"side": "both"}])),
            ("resolve", json!(["h1a2b3c4d"])),
            ("resolve", json!(["mine", "theirs"])),
            ("resolve", json!([["src/a.rs", 3, 3, 3], "mine"])),
            ("reject", json!([{"task": "k3xf", "hunk": "h1a2b3c4d", "ask": true}])),
            ("reject", json!([{"path": "src/a.rs", "line": 3, "ask": true}])),
            ("reject", json!([{"task": "k3xf", "all": true, "ask": true}])),
            ("accept", json!([{"task": "k3xf", "hunk": "h1a2b3c4d", "ask": true}])),
            ("say", json!([{"task": "k3xf", "step": "policy"}])),
            ("why", json!(["h1a2b3c4d"])),
        ],
        &format!(
            "
        resolve ['k3xf','h1a2b3c4d','theirs']
          {{do:resolve,task:{{task:k3xf}},hunk:h1a2b3c4d,side:theirs}}
        resolve [{{'task':'k3xf','hunk':'h1a2b3c4d','side':'mine','shown':'{hash}'}}]
          {{do:resolve,task:{{task:k3xf}},hunk:h1a2b3c4d,side:mine,shown:{hash}}}
        resolve ['k3xf','h1a2b3c4d','theirs','{hash}']
          {{do:resolve,task:{{task:k3xf}},hunk:h1a2b3c4d,side:theirs,shown:{hash}}}
        resolve [{{'side':'both'}}]
          ! `both` is neither mine nor theirs
        resolve ['h1a2b3c4d']
          ! mine or theirs is missing
        resolve ['mine','theirs']
          ! the side is given twice
        resolve [['src/a.rs',3,3,3],'mine']
          Decide {{ decision: Resolve(Mine), task: None, place: Some(Place {{ path: (src/a.rs), lines: Some((3, 3)) }}) }}
        reject [{{'task':'k3xf','hunk':'h1a2b3c4d','ask':true}}]
          Words {{ wanted: Reject {{ task: TaskId(k3xf), hunk: HunkId(h1a2b3c4d) }}, place: None }}
        reject [{{'path':'src/a.rs','line':3,'ask':true}}]
          Decide {{ decision: RejectFor, task: None, place: Some(Place {{ path: (src/a.rs), lines: Some((3, 3)) }}) }}
        reject [{{'task':'k3xf','all':true,'ask':true}}]
          ! words are asked for of one hunk of a task
        accept [{{'task':'k3xf','hunk':'h1a2b3c4d','ask':true}}]
          ! `ask` means nothing here
        say [{{'task':'k3xf','step':'policy'}}]
          Words {{ wanted: Say {{ task: TaskId(k3xf), step: Some(StepId(policy)) }}, place: None }}
        why ['h1a2b3c4d']
          Show(Review(TheOnlyOne, Some(HunkId(h1a2b3c4d))))
        "
        ),
    );
}

#[test]
fn words_without_a_sound_head_are_nobodys() {
    for head in ["do: reject\n", "do: reject\ntask: k3xf\n", "do: reject\ntask: k3xf\nhunk: x\n", "do: say\n"] {
        assert_eq!(paper::read(&format!("{head}\nbecause\n")), None, "{head}");
    }
    // A goal may begin with any word.
    let goal = paper::read("task: k3xf\n").unwrap();
    assert_eq!((goal.wanted, goal.words.as_str()), (Wanted::Plan, "task: k3xf"));
}
