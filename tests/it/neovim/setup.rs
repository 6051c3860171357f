//! When a server starts, and when none does.

use super::driver::{self, Neovim, Setup};
use super::{FILE, work};
use crate::support::{Project, in_time};
use std::path::Path;
use std::process::{Command, Stdio};

/// Neovim with a set-up, as words: it notes the kind of its file and how many servers it started, and leaves with a
/// failure.
fn noting(program: &Path, work: &Project, setup: Setup, home: &Path) -> (Command, Vec<String>) {
    let servers = "tostring(#vim.lsp.get_clients({ _uninitialized = true }))";
    // After everything that follows an opened file.
    let note = format!(
        "lua vim.schedule(function() vim.fn.writefile({{ vim.bo.filetype, {servers} }}, [==[{}]==]) vim.cmd('cq') end)",
        home.join("seen").display()
    );
    let mut editor = driver::prepared(program, work, setup, home);
    editor.args(["--headless", "-c", &note]).stdin(Stdio::null());
    let words = [editor.get_program()].into_iter().chain(editor.get_args());
    let words = words.map(|word| word.to_string_lossy().into_owned()).collect();
    (editor, words)
}

#[test]
fn a_commit_message_starts_nothing() {
    for setup in [Setup::Stock, Setup::Plugin] {
        let work = work();
        let Some(program) = driver::program() else { return };
        let home = tempfile::tempdir().unwrap();
        let (editor, words) = noting(&program, &work, setup, home.path());
        work.write(FILE, "pub fn other() {}\n");
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-a"]).current_dir(&work.root);
        driver::same_environment(&mut git, &editor);
        let said = git.env("GIT_EDITOR", shell_words::join(words)).stdin(Stdio::null()).output().unwrap();
        assert!(!said.status.success(), "the commit was left");
        let seen = || std::fs::read_to_string(home.path().join("seen")).unwrap_or_else(|_| panic!("{said:?}"));
        assert_eq!(seen(), "gitcommit\n0\n", "{setup:?}");

        // The same editor with a source file starts one.
        let (mut editor, _) = noting(&program, &work, setup, home.path());
        editor.arg(FILE).output().unwrap();
        assert_eq!(seen(), "rust\n1\n", "{setup:?}");
    }
}

#[test]
fn a_file_outside_starts_no_second_server() {
    for setup in [Setup::Stock, Setup::Plugin] {
        let work = work();
        let Some(editor) = Neovim::start(&work, setup, FILE) else { return };
        editor.until("#T.servers() == 1");
        let outside = work.root.with_file_name("outside.rs");
        std::fs::write(&outside, "fn outside() {}\n").unwrap();
        editor.edit(outside.to_str().unwrap());
        assert!(editor.is("vim.bo.filetype == 'rust'"));
        // A page of ours below the root belongs to the same server.
        work.write(".planwright/tasks/zzzz/page.md", "# A page\n");
        editor.edit(".planwright/tasks/zzzz/page.md");
        editor.until("#vim.lsp.get_clients({ bufnr = 0 }) == 1");
        assert!(editor.is("#vim.lsp.get_clients() == 1"), "{setup:?}\n{}", editor.state());
        editor.leave("qa");
    }
}

#[test]
fn the_server_ends_with_its_editor() {
    for crash in [true, false] {
        let work = work();
        let Some(editor) = Neovim::start(&work, Setup::Stock, FILE) else { return };
        editor.until("#T.servers() == 1");
        let server = servers(&work);
        assert_eq!(server.len(), 1, "{server:?}");
        if crash {
            editor.kill();
        } else {
            editor.leave("qa");
        }
        assert!(in_time(|| servers(&work).is_empty()), "crash: {crash}; still there: {server:?}");
    }
}

#[test]
fn a_page_that_changes_on_disk_is_read_again_unless_it_was_edited() {
    for setup in [Setup::Stock, Setup::Plugin] {
        let work = work();
        let page = ".planwright/tasks/zzzz/page.md";
        work.write(page, "one\n");
        let Some(editor) = Neovim::start(&work, setup, page) else { return };
        editor.until("#T.servers() == 1");
        work.write(page, "one, two\n");
        let event = "vim.api.nvim_exec_autocmds('LspProgress', { pattern = '*' })";
        editor.lua(event);
        editor.until_text(page, "one, two");
        editor.keys("Amine<Esc>");
        work.write(page, "one, two, three\n");
        editor.lua(event);
        editor.lua(event);
        assert_eq!(editor.text(page), "one, twomine", "{setup:?}");
        editor.leave("qa!");
    }
}

/// Process ids of the servers of this workspace.
pub fn servers(work: &Project) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let says = |file: &str, what: &str| {
            let bytes = std::fs::read(entry.path().join(file)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).contains(what)
        };
        if says("cmdline", "planwright\0lsp") && says("environ", work.state.to_str().unwrap_or("?")) {
            found.push(id);
        }
    }
    found
}
