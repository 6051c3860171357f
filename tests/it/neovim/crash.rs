//! Editor and server killed in the middle of a step, and opened again.

use super::driver::{Neovim, Setup};
use super::setup::servers;
use super::{FILE, LIB, script};
use crate::support::model::Modelled;
use crate::support::{in_time, until};
use planwright::testing::script::Script;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What the model was asked so far: `plan`, or the number of answers that a step had by then.
fn asked(work: &Modelled) -> Vec<String> {
    let turns = |call: &planwright::testing::scripted_model::Request| {
        let messages = call.body["messages"].as_array().cloned().unwrap_or_default();
        messages.iter().filter(|message| message["role"] == "assistant").count()
    };
    let calls = work.model.calls();
    calls.iter().map(|call| call.body.get("tools").map_or("plan".to_owned(), |_| turns(call).to_string())).collect()
}

#[test]
fn it_goes_on_after_an_act_of_the_user_and_repeats_nothing() {
    for setup in [Setup::Stock, Setup::Plugin] {
        // The step's second answer does not come while this is set.
        let held = Arc::new(AtomicBool::new(true));
        let answers = script();
        let hold = Arc::clone(&held);
        let script = Script::by(move |request, _| {
            let (turn, _) = answers.answer(request);
            let messages = request["messages"].as_array().cloned().unwrap_or_default();
            let second = messages.iter().any(|message| message["role"] == "assistant");
            let holds = second && hold.load(Ordering::SeqCst);
            if holds { turn.taking(Duration::from_secs(600)) } else { turn }
        });
        let work = Modelled::new(&[(FILE, LIB)], script);
        let Some(editor) = Neovim::start(&work, setup, FILE) else { return };
        editor.until("#T.servers() == 1");
        editor.act("// agent:", "Agent: plan this comment");
        editor.until("vim.endswith(vim.api.nvim_buf_get_name(0), 'task.md')");
        editor.act("#", "Agent: approve r");
        let came = in_time(|| asked(&work) == ["plan", "0", "1"]);
        assert!(came, "the step's second answer was not asked for: {:?}\n{}", asked(&work), editor.state());
        let server = servers(&work);
        editor.kill();
        for id in server {
            let id = rustix::process::Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
            // It may have seen its editor's end and be gone.
            let _gone = rustix::process::kill_process(id, rustix::process::Signal::KILL);
        }
        until("the server is gone", || servers(&work).is_empty());
        held.store(false, Ordering::SeqCst);

        let Some(editor) = Neovim::start(&work, setup, FILE) else { return };
        editor.until("#T.servers() == 1");
        let page = format!(".planwright/tasks/{}/task.md", work.only_task());
        editor.edit(&page);
        editor.until(&format!("#T.diagnostics('{page}') > 0"));
        assert_eq!(asked(&work), ["plan", "0", "1"], "{setup:?}: opening the editor asked the model");
        editor.act("#", "Agent: go on");
        editor.edit(FILE);
        editor.until(&format!("#T.hunks('{FILE}') >= 3"));
        assert_eq!(asked(&work), ["plan", "0", "1", "1"], "{setup:?}: what was answered is not asked again");
        editor.leave("qa");
    }
}
