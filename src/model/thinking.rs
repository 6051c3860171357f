//! Reasoning that a model writes into its content, kept apart from its answer.
//!
//! Invariant: reasoning counts as such only at the very start of an answer, so that code which merely mentions the
//! tag stays code. Absent: reasoning that comes in a field of its own; the reply has those apart already.

const TAGS: [(&str, &str); 2] = [("<think>", "</think>"), ("<thinking>", "</thinking>")];

/// Content as it streams.
#[derive(Debug, Default)]
pub struct Thinking {
    content: String,
    state: State,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// So far only blanks or the beginning of a tag.
    #[default]
    Undecided,
    /// Behind an opening tag; waits for this closing one.
    Inside(&'static str),
    /// Behind the closing tag, where blanks are not yet the answer.
    Behind,
    /// The answer itself.
    Answer,
}

impl Thinking {
    /// Takes a piece; returns what of it may be shown as answer.
    pub fn push(&mut self, piece: &str) -> String {
        self.content.push_str(piece);
        match self.state {
            State::Answer => piece.to_owned(),
            State::Behind => self.begin(piece),
            State::Inside(close) => self.look_for(close),
            State::Undecided => {
                let begun = self.content.trim_start();
                if let Some((_, close)) = TAGS.iter().find(|(open, _)| begun.starts_with(open)) {
                    self.state = State::Inside(close);
                    self.look_for(close)
                } else if begun.is_empty() || TAGS.iter().any(|(open, _)| open.starts_with(begun)) {
                    String::new()
                } else {
                    self.state = State::Answer;
                    self.content.clone()
                }
            }
        }
    }

    fn look_for(&mut self, close: &str) -> String {
        match self.content.split_once(close) {
            Some((_, rest)) => {
                let rest = rest.to_owned();
                self.begin(&rest)
            }
            None => String::new(),
        }
    }

    fn begin(&mut self, piece: &str) -> String {
        let begun = piece.trim_start();
        self.state = if begun.is_empty() { State::Behind } else { State::Answer };
        begun.to_owned()
    }

    /// The whole content as (answer, reasoning). An opening tag that never closes leaves no answer.
    pub fn finish(self) -> (String, String) {
        let begun = self.content.trim_start();
        for (open, close) in TAGS {
            if let Some(inside) = begun.strip_prefix(open) {
                let (reasoning, answer) = inside.split_once(close).unwrap_or((inside, ""));
                return (answer.trim_start().to_owned(), reasoning.trim().to_owned());
            }
        }
        // Chat templates that open the tag in the prompt leave only the closing one in the answer, on a line of its
        // own. Inside code it would stand in a string or a comment.
        for (_, close) in TAGS {
            let mut before = 0;
            for line in self.content.split_inclusive('\n') {
                let after = before + line.len();
                if line.trim() == close
                    && let (Some(reasoning), Some(answer)) = (self.content.get(..before), self.content.get(after..))
                {
                    return (answer.trim_start().to_owned(), reasoning.trim().to_owned());
                }
                before = after;
            }
        }
        (self.content, String::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds one character at a time: the hardest split there is.
    #[track_caller]
    fn check(content: &str, shown: &str, answer: &str, reasoning: &str) {
        let mut thinking = Thinking::default();
        let seen: String = content.chars().map(|c| thinking.push(&c.to_string())).collect();
        assert_eq!(seen, shown, "while streaming");
        assert_eq!(thinking.finish(), (answer.to_owned(), reasoning.to_owned()));
    }

    #[test]
    fn reasoning_is_kept_apart() {
        check("<think>\nhm\n</think>\n\nfn a() {}", "fn a() {}", "fn a() {}", "hm");
        check("  <thinking>x</thinking>y", "y", "y", "x");
        check("<think>never closed", "", "", "never closed");
        check("plain <think>mentioned</think>", "plain <think>mentioned</think>", "plain <think>mentioned</think>", "");
        check("<b>not a tag of ours</b>", "<b>not a tag of ours</b>", "<b>not a tag of ours</b>", "");
    }

    #[test]
    fn an_opening_tag_may_stand_in_the_prompt() {
        check("hm\n</think>\nanswer", "hm\n</think>\nanswer", "answer", "hm");
        let code = "let close = \"</think>\";\n";
        check(code, code, code, "");
    }
}
