//! What the person sees of the tour: headings, commands before they run, what came of them.
//!
//! Invariant: a command is printed as it can be typed, in a line that begins with `$ `; nothing else begins so. What
//! the guide looks at by itself, to check an outcome, is not shown. Absent: the order of things; `stages` has it.

use super::child::{self, Ground};
use super::{key, sample};
use crate::cli::render::{Paper, Tone};
use crate::cli::{Exit, Terminal};
use serde_json::{Value, json};

/// How a child ends at Ctrl-C, which reaches it as it reaches the tour.
const INTERRUPTED: i32 = Exit::Interrupted as i32;

/// Why the tour ended early.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Left {
    /// Something came out otherwise than was said.
    Unmet(String),
    /// The person had enough.
    Interrupted,
}

impl From<String> for Left {
    fn from(why: String) -> Self {
        Left::Unmet(why)
    }
}

/// Leads through the tour.
pub(super) struct Guide<'a> {
    io: &'a mut Terminal,
    pub(super) ground: Ground,
    /// The result is asked for as JSON, at the end; until then nothing is said.
    quiet: bool,
    commands: Vec<String>,
}

impl<'a> Guide<'a> {
    pub(super) fn new(io: &'a mut Terminal, ground: Ground, quiet: bool) -> Self {
        Self { io, ground, quiet, commands: Vec::new() }
    }

    fn say(&mut self, paper: &Paper) {
        if !self.quiet {
            self.io.print(paper.text());
        }
    }

    /// What the tour is, and how to be apart from it.
    pub(super) fn open(&mut self) {
        let mut paper = Paper::new();
        paper.put(Tone::Strong, "planwright tour").end();
        paper.block(
            "",
            Tone::Plain,
            "A goal becomes a plan; you approve it; it runs, is killed, goes on; you keep what you like.\n\
             The real program on a small Rust project of its own, without model, network or configuration.",
        );
        paper.end();
        paper.put(Tone::Plain, "To type along in another terminal, or to go on afterwards:").end();
        for line in self.surroundings() {
            paper.put(Tone::Plain, "  ").put(Tone::Command, &line).end();
        }
        self.say(&paper);
    }

    fn surroundings(&self) -> Vec<String> {
        let quoted = |path: &std::path::Path| shell_words::quote(&path.to_string_lossy()).into_owned();
        let mut lines = vec![format!("cd {}", quoted(&self.ground.project))];
        let variables = self.ground.variables();
        lines.extend(variables.iter().map(|(name, path)| format!("export {name}={}", quoted(path))));
        lines
    }

    /// A heading with a few lines about what follows. Waits before it for a key, where a person watches.
    ///
    /// # Errors
    /// Ctrl-C came instead.
    pub(super) async fn stage(&mut self, title: &str, about: &str) -> Result<(), Left> {
        if self.io.interactive && !self.quiet {
            let mut paper = Paper::new();
            paper.end().put(Tone::Faint, "any key goes on, Ctrl-C leaves ");
            self.io.print(paper.text());
            let gone_on = key::wait(self.io).await;
            // The question is not part of the record.
            self.io.print("\r\u{1b}[K");
            gone_on.map_err(|()| Left::Interrupted)?;
        }
        let mut paper = Paper::new();
        paper.end().put(Tone::Strong, &format!("── {title} ")).put(Tone::Strong, &rule(title)).end();
        paper.block("", Tone::Plain, about);
        self.say(&paper);
        Ok(())
    }

    /// Runs the program with these words and expects an exit code, which `means` something.
    ///
    /// # Errors
    /// It ended otherwise.
    pub(super) async fn run(&mut self, words: &[&str], code: i32, means: &str) -> Result<(), Left> {
        let words = self.announce(words);
        let came = child::to_its_end(&self.ground, &words, self.quiet).await?;
        if came == INTERRUPTED {
            return Err(Left::Interrupted);
        }
        if came != code {
            return Err(Left::Unmet(format!(
                "`planwright {}` ended with {came}, not {code}",
                shell_words::join(&words)
            )));
        }
        let mut paper = Paper::new();
        let tone = if code == 0 { Tone::Good } else { Tone::Warn };
        paper.put(tone, &format!("→ exit {code}")).put(Tone::Faint, &format!(": {means}")).end();
        self.say(&paper);
        Ok(())
    }

