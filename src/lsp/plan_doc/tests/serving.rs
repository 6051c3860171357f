//! A plan document in an editor, from the wire to the engine's door: an editor in memory, the real documents, and an
//! engine that only compiles and writes down what it was asked for.

use super::*;
use crate::desk::{Candidates, Desk, Page, Query, View};
use crate::domain::task::action::{Action, Actor, Refusal, RefusalKind, Reply};
use crate::host::{Port, Update};
use crate::ports::{DocumentEvent, Documents as _, EditorFault, EditorOrder, Fut};
use crate::testing::editor::{Editor, Profile, Shared, TestGround, TestPort};
use crate::workspace::Buffers;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::sync::{broadcast, watch};

const FILE: &str = ".planwright/tasks/k3xf/retries.plan.md";

/// What becomes of a question.
#[derive(Clone, Copy)]
enum Fault {
    Panics,
    Refuses,
    NeverAnswers,
}

/// A port that compiles.
struct Compiler {
    port: Arc<TestPort>,
    /// Of the next questions.
    faults: Faults,
}

type Faults = Arc<Mutex<VecDeque<Fault>>>;

impl Port for Compiler {
    fn act(&self, actor: Actor, action: Action) -> Fut<'_, Result<Reply, Refusal>> {
        self.port.act(actor, action)
    }

    fn ask(&self, query: Query) -> Fut<'_, Result<View, Refusal>> {
        let fault = {
            let mut faults = self.faults.lock().unwrap();
            let fits = matches!(
                (faults.front(), &query),
                (Some(Fault::Panics | Fault::Refuses), Query::Compile { .. })
                    | (Some(Fault::NeverAnswers), Query::Candidates { .. })
            );
            if fits { faults.pop_front() } else { None }
        };
        match fault {
            Some(Fault::Panics) => panic!("the compiler has a fault"),
            Some(Fault::Refuses) => {
                let refusal = Refusal { kind: RefusalKind::Broken, message: "no host".to_owned(), next: String::new() };
                return Box::pin(std::future::ready(Err(refusal)));
            }
            Some(Fault::NeverAnswers) => return Box::pin(std::future::pending()),
            None => {}
        }
        match query {
            Query::Compile { text, .. } => {
                let view = View::Compiled(Box::new(compiled(&text, 1, false)));
                Box::pin(std::future::ready(Ok(view)))
            }
            Query::Candidates { of: Candidates::Files, .. } => {
                let files = FILES.iter().map(|file| (*file).to_owned()).collect();
                Box::pin(std::future::ready(Ok(View::Candidates(files))))
            }
            other => self.port.ask(other),
        }
    }

    fn desks(&self) -> watch::Receiver<Arc<Desk>> {
        self.port.desks()
    }

    fn updates(&self) -> broadcast::Receiver<Update> {
        self.port.updates()
    }

    fn is_host(&self) -> bool {
        true
    }

    fn lost(&self) -> Fut<'_, ()> {
        self.port.lost()
    }

    fn rejoin(&self) -> Fut<'_, Result<(), Refusal>> {
        self.port.rejoin()
    }
}

struct Bench {
    folder: tempfile::TempDir,
    port: Arc<TestPort>,
    faults: Faults,
    documents: Arc<Buffers>,
    editor: Editor,
}

impl Bench {
    async fn new(profile: Profile, dossier: Dossier) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let port = Arc::new(TestPort::default());
        let page = Page { path: root.join(FILE), ..fixture::page(PLAN) };
        let place = Surroundings { root: root.clone(), ..Surroundings::default() };
        port.show(Desk { place, tasks: vec![Arc::new(Dossier { page: Some(Arc::new(page)), ..dossier })] });
        let faults = Faults::default();
        let compiler = Compiler { port: port.clone(), faults: faults.clone() };
        let documents = Arc::new(Buffers::default());
        let ground = TestGround::with_port(&root, documents.clone(), Arc::new(compiler));
        let editor = Editor::start(profile, &root, Arc::new(Shared(ground))).await;
        for said in ["window/logMessage", "workspace/codeLens/refresh", "workspace/inlayHint/refresh"] {
            editor.allow(said);
        }
        // The root is open from here on.
        let is_open = |said: &Value| said["message"].as_str().is_some_and(|said| said.contains("unfinished tasks"));
        editor.expect_where("window/logMessage", is_open).await;
        Self { folder, port, faults, documents, editor }
    }

    /// The codes that are shown for the plan, once they are these.
    async fn shows(&self, codes: &[&str]) -> Value {
        let uri = self.editor.uri(FILE);
        let found = |params: &Value| -> Vec<String> {
            let all = params["diagnostics"].as_array().unwrap().iter();
            all.map(|one| one["code"].as_str().unwrap_or_default().to_owned()).collect()
        };
        let is_it = |params: &Value| params["uri"] == uri.as_str() && found(params) == codes;
        self.editor.expect_where("textDocument/publishDiagnostics", is_it).await
    }

    async fn actions(&self, piece: &str) -> Vec<Value> {
        let params = json!({
            "textDocument": {"uri": self.editor.uri(FILE)},
            "range": self.editor.range(FILE, piece),
            "context": {"diagnostics": []},
        });
        let answer = self.editor.request("textDocument/codeAction", params).await.unwrap();
        answer.as_array().cloned().unwrap_or_default()
    }

    /// The document was taken in as it was opened: what is typed from now on is known to have been typed here.
    async fn was_read(&self) {
        let reading = async {
            let is_it =
                |action: &Value| action["title"].as_str().is_some_and(|title| title.starts_with("Agent: approve"));
            while !self.actions("Add RetryPolicy").await.iter().any(is_it) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(20), reading).await.expect("the plan is compiled");
    }

    fn approvals(&self) -> Vec<String> {
        let acted = self.port.acted();
        let approvals = acted.iter().filter_map(|(_, action)| match action {
            Action::Approve { revision, .. } => Some(revision.to_string()),
            _ => None,
        });
        approvals.collect()
    }
}

