//! The job with nothing but the ten lines of `editors/neovim/stock.lua`.

use super::driver::{Neovim, Setup};
use super::{FILE, LIB, work};

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
