//! Views as text for a terminal.
//!
//! Invariant: nothing reaches a terminal but through [`Paper`], which makes every text harmless before it styles it.
//! Absent: whether colours are wanted; the stream decides and strips them.

pub mod review;

mod page;
mod show;
mod status;
mod timeline;

use crate::cli::doctor;
use crate::desk::View;
use crate::domain::text::sanitize;
use clap::builder::styling::{AnsiColor, Style};

/// How a text is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Tone {
    Plain,
    Strong,
    Faint,
    Good,
    Warn,
    Bad,
    /// A command that can be run.
    Command,
}

impl Tone {
    fn style(self) -> Style {
        match self {
            Tone::Plain => Style::new(),
            Tone::Strong => Style::new().bold(),
            Tone::Faint => Style::new().dimmed(),
            Tone::Good => AnsiColor::Green.on_default(),
            Tone::Warn => AnsiColor::Yellow.on_default(),
            Tone::Bad => AnsiColor::Red.on_default(),
            Tone::Command => AnsiColor::Cyan.on_default(),
        }
    }
}

/// What is written on.
#[derive(Debug, Default)]
pub struct Paper {
    text: String,
}

impl Paper {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// What stands on it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Adds to the line.
    pub fn put(&mut self, tone: Tone, text: &str) -> &mut Self {
        self.styled(tone, &sanitize::plain(text))
    }

    /// Adds text in which nothing may be hidden.
    pub fn put_visibly(&mut self, tone: Tone, text: &str) -> &mut Self {
        self.styled(tone, &sanitize::visible(text))
    }

    fn styled(&mut self, tone: Tone, text: &str) -> &mut Self {
        let style = tone.style();
        if text.is_empty() || tone == Tone::Plain {
            self.text.push_str(text);
        } else {
            self.text.push_str(&format!("{style}{text}{style:#}"));
        }
        self
    }

    /// Ends the line.
    pub fn end(&mut self) -> &mut Self {
        self.text.push('\n');
        self
    }

    /// Lines of text, each indented.
    pub fn block(&mut self, indent: &str, tone: Tone, text: &str) -> &mut Self {
        for line in text.lines() {
            self.text.push_str(indent);
            self.put(tone, line).end();
        }
        self
    }

    /// A name in a column, and its value.
    pub fn field(&mut self, name: &str, tone: Tone, value: &str) -> &mut Self {
        self.put(Tone::Strong, &format!("{name:<10}")).put(tone, value).end()
    }

    /// A command to run next and what it means.
    pub fn next(&mut self, command: &str, means: &str) -> &mut Self {
        self.put(Tone::Strong, "next: ").put(Tone::Command, command).put(Tone::Faint, &format!("  {means}")).end()
    }
}

/// Any view.
pub fn view(view: &View) -> Paper {
    let mut paper = Paper::new();
    match view {
        View::Tasks(view) => status::tasks(&mut paper, view),
        View::Status(view) => status::status(&mut paper, view),
        View::Show(view) => show::show(&mut paper, view),
        View::Review(view) => review::review(&mut paper, view),
        View::Why(view) => review::why(&mut paper, view),
        View::Timeline(view) => timeline::timeline(&mut paper, view),
        View::Preview(view) => show::preview(&mut paper, view),
        View::Compare(view) => show::compare(&mut paper, view),
        View::Page(view) => page::page(&mut paper, view),
        View::Loose(text) => {
            paper.block("", Tone::Plain, text.as_deref().unwrap_or_default());
        }
        View::Compiled(view) => page::compiled(&mut paper, view),
        View::Candidates(found) => page::candidates(&mut paper, found),
        View::Code(found) => page::code(&mut paper, found.as_ref()),
        View::Item(view) => page::item(&mut paper, view),
        View::Surroundings(found) => return doctor::render(&doctor::find(&[], Ok(found.clone()))),
    }
    paper
}