#[tokio::test]
async fn findings_come_while_typing_and_a_mend_edits_this_version() {
    let bench = Bench::new(Profile::vscode_1_100(), planned()).await;
    let broken = PLAN.replacen("after: policy", "after: polcy", 1);
    bench.editor.allow("textDocument/publishDiagnostics");
    bench.editor.open(FILE, "markdown", &broken);
    bench.shows(&["unknown-after"]).await;
    let actions = bench.actions("polcy").await;
    assert_eq!(actions[0]["title"], "write `policy`");
    assert_eq!(actions[0]["kind"], "quickfix");
    let edit = &actions[0]["edit"]["documentChanges"][0];
    assert_eq!(edit["textDocument"]["version"], 1);
    assert_eq!(edit["edits"][0]["newText"], "policy");
    assert!(actions.iter().all(|action| !action["title"].as_str().unwrap().contains("approve r")), "{actions:#?}");
    let at = broken.find("polcy").unwrap();
    bench.editor.replace(FILE, at..at + 5, "policy");
    bench.shows(&[]).await;
    let actions = bench.actions("Add RetryPolicy").await;
    let approve = actions.iter().find(|action| action["title"] == "Agent: approve r1-9f2c81d04a7e and run it").unwrap();
    assert_eq!(approve["kind"], "refactor");
    assert_eq!(approve["edit"], Value::Null);
    assert_eq!(approve["command"]["command"], "planwright.approve");
    assert_eq!(approve["command"]["arguments"], json!([{"task": "k3xf", "revision": "r1-9f2c81d04a7e"}]));
    // Nothing was asked of the editor: it may be closed without a question.
    assert_eq!(bench.editor.text(FILE).unwrap(), PLAN);
}

#[tokio::test]
async fn ranges_are_in_the_clients_columns() {
    let profile = Profile::vscode_1_100();
    let bench = Bench::new(profile, planned()).await;
    bench.editor.allow("textDocument/publishDiagnostics");
    let broken =
        PLAN.replacen("### docs: Say so", "### docs: 𝄞é", 1).replacen("- after: none", "- after: none, `𝄞`, polcy", 1);
    bench.editor.open(FILE, "markdown", &broken);
    let uri = bench.editor.uri(FILE);
    let said = bench
        .editor
        .expect_where("textDocument/publishDiagnostics", |params| {
            params["uri"] == uri.as_str() && params["diagnostics"].to_string().contains("polcy")
        })
        .await;
    let ranges: Vec<&Value> = said["diagnostics"].as_array().unwrap().iter().map(|one| &one["range"]).collect();
    assert!(ranges.contains(&&bench.editor.range(FILE, "polcy")), "{said:#}");
}

#[tokio::test]
async fn completion_asks_for_files_and_hover_says_what_binds() {
    let bench = Bench::new(Profile::neovim_0_11(), planned()).await;
    bench.editor.allow("textDocument/publishDiagnostics");
    bench.editor.open(FILE, "markdown", &PLAN.replacen("`tests/net.rs`", "`te", 1));
    let at = bench.editor.range(FILE, "- edit: `te\n")["start"].clone();
    let position = json!({"line": at["line"], "character": 11});
    let document = json!({"uri": bench.editor.uri(FILE)});
    let asked = json!({"textDocument": document, "position": position});
    let answer = bench.editor.request("textDocument/completion", asked).await.unwrap();
    let labels: Vec<&str> =
        answer["items"].as_array().unwrap().iter().filter_map(|item| item["label"].as_str()).collect();
    assert_eq!(labels, FILES);
    assert_eq!(answer["items"][2]["textEdit"]["newText"], "tests/net.rs`");
    let asked = json!({"textDocument": document, "position": bench.editor.range(FILE, "advice")["start"]});
    let answer = bench.editor.request("textDocument/hover", asked).await.unwrap();
    assert!(answer["contents"]["value"].as_str().unwrap().contains("*Advice*"), "{answer:#}");
}

