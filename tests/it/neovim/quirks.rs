//! What a real Neovim does between a decision and its text: edits it drops and calls applied, versions it does not look
//! at, changes it tells of late.

use super::driver::{Neovim, Setup};
use super::{FILE, LIB, proposed};
use serde_json::json;

const RAISED: [(&str, &str); 3] = [("    1\n", "    10\n"), ("    2\n", "    20\n"), ("    3\n", "    30\n")];

/// A buffer with three hunks, and their ids from the top.
#[track_caller]
fn opened() -> Option<(crate::support::model::Modelled, Neovim, Vec<String>)> {
    let (work, _) = proposed();
    let editor = Neovim::start(&work, Setup::Stock, FILE)?;
    editor.until(&format!("#T.hunks('{FILE}') == 3"));
    let hunks = editor.lua(&format!("return T.hunks('{FILE}')"));
    let ids = hunks.as_array().unwrap().iter().map(|hunk| hunk["id"].as_str().unwrap().to_owned()).collect();
    Some((work, editor, ids))
}

/// The text with the first so many of them raised.
fn raised(count: usize) -> String {
    RAISED.iter().take(count).fold(LIB.to_owned(), |text, (old, new)| text.replace(old, new))
}

#[test]
fn two_quick_accepts_both_land() {
    let Some((work, editor, ids)) = opened() else { return };
    let [first, second, _] = &ids[..] else { panic!("{ids:?}") };
    editor.lua(&format!("T.command('accept', {{ hunk = '{first}' }}) T.command('accept', {{ hunk = '{second}' }})"));
    editor.until_text(FILE, &raised(2));
    editor.ex("undo");
    editor.until_text(FILE, &raised(1));
    editor.ex("redo");
    editor.ex("write");
    assert_eq!(work.read(FILE), raised(2));
    editor.leave("qa");
}

#[test]
fn an_edit_that_the_editor_drops_as_stale_is_not_counted_as_accepted() {
    let Some((_work, editor, ids)) = opened() else { return };
    // A first edit gives the buffer a version that Neovim compares.
    editor.keys("Goend<Esc>");
    editor.until(&format!("#T.hunks('{FILE}') == 3"));
    let first = &ids[0];
    // The decision is on its way when the text changes: the server's edit names the version before.
    editor.lua(&format!(
        "T.command('accept', {{ hunk = '{first}' }}) vim.api.nvim_buf_set_lines(0, 0, 1, true, {{ '//! My till.' }})"
    ));
    let mine = |text: &str| format!("{}end", text.replace("//! A till.", "//! My till."));
    let (open, accepted) = (mine(LIB), mine(&raised(1)));
    let refused = "#T.said > 0";
    editor.until(&format!("{refused} or T.text('{FILE}') == [==[{accepted}]==]"));
    assert!([&open, &accepted].contains(&&editor.text(FILE)), "{}", editor.state());
    // Decided again it lands, whatever became of the first one.
    if editor.text(FILE) == open {
        editor.lua(&format!("T.command('accept', {{ hunk = '{first}' }})"));
    }
    editor.until_text(FILE, &accepted);
    editor.leave("qa!");
}

#[test]
fn a_buffer_that_was_never_changed_takes_an_edit() {
    let Some((work, editor, ids)) = opened() else { return };
    assert_eq!(editor.lua("return vim.lsp.util.buf_versions[vim.api.nvim_get_current_buf()]"), json!(0));
    editor.lua(&format!("T.command('accept', {{ hunk = '{}' }})", ids[1]));
    let text = LIB.replace("    2\n", "    20\n");
    editor.until_text(FILE, &text);
    editor.until(&format!(
        "vim.iter(T.hunks('{FILE}')):any(function(h) return h.message:find('save the file') ~= nil end)"
    ));
    editor.ex("write");
    assert_eq!(work.read(FILE), text);
    editor.until(&format!("#T.hunks('{FILE}') == 2"));
    editor.leave("qa");
}

#[test]
fn what_was_accepted_and_never_saved_is_open_again() {
    let Some((work, editor, ids)) = opened() else { return };
    for id in &ids {
        editor.lua(&format!("T.command('accept', {{ hunk = '{id}' }})"));
    }
    editor.until_text(FILE, &raised(3));
    editor.ex("edit!");
    editor.until_text(FILE, LIB);
    editor.until(&format!(
        "vim.iter(T.hunks('{FILE}')):all(function(h) return h.message:find('(open)', 1, true) ~= nil end)"
    ));
    assert_eq!(work.read(FILE), LIB);
    editor.leave("qa");
}

#[test]
fn a_plan_is_closed_without_a_question() {
    let (work, task) = proposed();
    let Some(editor) = Neovim::start(&work, Setup::Stock, FILE) else { return };
    editor.until("#T.servers() == 1");
    editor.lua(&format!("T.command('openPlan', {{ task = '{task}' }})"));
    editor.until("vim.endswith(vim.api.nvim_buf_get_name(0), '.plan.md')");
    editor.lua(&format!("T.command('revise', {{ task = '{task}', words = 'split it' }})"));
    editor.until("not vim.bo.modified");
    editor.leave("qa");
}
