//! The job with nothing but the ten lines of `editors/neovim/stock.lua`.

use super::driver::{Neovim, Setup};
use super::{FILE, LIB, proposed, script, work};
use crate::support::model::{Modelled, plan, planned};
use planwright::testing::script::Script;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[test]
fn from_a_comment_to_the_disk() {
    let work = work();
    let Some(editor) = Neovim::start(&work, Setup::Stock, FILE) else { return };
    editor.until("#T.servers() == 1");

    // The goal: a comment. The page opens, and shows the plan when it is ready.
    editor.act("// agent:", "Agent: plan this comment");
    editor.until("vim.endswith(vim.api.nvim_buf_get_name(0), 'task.md')");
    editor.until("T.text('task.md'):find('awaiting approval', 1, true) ~= nil");
    assert!(editor.is("not vim.bo.modified"), "{}", editor.state());

    // The plan: broken, mended, approved.
    editor.act("#", "Agent: open the plan");
    editor.until("vim.endswith(vim.api.nvim_buf_get_name(0), '.plan.md')");
    let sound = editor.text(".plan.md");
    editor.until("T.at('- edit:')");
    editor.keys("0wcweidt<Esc>");
    assert!(editor.text(".plan.md").contains("- eidt: "), "{}", editor.state());
    editor.until(
        "vim.iter(T.diagnostics('.plan.md')):any(function(line) return vim.startswith(line, '14 near-key') end)",
    );
    editor.act("eidt", "edit");
    editor.until_text(".plan.md", &sound);
    editor.ex("write");
    editor.act("# A plan", "Agent: approve r");

    // The hunks: one accepted, one rejected, one undone and done again.
    editor.edit(FILE);
    editor.until(&format!("#T.hunks('{FILE}') >= 3"));
    assert_eq!(work.read(FILE), LIB, "nothing is written without a decision");
    editor.act("    1", "Agent: accept hunk");
    editor.until_text(FILE, &LIB.replace("    1\n", "    10\n"));
    editor.act("    2", "Agent: reject hunk");
    let pending = |line: &str| {
        format!("vim.iter(T.hunks('{FILE}')):any(function(h) return h.message:find('{line}', 1, true) ~= nil end)")
    };
    editor.until(&format!("not {}", pending("+     20")));
    editor.act("    3", "Agent: accept hunk");
    editor.until_text(FILE, &LIB.replace("    1\n", "    10\n").replace("    3\n", "    30\n"));
    editor.ex("undo");
    editor.until_text(FILE, &LIB.replace("    1\n", "    10\n"));
    editor.until(&pending("+     30"));
    editor.ex("redo");
    editor.until(&format!("not {}", pending("+     30")));

    // The disk.
    assert_eq!(work.read(FILE), LIB, "the user saves, not the server");
    editor.ex("write");
    let expected = LIB.replace("    1\n", "    10\n").replace("    3\n", "    30\n");
    assert_eq!(work.read(FILE), expected);
    editor.until(&format!(
        "vim.iter(T.hunks('{FILE}')):all(function(h) return h.message:find('save the file', 1, true) == nil end)"
    ));

    // Nothing holds the editor back, and nothing was asked.
    assert_eq!(editor.lua("return T.prompts"), serde_json::json!([]), "{}", editor.state());
    editor.leave("qa");
}

#[test]
fn the_page_opens_before_the_model_has_answered() {
    // The plan does not come while this is set.
    let held = Arc::new(AtomicBool::new(true));
    let (hold, answers) = (Arc::clone(&held), script());
    let script = Script::by(move |request, _| {
        let (turn, _) = answers.answer(request);
        let waits = || hold.load(Ordering::SeqCst);
        let deadline = Instant::now() + Duration::from_secs(60);
        while waits() && Instant::now() < deadline {
            std::thread::park_timeout(Duration::from_millis(20));
        }
        turn
    });
    let work = Modelled::new(&[(FILE, LIB)], script);
    let Some(editor) = Neovim::start(&work, Setup::Stock, FILE) else { return };
    editor.until("#T.servers() == 1");
    editor.lua(
        "vim.api.nvim_create_autocmd('BufReadPost', { pattern = '*/task.md', once = true,
             callback = function() T.opened = vim.uv.hrtime() end })",
    );
    editor.act("// agent:", "Agent: plan this comment");
    editor.until("vim.endswith(vim.api.nvim_buf_get_name(0), 'task.md')");
    editor.until("T.text('task.md'):find('planning', 1, true) ~= nil");
    assert!(editor.text("task.md").contains("name things by what they are"), "{}", editor.state());
    held.store(false, Ordering::SeqCst);
    editor.until("T.text('task.md'):find('awaiting approval', 1, true) ~= nil");
    let took = editor.lua("return (T.opened - T.chose) / 1e6");
    println!("the page opened after {took} ms");
    editor.leave("qa");
}