#[tokio::test]
async fn a_compiler_that_fails_once_is_asked_again() {
    let bench = Bench::new(Profile::vscode_1_100(), planned()).await;
    bench.editor.allow("textDocument/publishDiagnostics");
    let broken = PLAN.replacen("after: policy", "after: polcy", 1);
    bench.faults.lock().unwrap().push_back(Fault::Refuses);
    bench.editor.open(FILE, "markdown", &broken);
    bench.shows(&["unknown-after"]).await;
    // a text that it stumbled over is not tried again; the next one is
    bench.faults.lock().unwrap().push_back(Fault::Panics);
    let at = broken.find("polcy").unwrap();
    bench.editor.replace(FILE, at..at + 5, "polic");
    while !bench.faults.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    bench.editor.replace(FILE, at..at + 5, "policy");
    bench.shows(&[]).await;
}

#[tokio::test]
async fn lenses_are_called_for_when_they_can_say_more() {
    let bench = Bench::new(Profile::vscode_1_100(), planned()).await;
    bench.editor.allow("textDocument/publishDiagnostics");
    bench.editor.expect("workspace/codeLens/refresh").await;
    bench.editor.open(FILE, "markdown", PLAN);
    bench.editor.expect("workspace/codeLens/refresh").await;
    let document = json!({"textDocument": {"uri": bench.editor.uri(FILE)}});
    let lenses = bench.editor.request("textDocument/codeLens", document).await.unwrap();
    assert!(lenses.to_string().contains("approve r1-9f2c81d04a7e"), "{lenses:#}");
}

#[tokio::test]
async fn nobody_waits_for_reads_that_do_not_come() {
    let bench = Bench::new(Profile::neovim_0_11(), planned()).await;
    bench.editor.allow("textDocument/publishDiagnostics");
    bench.editor.open(FILE, "markdown", &PLAN.replacen("`tests/net.rs`", "`te", 1));
    bench.faults.lock().unwrap().push_back(Fault::NeverAnswers);
    let at = bench.editor.range(FILE, "- edit: `te\n")["start"].clone();
    let document = json!({"uri": bench.editor.uri(FILE)});
    let asked = json!({"textDocument": document, "position": {"line": at["line"], "character": 11}});
    let answer = bench.editor.request("textDocument/completion", asked.clone()).await.unwrap();
    assert_eq!(answer["items"], json!([]));
    let answer = bench.editor.request("textDocument/completion", asked).await.unwrap();
    assert_ne!(answer["items"], json!([]));
}

#[tokio::test]
async fn an_approval_that_is_written_and_saved_reaches_the_engine() {
    let bench = Bench::new(Profile::neovim_0_11(), planned()).await;
    bench.editor.allow("textDocument/publishDiagnostics");
    bench.editor.open(FILE, "markdown", PLAN);
    bench.was_read().await;
    let at = PLAN.find("\n\n## Steps").unwrap();
    bench.editor.replace(FILE, at..at, "\n- approved: r1-9f2c81d04a7e");
    bench.shows(&["approval-unsaved"]).await;
    assert!(bench.approvals().is_empty());
    bench.editor.save(FILE);
    let acted = bench.port.acts(2).await;
    assert_eq!(bench.approvals(), ["r1-9f2c81d04a7e"]);
    assert!(matches!(acted[1].1, Action::Run { .. }), "approving runs: {acted:?}");
}

#[tokio::test]
async fn an_approval_that_the_file_held_or_that_was_loaded_is_none() {
    let bench = Bench::new(Profile::vscode_1_100(), planned()).await;
    bench.editor.allow("textDocument/publishDiagnostics");
    let file = bench.folder.path().join(FILE);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let line = "\n- approved: r1-9f2c81d04a7e";
    let at = PLAN.find("\n\n## Steps").unwrap();
    let mut signed = PLAN.to_owned();
    signed.insert_str(at, line);
    // opened with the line, and saved
    bench.editor.open(FILE, "markdown", &signed);
    bench.editor.save(FILE);
    bench.editor.close(FILE);
    // another program wrote it, and the editor loaded it
    bench.editor.open(FILE, "markdown", PLAN);
    std::fs::write(&file, &signed).unwrap();
    bench.editor.replace(FILE, at..at, line);
    bench.shows(&["approval-unsaved"]).await;
    bench.editor.save(FILE);
    // a change of the plan's name is shown only after all of that has been taken in
    let title = signed.find("Make").unwrap();
    bench.editor.replace(FILE, title..title + 4, "");
    bench.editor.replace(FILE, title - 2..title, "");
    bench.shows(&["missing-title", "approval-of-errors"]).await;
    assert!(bench.approvals().is_empty(), "{:?}", bench.approvals());
}

