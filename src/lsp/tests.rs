#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test")]

use super::session::Acts;
use super::{Ground, Workplace};
use crate::desk::{Desk, Dossier, Query, View, fixture};
use crate::domain::task::action::{Action, Actor, Refusal, RefusalKind, Reply, Which};
use crate::domain::task::decide::refuse;
use crate::domain::task::standing::TaskState;
use crate::host::{Port, Update};
use crate::ports::{Documents, Fut, SessionId};
use crate::testing::editor::{Editor, Profile, Shared, TestGround, TestPort, Told};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::{broadcast, watch};
use tokio::time::sleep;

/// A folder, and what the server stands on in it.
struct Bench {
    folder: TempDir,
    documents: Arc<Told>,
    port: Arc<TestPort>,
    ground: Arc<TestGround>,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (documents, port) = (Arc::new(Told::default()), Arc::new(TestPort::default()));
        let ground = TestGround::with_port(folder.path(), documents.clone(), port.clone());
        Self { folder, documents, port, ground }
    }

    async fn editor(&self, profile: Profile) -> Editor {
        let editor = Editor::start(profile, self.folder.path(), Arc::new(Shared(self.ground.clone()))).await;
        // These tests are not about what a command says where there is no task.
        editor.allow("window/logMessage");
        editor.allow("window/showMessage");
        editor
    }

    fn untold(&self, profile: Profile) -> Editor {
        Editor::connect(profile, self.folder.path(), Arc::new(Shared(self.ground.clone())))
    }
}

/// The list of tasks where there is none: the command is answered, and then says so.
async fn asks_for_tasks(editor: &Editor) {
    assert_eq!(editor.command("planwright.tasks", json!([])).await, Ok(Value::Null));
    says_there_is_none(editor).await;
}

async fn says_there_is_none(editor: &Editor) {
    for method in ["window/logMessage", "window/showMessage"] {
        let said = editor.expect(method).await;
        assert_eq!(said["message"], "planwright: there is no task here yet; next: planwright.plan");
    }
}