#[test]
fn a_gate_is_decided_by_an_action() {
    let mut plan = plan(&["src/**"], &["absent: `no such text`, in `src`"], &[("raise", FILE)], &[]);
    plan["steps"][0]["kind"] = json!("run");
    plan["steps"][0]["command"] = json!("sed -i s/One/Uno/ src/lib.rs");
    let work = Modelled::new(&[(FILE, LIB)], Script::by(move |_, _| planned(&plan)));
    let Some(editor) = Neovim::start(&work, Setup::Stock, FILE) else { return };
    editor.until("#T.servers() == 1");
    editor.act("// agent:", "Agent: plan this comment");
    editor.until("vim.endswith(vim.api.nvim_buf_get_name(0), 'task.md')");
    editor.act("#", "Agent: approve r");

    // It waits, says so on its page, and in no other way.
    editor.until("vim.iter(T.diagnostics('task.md')):any(function(line) return line:find('gate', 1, true) ~= nil end)");
    let raised =
        format!("vim.iter(T.hunks('{FILE}')):any(function(h) return h.message:find('Uno', 1, true) ~= nil end)");
    assert!(!editor.is(&raised), "nothing ran without an answer");
    assert_eq!(editor.lua("return T.prompts"), json!([]));
    editor.act("#", "Agent: allow `sed");
    editor.edit(FILE);
    editor.until(&raised);
    assert!(work.timeline(&work.only_task()).contains("allowed by"), "the answer is on record");
    assert_eq!(work.read(FILE), LIB);
    editor.leave("qa");
}

#[test]
fn a_goal_for_a_selection_is_written_on_a_page() {
    let work = work();
    let Some(editor) = Neovim::start(&work, Setup::Stock, FILE) else { return };
    editor.until("#T.servers() == 1");
    editor.until("T.at('/// Two')");
    editor.keys("Vj");
    editor.act_here("Agent: plan change");
    editor.until("vim.endswith(vim.api.nvim_buf_get_name(0), 'goal.md')");
    let first = LIB.lines().position(|line| line == "/// Two.").unwrap() + 1;
    assert!(editor.text("goal.md").contains(&format!("at: {FILE}:{first}-{}", first + 1)), "{}", editor.state());
    editor.keys("GoRaise them<Esc>");
    editor.ex("write");
    editor.until("vim.endswith(vim.api.nvim_buf_get_name(0), 'task.md')");
    assert!(editor.text("task.md").contains("Raise them"), "{}", editor.state());
    editor.until("T.text('task.md'):find('awaiting approval', 1, true) ~= nil");
    editor.leave("qa");
}

#[test]
fn a_mend_is_offered_anywhere_on_its_line() {
    let (work, task) = proposed();
    let Some(editor) = Neovim::start(&work, Setup::Stock, FILE) else { return };
    editor.until("#T.servers() == 1");
    editor.lua(&format!("T.command('openPlan', {{ task = '{task}' }})"));
    editor.until("vim.endswith(vim.api.nvim_buf_get_name(0), '.plan.md')");
    let sound = editor.text(".plan.md");
    for key in ["0", "$"] {
        editor.until("T.at('- edit:')");
        editor.keys("0wcweidt<Esc>");
        editor.until("#T.diagnostics('.plan.md') > 0");
        editor.until("T.at('- eidt:')");
        editor.keys(key);
        editor.act_here("edit");
        editor.until_text(".plan.md", &sound);
    }
    editor.leave("qa!");
}

#[test]
fn theirs_takes_the_place_of_mine_and_a_reason_is_written_on_a_page() {
    let (work, task) = proposed();
    let Some(editor) = Neovim::start(&work, Setup::Stock, FILE) else { return };
    editor.until("#T.servers() == 1");
    editor.until(&format!("#T.hunks('{FILE}') == 3"));

    // Something else stands at the first hunk's place.
    editor.until("T.at('    1')");
    editor.keys("A + 1<Esc>");
    let mine = LIB.replace("    1\n", "    1 + 1\n");
    editor.until_text(FILE, &mine);
    editor.act("    1 + 1", "Agent: take theirs at hunk");
    let theirs = LIB.replace("    1\n", "    10\n");
    editor.until_text(FILE, &theirs);
    editor.ex("undo");
    editor.until_text(FILE, &mine);
    editor.act("    1 + 1", "Agent: take theirs at hunk");
    editor.until_text(FILE, &theirs);

    // The second is left out, for a reason.
    editor.act("    2", "with a reason");
    editor.until("vim.endswith(vim.api.nvim_buf_get_name(0), 'words.md')");
    assert!(editor.text("words.md").contains(&format!("do: reject\ntask: {task}\nhunk: h")), "{}", editor.state());
    editor.keys("Gothe number is right<Esc>");
    editor.ex("write");
    editor.edit(FILE);
    editor.until(&format!("#T.hunks('{FILE}') == 2"));
    let timeline = work.timeline(&task);
    assert!(timeline.contains("accepted in place of what stood there"), "{timeline}");
    assert!(timeline.contains("rejected by") && timeline.contains("the number is right"), "{timeline}");
    assert_eq!(editor.lua("return T.prompts"), json!([]));
    editor.leave("qa!");
}