#[tokio::test]
async fn an_offered_revision_is_taken_over_by_an_edit() {
    let mut dossier = planned();
    let new = PLAN.replacen("beside the client", "into the client", 1);
    dossier.offered = Some((revision(2), Arc::from(new.as_str())));
    let bench = Bench::new(Profile::vscode_1_100(), dossier).await;
    bench.editor.allow("textDocument/publishDiagnostics");
    bench.editor.open(FILE, "markdown", PLAN);
    let uri = bench.editor.uri(FILE);
    bench
        .editor
        .expect_where("textDocument/publishDiagnostics", |params| {
            params["uri"] == uri.as_str() && params["diagnostics"].to_string().contains("into the client")
        })
        .await;
    let actions = bench.actions("Put it").await;
    let accept =
        actions.iter().find(|one| one["title"].as_str().unwrap().starts_with("Agent: accept this change")).unwrap();
    assert_eq!(accept["command"]["command"], "planwright.accept");
    assert_eq!(accept["command"]["arguments"][0]["plan"], true);
    assert_eq!(accept["kind"], "refactor");
}

/// Another editor on the same engine.
struct Elsewhere;

impl crate::ports::Editor for Elsewhere {
    fn carry_out(&self, order: EditorOrder) -> Fut<'_, Result<(), EditorFault>> {
        Box::pin(std::future::ready(Err(EditorFault::NotOpen(order.change.path))))
    }
}

#[tokio::test]
async fn what_is_approved_is_what_this_editor_shows() {
    let bench = Bench::new(Profile::neovim_0_11(), planned()).await;
    for allowed in ["textDocument/publishDiagnostics", "window/logMessage", "window/showMessage"] {
        bench.editor.allow(allowed);
    }
    bench.editor.open(FILE, "markdown", PLAN);
    bench.was_read().await;
    let other = bench.documents.begin("Neovim 0.11.4", Arc::new(Elsewhere));
    let path = WorkspacePath::new(FILE).unwrap();
    let text = Arc::from(format!("{PLAN}\nMore.\n"));
    bench.documents.tell(other, DocumentEvent::Opened { path: path.clone(), version: 1, text });
    bench.editor.command("planwright.approve", json!([])).await.unwrap();
    let said = bench.editor.expect("window/showMessage").await;
    assert!(said["message"].as_str().unwrap().contains("another editor shows another plan"), "{said}");
    assert!(bench.approvals().is_empty());
    // The same text is no other one.
    bench.documents.tell(other, DocumentEvent::Opened { path, version: 2, text: Arc::from(PLAN) });
    bench.editor.command("planwright.approve", json!([])).await.unwrap();
    bench.port.acts(1).await;
    assert_eq!(bench.approvals(), ["r1-9f2c81d04a7e"]);
}

#[tokio::test]
async fn declining_the_last_change_ends_the_offer() {
    let mut dossier = planned();
    let new = PLAN.replacen("beside the client", "into the client", 1).replacen("# Make", "# Do make", 1);
    dossier.offered = Some((revision(2), Arc::from(new.as_str())));
    let bench = Bench::new(Profile::vscode_1_100(), dossier).await;
    bench.editor.allow("textDocument/publishDiagnostics");
    bench.editor.open(FILE, "markdown", PLAN);
    let uri = bench.editor.uri(FILE);
    let offered = |params: &Value| {
        let said = params["diagnostics"].to_string();
        params["uri"] == uri.as_str() && said.contains("into the client")
    };
    bench.editor.expect_where("textDocument/publishDiagnostics", offered).await;
    let decline = async |piece: &str| {
        let actions = bench.actions(piece).await;
        let this = |one: &&Value| one["title"].as_str().unwrap().starts_with("Agent: decline this change");
        let command = actions.iter().find(this).unwrap()["command"].clone();
        let params = json!({ "command": command["command"], "arguments": command["arguments"] });
        bench.editor.request("workspace/executeCommand", params).await.unwrap();
    };
    let ended = || bench.port.acted().iter().any(|(_, action)| matches!(action, Action::Offer { take: false, .. }));
    decline("Put it").await;
    let gone = |params: &Value| params["uri"] == uri.as_str() && !offered(params);
    bench.editor.expect_where("textDocument/publishDiagnostics", gone).await;
    assert!(!ended(), "one change is left");
    decline("# Make").await;
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(20);
    while !ended() {
        assert!(tokio::time::Instant::now() < deadline, "{:?}", bench.port.acted());
        tokio::task::yield_now().await;
    }
}
