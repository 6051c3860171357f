//! A model that is not connected, or not rightly: what a person is told, in the terminal and in an editor.
//!
//! Invariant: each names what is to be changed and where that is written, in the same words everywhere. Absent: a model
//! that answers.

use crate::support::Project;
use crate::support::server::Server;
use planwright::testing::script::{Fault, Script, Turn};
use planwright::testing::scripted_model::{ScriptedModel, refused_url};
use serde_json::Value;

const LIB: &str = "pub fn one() -> u32 {\n    1\n}\n";

fn project() -> Project {
    Project::new(&[("src/lib.rs", LIB)])
}

fn config(project: &Project) -> String {
    project.root.with_file_name("config.toml").display().to_string()
}

/// The diagnostics of this task's page, as a client that opened nothing gets them; lines are joined as they were
/// wrapped.
fn in_editor(project: &Project, task: &str) -> String {
    let server = Server::ready(project);
    let page = format!("/{task}/task.md");
    let is_it = |said: &Value| {
        said["method"] == "textDocument/publishDiagnostics"
            && said["params"]["uri"].as_str().is_some_and(|uri| uri.ends_with(&page))
    };
    let said = server.next(is_it).unwrap();
    let said = said["params"]["diagnostics"].as_array().unwrap().clone();
    let messages: Vec<&str> = said.iter().filter_map(|one| one["message"].as_str()).collect();
    messages.join("\n").replace('\n', " ")
}

#[test]
fn without_a_model_all_say_in_the_same_words_how_one_is_connected() {
    let project = project();
    let how = format!(
        "set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own, or write [model.strong] into {}; then start \
         the editor or the command again (`planwright doctor` says what is found)",
        config(&project)
    );
    let told = format!("no model is configured: {how}");
    project.run(&["plan", "make it better"]).exits(3).says(&[&how]);
    let task = project.only_task();
    project.run(&["status", &task]).exits(0).says(&[&told]);
    let page = project.read(&format!(".planwright/tasks/{task}/task.md"));
    assert!(page.contains(&format!("It waits for you: {told}.")), "{page}");
    assert!(page.contains("`planwright.replan`"), "{page}");
    project.run(&["doctor"]).exits(0).says(&[&how]);
    project.run(&["change", "src/lib.rs:2", "return two", "--yes"]).exits(2).says(&[&how]);
    let editor = in_editor(&project, &task);
    // A line of a message is cut where it is too wide, and a folder for tests has a long name.
    let begins = "no model is configured: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own, or write \
                  [model.strong] into /";
    assert!(editor.contains(begins), "{editor}");
    assert!(editor.contains("(`planwright doctor` says what is found)"), "{editor}");
}

/// What is said of a model with this table of the configuration and these variables, in the terminal and on the page.
#[track_caller]
fn says(table: &str, env: &[(&str, &str)], expected: &[&str]) {
    let mut project = project();
    project.env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    std::fs::write(config(&project), table).unwrap();
    let file = config(&project);
    let expected: Vec<String> = expected.iter().map(|part| part.replace("FILE", &file)).collect();
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    project.run(&["plan", "make it better"]).exits(1).says(&expected);
    let task = project.only_task();
    let page = project.read(&format!(".planwright/tasks/{task}/task.md"));
    for part in expected {
        assert!(page.contains(part), "`{part}` is not in {page}");
    }
}

#[test]
fn a_model_that_is_not_rightly_connected_says_what_to_change_and_where() {
    let unset = "[model.strong]\nbase_url = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"\nkey_env = \"MY_KEY\"\n";
    let next =
        "set MY_KEY where the editor or the command is started, or name another key_env or a key_command in FILE";
    says(unset, &[], &["the key for http://127.0.0.1:1/v1 should be in $MY_KEY, which is not set", next]);
    let nobody = refused_url().unwrap();
    let listens = format!("nothing listens at {nobody}");
    let start = "start the model server, or correct";
    says("", &[("OPENAI_BASE_URL", &nobody)], &[&listens, &format!("{start} $OPENAI_BASE_URL")]);
    let written = format!("[model.strong]\nbase_url = \"{nobody}\"\nmodel = \"m\"\n");
    says(&written, &[], &[&listens, &format!("{start} base_url in FILE:2")]);
    let refusing = || {
        let turn = Turn::default().after(vec![Fault::status(401, "bad key"); 4]);
        ScriptedModel::start(Script::in_order([turn])).unwrap()
    };
    let model = refusing();
    let url = model.base_url();
    let from_env = [("OPENAI_BASE_URL", url.as_str()), ("OPENAI_API_KEY", "k"), ("OPENAI_MODEL", "m")];
    says("", &from_env, &["answered 401 for m: bad key", "check the key; it comes from $OPENAI_API_KEY"]);
    let model = refusing();
    let written = format!("[model.strong]\nbase_url = \"{}\"\nmodel = \"m\"\nkey_env = \"MY_KEY\"\n", model.base_url());
    says(&written, &[("MY_KEY", "k")], &["check the key; it comes from $MY_KEY (key_env in FILE:4)"]);
    let model = refusing();
    let written = format!("[model.strong]\nbase_url = \"{}\"\nmodel = \"m\"\n", model.base_url());
    says(&written, &[], &["it wants a key: name its variable as key_env in FILE"]);
}