    /// Runs the program with these words and kills it when it says this.
    ///
    /// # Errors
    /// It did not come so far.
    pub(super) async fn kill(&mut self, words: &[&str], sign: &str) -> Result<(), Left> {
        let words = self.announce(words);
        match child::until_killed(&self.ground, &words, sign, self.io, self.quiet).await? {
            child::Fate::Killed(pid) => {
                self.remark(&format!("kill -9 {pid}: the tour has just killed it, in the middle of the check"));
                Ok(())
            }
            child::Fate::Ended(Some(INTERRUPTED)) => Err(Left::Interrupted),
            child::Fate::Ended(_) => Err(Left::Unmet("it ended before its check had begun".to_owned())),
        }
    }

    /// Makes an empty file of the project, as the command that is printed would.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn touch(&mut self, name: &str) -> Result<(), Left> {
        let mut paper = Paper::new();
        paper.end().put(Tone::Command, &format!("$ touch {}", shell_words::quote(name))).end();
        self.say(&paper);
        self.commands.push(format!("touch {}", shell_words::quote(name)));
        std::fs::write(self.ground.project.join(name), "").map_err(|error| Left::Unmet(format!("{name}: {error}")))
    }

    /// Something that is no command.
    pub(super) fn remark(&mut self, text: &str) {
        let mut paper = Paper::new();
        for line in text.lines() {
            paper.put(Tone::Warn, &format!("# {line}")).end();
        }
        self.say(&paper);
    }

    fn announce(&mut self, words: &[&str]) -> Vec<String> {
        let line = format!("planwright {}", shell_words::join(words));
        let mut paper = Paper::new();
        paper.end().put(Tone::Command, &format!("$ {line}")).end();
        self.say(&paper);
        self.commands.push(line);
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// Looks without showing it.
    ///
    /// # Errors
    /// There was no answer.
    pub(super) async fn ask(&self, word: &str) -> Result<Value, Left> {
        Ok(child::asked(&self.ground, word).await?)
    }

    /// A file of the project as it stands now.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn read(&self, path: &str) -> Result<String, Left> {
        std::fs::read_to_string(self.ground.project.join(path))
            .map_err(|error| Left::Unmet(format!("{path} cannot be read: {error}")))
    }

    /// How it ended, and where everything is.
    pub(super) fn leave(&mut self, outcome: &Result<(), Left>) {
        let folder = self.ground.base.display().to_string();
        if self.quiet {
            let why = match outcome {
                Ok(()) => None,
                Err(Left::Interrupted) => Some("interrupted"),
                Err(Left::Unmet(why)) => Some(why.as_str()),
            };
            let value = json!({ "done": outcome.is_ok(), "why": why, "folder": folder, "commands": self.commands });
            self.io.json(&value);
            return;
        }
        let mut paper = Paper::new();
        paper.end();
        match outcome {
            Ok(()) => {
                paper.put(Tone::Good, "Everything came out as it was said.").end();
            }
            Err(Left::Interrupted) => {
                paper.put(Tone::Warn, "The tour ends here.").end();
            }
            Err(Left::Unmet(why)) => {
                paper.put(Tone::Bad, "The tour did not come out as it should: ");
                paper.block("", Tone::Plain, why);
            }
        }
        let quoted = shell_words::quote(&folder).into_owned();
        paper.put(Tone::Plain, "The project stays where it is. To look at it:").end();
        let open = format!("cd {} && ${{EDITOR:-vi}} src/price.rs {}", quoted.clone() + "/till", sample::PLAN);
        paper.put(Tone::Plain, "  ").put(Tone::Command, &open).end();
        paper.put(Tone::Plain, "To be rid of it:").end();
        paper.put(Tone::Plain, "  ").put(Tone::Command, &format!("rm -r {quoted}")).end();
        self.say(&paper);
    }
}

/// Fills a heading up to the width of a page.
fn rule(title: &str) -> String {
    "─".repeat(76_usize.saturating_sub(title.chars().count()))
}
