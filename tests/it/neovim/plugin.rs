//! The same job by the plugin's commands and keys.

use super::driver::{Neovim, Setup};
use super::{FILE, LIB, proposed, work};
use serde_json::json;

#[test]
fn the_job_by_its_commands() {
    let work = work();
    let Some(editor) = Neovim::start(&work, Setup::Plugin, FILE) else { return };
    editor.until("#T.servers() == 1");
    assert_eq!(editor.lua("return T.keys()"), json!([]), "no key is taken where there is no hunk");

    // A goal in words that are asked for.
    editor.lua("T.answer = 'Raise them'");
    editor.ex("Planwright plan");
    editor.until("vim.endswith(vim.api.nvim_buf_get_name(0), 'task.md')");
    assert_eq!(editor.lua("return T.prompts"), json!(["Goal: "]));
    editor.until("T.text('task.md'):find('awaiting approval', 1, true) ~= nil");
    editor.ex("Planwright openPlan");
    editor.until("vim.endswith(vim.api.nvim_buf_get_name(0), '.plan.md')");
    editor.ex("Planwright approve");

    // Hunks are drawn, and keys decide.
    editor.edit(FILE);
    editor.until("#T.drawn() >= 6");
    editor.until("#T.keys() == 4");
    let drawn = editor.lua("return T.drawn()").to_string();
    assert!(drawn.contains("7 ") && drawn.contains("    10"), "{drawn}");
    editor.until("T.at('    1')");
    editor.keys("ga");
    editor.until_text(FILE, &LIB.replace("    1\n", "    10\n"));
    editor.until("vim.iter(T.drawn()):any(function(line) return line:find('not saved', 1, true) ~= nil end)");
    editor.lua("T.answer = 'two is right'");
    editor.keys("]h");
    editor.until("vim.api.nvim_get_current_line() == '    2'");
    editor.keys("gx");
    editor.until("not vim.iter(T.drawn()):any(function(line) return line:find('    20', 1, true) ~= nil end)");
    let prompts = editor.lua("return T.prompts").to_string();
    assert!(prompts.contains("Reject h"), "{prompts}");
    editor.ex("Planwright hunks");
    editor.until("#vim.fn.getqflist() > 0 and vim.bo.buftype == 'quickfix'");
    editor.ex("cclose");
    editor.until("T.at('    3')");
    editor.ex("Planwright accept");
    let expected = LIB.replace("    1\n", "    10\n").replace("    3\n", "    30\n");
    editor.until_text(FILE, &expected);
    editor.ex("undo");
    editor.until("vim.iter(T.drawn()):any(function(line) return line:find('    30', 1, true) ~= nil end)");
    editor.ex("redo");
    editor.ex("write");
    assert_eq!(work.read(FILE), expected);
    assert!(work.timeline(&work.only_task()).contains("two is right"), "the reason is on record");
    editor.leave("qa");
}

#[test]
fn keys_do_what_they_did_before_where_no_hunk_is() {
    let (work, _) = proposed();
    let Some(editor) = Neovim::start(&work, Setup::Plugin, FILE) else { return };
    editor.until("#T.keys() == 4");
    editor.lua("vim.keymap.set('n', 'gx', function() T.before = true end)");
    editor.until("T.at('//! A till')");
    editor.keys("gx");
    editor.until("T.before == true");
    editor.keys("ga");
    assert_eq!(editor.text(FILE), LIB.trim_end(), "nothing was accepted");
    editor.ex("Planwright reject");
    editor.leave("qa");
}

#[test]
fn a_key_of_the_users_own_is_left_alone() {
    let (work, _) = proposed();
    let Some(editor) = Neovim::start(&work, Setup::Plugin, FILE) else { return };
    editor.lua("vim.keymap.set('n', 'ga', function() T.mine = true end, { buffer = 0 })");
    editor.until("#T.drawn() > 0");
    editor.until("T.at('    1')");
    editor.keys("ga");
    editor.until("T.mine == true");
    editor.leave("qa");
}

#[test]
fn a_task_is_picked_and_its_page_opens() {
    let (work, task) = proposed();
    let Some(editor) = Neovim::start(&work, Setup::Plugin, FILE) else { return };
    editor.until("require('planwright').status():find('hunks') ~= nil");
    editor.lua(&format!("T.want = '{task}'"));
    editor.ex("Planwright tasks");
    editor.until("vim.endswith(vim.api.nvim_buf_get_name(0), 'task.md')");
    editor.leave("qa");
}

#[test]
fn its_health_is_told() {
    let work = work();
    let Some(editor) = Neovim::start(&work, Setup::Plugin, FILE) else { return };
    editor.until("#T.servers() == 1");
    editor.ex("checkhealth planwright");
    let said = editor.lua("return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\\n')");
    let said = said.as_str().unwrap();
    assert!(said.contains("planwright 0.1.0") && said.contains("running for"), "{said}");
    assert!(!said.contains("ERROR") && !said.contains("WARNING"), "{said}");
    editor.leave("qa!");
}