#[tokio::test]
async fn exit_ends_it_with_standard_input_open() {
    let bench = Bench::new();
    let editor = bench.editor(Profile::neovim_0_11()).await;
    assert_eq!(editor.quit().await, 0);
    assert_eq!(bench.documents.begun(), ["Neovim 0.11.4"]);
    assert_eq!(bench.documents.ended(), [SessionId(1)]);
    assert_eq!(bench.ground.closed.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn exit_without_shutdown_is_a_failure() {
    let mut editor = Bench::new().editor(Profile::neovim_0_11()).await;
    editor.send(&json!({"jsonrpc": "2.0", "method": "exit"}));
    assert_eq!(editor.code().await, 1);
}

#[tokio::test]
async fn the_end_of_input_ends_it_whatever_handlers_wait_for() {
    let mut editor = Bench::new().editor(Profile::neovim_0_11()).await;
    let _waiting =
        [editor.begin("planwright/test/waits", Value::Null), editor.begin("planwright/test/waits", Value::Null)];
    editor.hang_up();
    assert_eq!(editor.code().await, 1);
}

#[tokio::test]
async fn a_shutdown_and_no_exit_is_in_order() {
    let mut editor = Bench::new().editor(Profile::neovim_0_11()).await;
    assert_eq!(editor.request("shutdown", Value::Null).await, Ok(Value::Null));
    editor.hang_up();
    assert_eq!(editor.code().await, 0);
}

#[tokio::test]
async fn it_ends_before_it_was_told_anything() {
    let mut editor = Bench::new().untold(Profile::neovim_0_11());
    editor.hang_up();
    assert_eq!(editor.code().await, 1);
}

#[tokio::test]
async fn nulls_are_what_was_left_out() {
    let editor = Bench::new().editor(Profile::helix_25_07()).await;
    let command = json!({"command": "planwright.tasks", "arguments": null});
    assert_eq!(editor.request("workspace/executeCommand", command).await, Ok(Value::Null));
    says_there_is_none(&editor).await;
    assert_eq!(editor.request("shutdown", Value::Null).await, Ok(Value::Null));
}

#[tokio::test]
async fn a_request_that_may_be_passed_over_is_answered_all_the_same() {
    let editor = Bench::new().editor(Profile::neovim_0_11()).await;
    for method in ["$/unheard-of", "$/setTrace", "$/cancelRequest", "unheard-of"] {
        let error = editor.request(method, json!({"id": 7})).await.unwrap_err();
        assert_eq!((&error["code"], &error["data"]), (&json!(-32601), &json!(method)));
        // Told and not asked, it is passed over.
        editor.notify(method, json!({"id": 7}));
    }
    asks_for_tasks(&editor).await;
}

#[tokio::test]
async fn a_panic_ends_one_request() {
    let editor = Bench::new().editor(Profile::vscode_1_139()).await;
    let error = editor.request("planwright/test/panics", Value::Null).await.unwrap_err();
    assert_eq!(error["code"], -32603);
    asks_for_tasks(&editor).await;
}

#[tokio::test]
async fn an_answer_that_comes_too_late_hurts_nobody() {
    let editor = Bench::new().editor(Profile::helix_head()).await;
    editor.adjust(|profile| profile.edits = crate::testing::editor::Edits::Late(Duration::from_millis(300)));
    let said = editor.request("planwright/test/asks", Value::Null).await.unwrap();
    assert_eq!(said, "the editor did not answer `workspace/applyEdit`");
    let asked = editor.begin("planwright/test/asks", Value::Null);
    editor.notify("$/cancelRequest", json!({"id": asked.id}));
    assert_eq!(asked.answer().await.unwrap_err()["code"], -32800);
    for _ in 0..2 {
        editor.expect("workspace/applyEdit").await;
    }
    // Both late answers have arrived by then.
    sleep(Duration::from_millis(600)).await;
    editor.adjust(|profile| profile.edits = crate::testing::editor::Edits::Made);
    assert_eq!(editor.request("planwright/test/asks", Value::Null).await, Ok(Value::Bool(true)));
    editor.expect("workspace/applyEdit").await;
}

#[tokio::test]
async fn a_change_outside_of_the_text_is_said_once_and_the_text_is_followed_again_once_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let documents = crate::testing::editor::buffers();
    let ground = TestGround::with_port(folder.path(), documents.clone(), Arc::new(TestPort::default()));
    let editor = Editor::start(Profile::vscode_1_139(), folder.path(), Arc::new(Shared(ground))).await;
    editor.allow("window/logMessage");
    let path = crate::domain::ids::WorkspacePath::new("a.txt").unwrap();
    let document = json!({"uri": editor.uri("a.txt"), "version": 2});
    let heard = async || editor.request("workspace/symbol", json!({"query": ""})).await.unwrap();
    let astray = || documents.is_astray(SessionId(1), &path);
    let (line, number) = (|line: Value| json!({"line": line, "character": 0}), |n: i64| json!(n));
    let hostile = [number(7), number(4_294_967_295), number(4_294_967_296), number(-1), json!("x")];
    for place in hostile {
        editor.open("a.txt", "plaintext", "one\ntwo\n");
        let (start, end) = (line(place.clone()), line(place));
        let change = |start: &Value, end: &Value| {
            let changes = json!([{"range": {"start": start, "end": end}, "text": "x"}]);
            editor.notify("textDocument/didChange", json!({"textDocument": document, "contentChanges": changes}));
        };
        change(&line(json!(1)), &line(json!(1)));
        heard().await;
        assert!(!astray(), "this one fits");
        change(&start, &end);
        change(&start, &end);
        heard().await;
        assert!(astray(), "{start}");
        let said = editor.expect("window/showMessage").await;
        let said = said["message"].as_str().unwrap();
        assert!(said.contains("a.txt: ") && said.ends_with("next: close it and open it again"), "{said}");
        let whole = json!([{"text": "all of it\n"}]);
        editor.notify("textDocument/didChange", json!({"textDocument": document, "contentChanges": whole}));
        heard().await;
        assert!(!astray());
        assert_eq!(&*documents.newest(&path).unwrap().text, "all of it\n");
        editor.close("a.txt");
    }
}

/// What is open, by what the client says of it.
async fn opens(said: &[(&str, Value)]) -> (TempDir, Editor, Arc<dyn Documents>) {
    let folder = tempfile::tempdir().unwrap();
    let documents = crate::testing::editor::buffers();
    let ground = TestGround::with_port(folder.path(), documents.clone(), Arc::new(TestPort::default()));
    let editor = Editor::start(Profile::neovim_0_11(), folder.path(), Arc::new(Shared(ground))).await;
    editor.allow_views();
    for (method, params) in said {
        let uri = Value::String(editor.uri("a.txt"));
        let mut params = params.clone();
        if let Some(named) = params.pointer_mut("/textDocument/uri").filter(|uri| *uri == "a.txt") {
            *named = uri;
        }
        editor.notify(&format!("textDocument/{method}"), params);
    }
    (folder, editor, documents)
}

#[tokio::test]
async fn a_text_is_open_whatever_is_odd_about_its_opening() {
    for (language, version) in [(Value::Null, json!(1)), (json!("plaintext"), json!(1.0)), (json!(7), Value::Null)] {
        let document = json!({"uri": "a.txt", "languageId": language, "version": version, "text": "one\n"});
        let changed = json!({"uri": "a.txt", "version": 2.0});
        let (_folder, editor, documents) = opens(&[
            ("didOpen", json!({"textDocument": document})),
            ("didChange", json!({"textDocument": changed, "contentChanges": [{"text": "two\n"}]})),
        ])
        .await;
        editor.request("workspace/symbol", json!({"query": ""})).await.unwrap();
        let path = crate::domain::ids::WorkspacePath::new("a.txt").unwrap();
        let open = documents.newest(&path).unwrap_or_else(|| panic!("not open: {language} {version}"));
        assert_eq!((&*open.text, open.version), ("two\n", 2), "{language} {version}");
        assert!(!documents.is_astray(SessionId(1), &path));
        assert_eq!(editor.quit().await, 0);
    }
}

#[tokio::test]
async fn a_text_that_nobody_can_name_or_read_is_the_end() {
    let open = json!({"textDocument": {"uri": "a.txt", "languageId": "x", "version": 1, "text": "one\n"}});
    for (method, params) in [
        ("didOpen", json!({"textDocument": {"uri": "a.txt", "languageId": "x", "version": 1}})),
        ("didOpen", json!({"textDocument": {"uri": 7, "languageId": "x", "version": 1, "text": ""}})),
        ("didClose", json!({"textDocument": {"uri": "file://[no/a.txt"}})),
        ("didChange", json!({"textDocument": {"version": 2}, "contentChanges": []})),
        ("didSave", json!([])),
        ("didClose", Value::Null),
    ] {
        let (_folder, mut editor, _) = opens(&[("didOpen", open.clone()), (method, params.clone())]).await;
        assert_eq!(editor.code().await, 1, "{method} {params}");
    }
    // What is no file's is none of ours.
    let other = json!({"textDocument": {"uri": "term://[no", "languageId": "x", "version": 1, "text": ""}});
    let (_folder, editor, _) = opens(&[("didOpen", other)]).await;
    assert_eq!(editor.quit().await, 0);
}

#[tokio::test]
async fn many_waiting_requests_keep_nobody_from_being_heard() {
    let editor = Bench::new().editor(Profile::neovim_0_11()).await;
    let waiting: Vec<_> = (0..200).map(|_| editor.begin("planwright/test/waits", Value::Null)).collect();
    asks_for_tasks(&editor).await;
    for request in waiting {
        editor.notify("$/cancelRequest", json!({"id": request.id}));
        assert_eq!(request.answer().await.unwrap_err()["code"], -32800);
    }
}

#[tokio::test]
async fn unknown_words_in_the_capabilities_are_passed_over() {
    let bench = Bench::new();
    let mut editor = bench.untold(Profile::neovim_0_11());
    let root = editor.uri("").trim_end_matches('/').to_owned();
    let mut said = Profile::neovim_0_11().initialize(&root);
    said["capabilities"]["workspace"]["workspaceEdit"]["resourceOperations"] = json!(["create", "copy"]);
    said["capabilities"]["workspace"]["workspaceEdit"]["failureHandling"] = json!("newThing");
    said["capabilities"]["textDocument"]["hover"]["contentFormat"] = json!(["asciidoc", "markdown"]);
    said["capabilities"]["general"]["positionEncodings"] = json!(["utf-64", "utf-32", "utf-8"]);
    said["trace"] = json!("compact");
    said["rootUri"] = json!("not/absolute");
    said["initializationOptions"] = Value::Null;
    editor.initialize(said).await;
    assert_eq!(editor.capabilities["positionEncoding"], "utf-32");
    assert_eq!(editor.quit().await, 0);
}

#[tokio::test]
async fn nothing_is_said_before_initialized() {
    let bench = Bench::new();
    let editor = bench.untold(Profile::vscode_1_100());
    let root = editor.uri("").trim_end_matches('/').to_owned();
    editor.request("initialize", Profile::vscode_1_100().initialize(&root)).await.unwrap();
    let said = editor.request("planwright/test/asks", Value::Null).await;
    assert_eq!(said, Ok(json!("the editor is not there")));
    assert_eq!(editor.unread(), Vec::<Value>::new());
}

#[tokio::test]
async fn what_a_client_does_not_know_is_asked_once() {
    let editor = Bench::new().editor(Profile::helix_25_07()).await;
    // It answers -32601 to what it does not know.
    let unknown = |method: &str| json!(format!("the editor does not know `{method}`"));
    editor.adjust(|profile| profile.knows = &[]);
    let said = editor.request("planwright/test/unknown", Value::Null).await;
    assert_eq!(said, Ok(unknown("workspace/inlayHint/refresh")));
    editor.expect("workspace/inlayHint/refresh").await;
    let said = editor.request("planwright/test/unknown", Value::Null).await;
    assert_eq!(said, Ok(unknown("workspace/inlayHint/refresh")));
}

/// What the server answers to each editor, in one line an answer, and where it differs.
#[tokio::test]
async fn every_editor_gets_the_same_capabilities() {
    let mut encodings = Vec::new();
    let mut answers = Vec::new();
    for profile in Profile::all() {
        let name = format!("{} {}", profile.name, profile.version);
        let mut editor = Bench::new().editor(profile).await;
        let encoding = editor.capabilities["positionEncoding"].take();
        encodings.push(format!("{name}: {}", encoding.as_str().unwrap()));
        answers.push(editor.capabilities.clone());
    }
    insta::assert_snapshot!(encodings.join("\n"), @r"
    helix 25.07.1 (a05c151b): utf-8
    helix 25.07.1 (079a789e): utf-8
    Visual Studio Code 1.100.3: utf-16
    Visual Studio Code 1.139.1: utf-16
    Neovim 0.11.4: utf-8
    ");
    let first = answers.first().unwrap();
    assert!(answers.iter().all(|answer| answer == first), "{answers:#?}");
    let mut answer = first.clone();
    answer.as_object_mut().unwrap().remove("positionEncoding");
    let commands = answer["executeCommandProvider"]["commands"].take();
    let commands: Vec<&str> = commands.as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    let table: Vec<String> = crate::actions::ACTIONS.iter().filter_map(|row| row.command_id()).collect();
    assert_eq!(commands, table);
    let lines: Vec<String> = answer.as_object().unwrap().iter().map(|(key, value)| format!("{key}: {value}")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    inlayHintProvider: true
    textDocumentSync: {"openClose":true,"change":2,"save":{"includeText":false}}
    hoverProvider: true
    completionProvider: {"resolveProvider":false,"triggerCharacters":["`"]}
    definitionProvider: true
    documentSymbolProvider: true
    workspaceSymbolProvider: true
    codeActionProvider: {"codeActionKinds":["quickfix","refactor"],"resolveProvider":false}
    codeLensProvider: {"resolveProvider":false}
    foldingRangeProvider: true
    executeCommandProvider: {"commands":null}
    workspace: {"workspaceFolders":{"supported":true,"changeNotifications":true}}
    "#);
}

#[test]
fn an_editor_that_git_opened_is_not_at_work() {
    let acts = |acted, for_git, for_work| Acts { acted, for_git, for_work };
    for (acts, counts) in [
        (acts(false, false, false), false),
        (acts(true, false, false), true),
        (acts(true, true, false), false),
        (acts(true, true, true), true),
        (acts(false, true, true), false),
    ] {
        assert_eq!(super::resume::counts(acts), counts, "{acts:?}");
    }
}

/// A task in the middle of a step.
fn interrupted() -> Dossier {
    let mut story = fixture::story();
    let end = story.iter().position(|(_, event)| matches!(event, crate::domain::task::event::Event::Ended { work, .. } if *work == fixture::step("policy")));
    story.truncate(end.unwrap());
    fixture::dossier("k7f3", story, TaskState::Running)
}

fn with(dossier: Dossier) -> Desk {
    Desk { tasks: vec![Arc::new(dossier)], ..Desk::default() }
}

const ACT: &str = "planwright.tasks";

#[tokio::test(start_paused = true)]
async fn a_task_goes_on_after_an_act_in_a_session_that_lived() {
    let bench = Bench::new();
    bench.port.show(with(interrupted()));
    let editor = bench.editor(Profile::neovim_0_11()).await;
    editor.allow_views();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(bench.port.acted(), [], "nobody did anything");
    editor.command(ACT, json!([])).await.unwrap();
    let acted = bench.port.acts(1).await;
    let [(actor, action)] = acted.as_slice() else { panic!("{acted:?}") };
    assert_eq!((actor.user.as_str(), actor.client.as_str()), ("anna", "Neovim 0.11.4"));
    assert_eq!(*action, Action::Resume { task: Which::Task(crate::domain::ids::TaskId::new("k7f3")) });
}

#[tokio::test(start_paused = true)]
async fn what_the_editor_loads_is_no_act_and_what_is_typed_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let port = Arc::new(TestPort::default());
    port.show(with(interrupted()));
    let documents = Arc::new(crate::workspace::Buffers::default());
    let ground = TestGround::with_port(folder.path(), documents, port.clone());
    let editor = Editor::start(Profile::neovim_0_11(), folder.path(), Arc::new(Shared(ground))).await;
    editor.allow("window/logMessage");
    editor.allow_views();
    let file = folder.path().join("a.txt");
    std::fs::write(&file, "one\n").unwrap();
    editor.open("a.txt", "plaintext", "one\n");
    std::fs::write(&file, "one two\n").unwrap();
    editor.replace("a.txt", 3..3, " two");
    sleep(Duration::from_secs(60)).await;
    assert_eq!(port.acted(), []);
    editor.replace("a.txt", 0..3, "1");
    assert_eq!(port.acts(1).await.len(), 1);
}

#[tokio::test]
async fn a_change_waits_for_no_disk() {
    let folder = tempfile::tempdir().unwrap();
    // Whoever reads it waits until somebody writes.
    let pipe = folder.path().join("a.txt");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let documents = Arc::new(crate::workspace::Buffers::default());
    let ground = TestGround::with_port(folder.path(), documents, Arc::new(TestPort::default()));
    let editor = Editor::start(Profile::neovim_0_11(), folder.path(), Arc::new(Shared(ground))).await;
    editor.allow("window/logMessage");
    editor.allow_views();
    let (answered, waits) = std::sync::mpsc::channel();
    let writer = std::thread::spawn(move || {
        let late = waits.recv_timeout(Duration::from_secs(5)).is_err();
        let _nothing_to_write = std::fs::File::options().write(true).open(pipe).unwrap();
        late
    });
    editor.open("a.txt", "plaintext", "one\n");
    editor.replace("a.txt", 0..3, "two");
    editor.command(ACT, json!([])).await.unwrap();
    let _too_late = answered.send(());
    says_there_is_none(&editor).await;
    assert!(!writer.join().unwrap(), "the disk was waited for");
}

#[tokio::test(start_paused = true)]
async fn an_act_waits_until_the_session_has_lived() {
    let bench = Bench::new();
    bench.port.show(with(interrupted()));
    let editor = bench.editor(Profile::neovim_0_11()).await;
    editor.allow_views();
    editor.command(ACT, json!([])).await.unwrap();
    sleep(Duration::from_secs(19)).await;
    assert_eq!(bench.port.acted(), []);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(bench.port.acted().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn nothing_goes_on_where_it_must_not() {
    let acts = async |bench: &Bench, options: Value| {
        let mut editor = bench.untold(Profile::neovim_0_11());
        let root = editor.uri("").trim_end_matches('/').to_owned();
        let mut said = Profile::neovim_0_11().initialize(&root);
        said["initializationOptions"] = options;
        editor.initialize(said).await;
        editor.allow_views();
        editor.command(ACT, json!([])).await.unwrap();
        sleep(Duration::from_secs(60)).await;
        bench.port.acted().len()
    };
    let bench = || {
        let bench = Bench::new();
        bench.port.show(with(interrupted()));
        bench
    };
    assert_eq!(acts(&bench(), json!({})).await, 1);
    assert_eq!(acts(&bench(), json!({"resume": true})).await, 1);
    assert_eq!(acts(&bench(), json!({"resume": false})).await, 0);
    let off = bench();
    off.ground.resumes.store(false, Ordering::Relaxed);
    assert_eq!(acts(&off, json!({"resume": true})).await, 0);
    let temporary = bench();
    temporary.ground.temporary.store(true, Ordering::Relaxed);
    assert_eq!(acts(&temporary, json!({})).await, 0);
    let waits = Bench::new();
    waits.port.show(with(Dossier { state: TaskState::Paused, ..interrupted() }));
    assert_eq!(acts(&waits, json!({})).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_lost_host_is_joined_again_and_its_tasks_go_on() {
    let bench = Bench::new();
    let editor = bench.editor(Profile::neovim_0_11()).await;
    editor.allow_views();
    asks_for_tasks(&editor).await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(bench.port.acted(), []);
    bench.port.show(with(interrupted()));
    bench.port.lose();
    assert_eq!(bench.port.acts(1).await.len(), 1);
    assert_eq!(bench.port.rejoined.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn initialize_is_answered_while_the_root_is_still_being_opened() {
    let bench = Bench::new();
    bench.ground.opening.forget_permits(1);
    bench.port.show(with(interrupted()));
    let editor = bench.editor(Profile::helix_25_07()).await;
    editor.allow_views();
    editor.request("workspace/symbol", json!({"query": ""})).await.unwrap();
    bench.ground.opening.add_permits(1);
    assert_eq!(editor.quit().await, 0);
}

#[tokio::test]
async fn a_second_folder_is_refused_in_one_line_and_its_files_are_left_alone() {
    let (folder, second, third) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let documents = crate::testing::editor::buffers();
    let ground = TestGround::with_port(folder.path(), documents.clone(), Arc::new(TestPort::default()));
    let mut editor = Editor::connect(Profile::vscode_1_139(), folder.path(), Arc::new(Shared(ground)));
    editor.allow("window/logMessage");
    let named = |folder: &TempDir| {
        let path = folder.path().canonicalize().unwrap();
        (path.display().to_string(), json!({"name": "f", "uri": format!("file://{}", path.display())}))
    };
    let mut said = Profile::vscode_1_139().initialize(editor.uri("").trim_end_matches('/'));
    said["workspaceFolders"] = json!([named(&folder).1, named(&second).1]);
    editor.initialize(said).await;
    let line = |other: &TempDir| {
        let (other, own) = (named(other).0, named(&folder).0);
        format!("planwright: {other} is not served here, only {own} is; next: open it in a window of its own")
    };
    assert_eq!(editor.expect("window/showMessage").await["message"], line(&second));
    // The first is served, the second is known to be not.
    let added = json!([named(&folder).1, named(&second).1, named(&third).1]);
    editor.notify("workspace/didChangeWorkspaceFolders", json!({"event": {"added": added, "removed": []}}));
    assert_eq!(editor.expect("window/showMessage").await["message"], line(&third));
    let item = |uri: String| json!({"uri": uri, "languageId": "rust", "version": 1, "text": "fn a() {}\n"});
    let theirs = format!("file://{}/a.rs", named(&second).0);
    for uri in [theirs.clone(), editor.uri("a.rs")] {
        editor.notify("textDocument/didOpen", json!({"textDocument": item(uri)}));
    }
    let at = json!({"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}});
    let asked = json!({"textDocument": {"uri": theirs}, "range": at, "context": {"diagnostics": []}});
    assert_eq!(editor.request("textDocument/codeAction", asked).await, Ok(Value::Null));
    let paths: Vec<String> = documents.paths().iter().map(ToString::to_string).collect();
    assert_eq!(paths, ["a.rs"]);
}

#[tokio::test]
async fn another_folder_is_looked_at_beside_the_handlers() {
    let bench = Bench::new();
    let ground = Reluctant::new(Shared(bench.ground.clone()), Vec::new());
    let looked = ground.looked.clone();
    let editor = Editor::start(Profile::neovim_0_11(), bench.folder.path(), Arc::new(ground)).await;
    editor.allow_views();
    editor.look();
    let other = tempfile::tempdir().unwrap();
    let before = looked.lock().unwrap().len();
    let added = json!([{"name": "f", "uri": format!("file://{}", other.path().display())}]);
    editor.notify("workspace/didChangeWorkspaceFolders", json!({"event": {"added": added, "removed": []}}));
    editor.expect("window/showMessage").await;
    let looked = looked.lock().unwrap();
    let since: Vec<bool> = looked.iter().skip(before).map(|id| *id == std::thread::current().id()).collect();
    assert!(since.contains(&false), "nobody looked");
    assert!(!since.contains(&true), "a handler looked at the disk");
}

#[tokio::test]
async fn what_the_start_has_found_is_read_in_full_at_its_file() {
    let bench = Bench::new();
    let kept = |name: &str| {
        format!(
            "src/{name}.rs: a text saved while planwright was killed writing it is kept as /home/anna/work/project/src/.{name}.rs.planwright-1; look at it and remove it"
        )
    };
    let said = vec![
        kept("a"),
        kept("b"),
        "the database could not be read and was set aside as planwright.db.1, whatever that means".to_owned(),
    ];
    *bench.ground.urgent.lock().unwrap() = said;
    let editor = bench.editor(Profile::neovim_0_11()).await;
    editor.look();
    for name in ["a", "b"] {
        let whole = format!("planwright: {}; next: planwright doctor", kept(name));
        let file = format!("src/{name}.rs");
        editor.until("all of it at the file", || editor.messages(&file).contains(&whole).then_some(())).await;
    }
    // Until the next command.
    editor.command("planwright.pause", json!([])).await.unwrap();
    let gone = || editor.messages("src/a.rs").is_empty() && editor.messages("src/b.rs").is_empty();
    editor.until("it is gone", || gone().then_some(())).await;
}

/// A ground that does not open its root for a while, or a port that cannot show its desk at once.
struct Reluctant {
    ground: Shared,
    refusals: std::sync::Mutex<Vec<Refusal>>,
    /// Who looked for a root.
    looked: Arc<std::sync::Mutex<Vec<std::thread::ThreadId>>>,
}

impl Reluctant {
    fn new(ground: Shared, refusals: Vec<Refusal>) -> Self {
        Self { ground, refusals: refusals.into(), looked: Arc::default() }
    }
}

impl Ground for Reluctant {
    fn documents(&self) -> Arc<dyn Documents> {
        self.ground.documents()
    }

    fn root_of(&self, folder: &Path) -> Option<PathBuf> {
        self.looked.lock().unwrap().push(std::thread::current().id());
        self.ground.root_of(folder)
    }

    fn working_directory(&self) -> PathBuf {
        self.ground.working_directory()
    }

    fn open(
        &self,
        folder: PathBuf,
        client: String,
        session: Option<crate::ports::SessionId>,
    ) -> Fut<'_, Result<Arc<dyn Workplace>, Refusal>> {
        match self.refusals.lock().unwrap().pop() {
            Some(refusal) => Box::pin(std::future::ready(Err(refusal))),
            None => self.ground.open(folder, client, session),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_root_that_does_not_open_is_tried_again_and_each_reason_is_said_once() {
    let bench = Bench::new();
    let refusal = |message: &str| refuse(RefusalKind::Held, message, "end it");
    let refusals = vec![refusal("then this"), refusal("held"), refusal("held"), refusal("held")];
    let ground = Reluctant::new(Shared(bench.ground.clone()), refusals);
    let editor = Editor::start(Profile::neovim_0_11(), bench.folder.path(), Arc::new(ground)).await;
    editor.allow_views();
    assert_eq!(editor.expect("window/showMessage").await["message"], "planwright: held; next: end it");
    // What is asked for meanwhile is refused with the reason, at once.
    editor.command("planwright.run", json!([])).await.unwrap();
    assert_eq!(editor.expect("window/showMessage").await["message"], "planwright: held; next: end it");
    assert_eq!(editor.expect("window/showMessage").await["message"], "planwright: then this; next: end it");
    sleep(Duration::from_secs(2)).await;
    editor.command("planwright.run", json!([])).await.unwrap();
    assert_eq!(bench.port.acts(1).await.len(), 1);
}

/// A port that panics when its desk is looked at for the first time.
struct Panicking(Arc<TestPort>, AtomicBool);

impl Port for Panicking {
    fn act(&self, actor: Actor, action: Action) -> Fut<'_, Result<Reply, Refusal>> {
        self.0.act(actor, action)
    }

    fn ask(&self, query: Query) -> Fut<'_, Result<View, Refusal>> {
        self.0.ask(query)
    }

    fn desks(&self) -> watch::Receiver<Arc<Desk>> {
        assert!(self.1.swap(true, Ordering::Relaxed), "as it is to");
        self.0.desks()
    }

    fn updates(&self) -> broadcast::Receiver<Update> {
        self.0.updates()
    }

    fn is_host(&self) -> bool {
        true
    }

    fn lost(&self) -> Fut<'_, ()> {
        self.0.lost()
    }

    fn rejoin(&self) -> Fut<'_, Result<(), Refusal>> {
        self.0.rejoin()
    }
}

#[tokio::test(start_paused = true)]
async fn a_fault_beside_the_handlers_silences_nobody() {
    let bench = Bench::new();
    bench.port.show(with(interrupted()));
    let port = Arc::new(Panicking(bench.port.clone(), AtomicBool::default()));
    let ground = TestGround::with_port(bench.folder.path(), bench.documents.clone(), port);
    let editor = Editor::start(Profile::neovim_0_11(), bench.folder.path(), Arc::new(Shared(ground))).await;
    editor.allow_views();
    let said = editor.expect("window/showMessage").await;
    assert!(said["message"].as_str().unwrap().starts_with("planwright: a fault in what is shown"), "{said}");
    // It is shown after all.
    editor.expect("textDocument/publishDiagnostics").await;
    assert_eq!(editor.quit().await, 0);
}
