//! Commands as words. POSIX quoting, nothing else: no pipe, no variable, no glob ever reaches a shell.
//!
//! **Invariant:** what is accepted here means the same to a shell and to us; what a shell would treat otherwise is a
//! slip with a range. `split(join(argv)) == argv`. **Absent:** what the command may do; that is policy.

use std::ops::Range;

/// Something that a shell would not take as it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Slip {
    /// Bytes of the command.
    pub range: Range<usize>,
    /// What is wrong and what to do.
    pub message: String,
    /// What to do about it by an edit.
    pub mend: Mend,
}

/// How a slip can be mended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Mend {
    /// No edit is obvious.
    None,
    /// The whole word in single quotes.
    Quote(Range<usize>),
    /// Two commands, split here.
    Split(Range<usize>),
    /// The leading `K=V` words go behind `with`.
    Environment(Range<usize>),
}

/// A command line in words.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Words {
    /// The words, quotes removed.
    pub argv: Vec<String>,
    /// The last word is an unquoted `*`.
    pub open: bool,
    /// What a shell would do otherwise.
    pub slips: Vec<Slip>,
}

/// Where a scan stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Plain,
    Single,
    Double,
}

/// Splits a command line.
pub(crate) fn split(line: &str) -> Words {
    let mut words = Words { open: line == "*" || line.ends_with(" *"), ..Words::default() };
    let slips = slips(line);
    if slips.is_empty() {
        match shell_words::split(line) {
            Ok(argv) => words.argv = argv,
            Err(_) => words.slips.push(Slip {
                range: 0..line.len(),
                message: "a quote is never closed; close it".to_owned(),
                mend: Mend::None,
            }),
        }
    }
    if slips.iter().all(|slip| matches!(slip.mend, Mend::Quote(_))) && !slips.is_empty() {
        words.argv = shell_words::split(line).unwrap_or_default();
    }
    words.slips.extend(slips);
    words
}

/// Quotes the words so that `split` gives them back.
pub(crate) fn join(argv: &[String]) -> String {
    let words = argv.iter().enumerate().map(|(n, word)| {
        // A leading `K=V` would be read as the shell's variable.
        if n == 0 && word.contains('=') { single(word) } else { quote(word) }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A word in single quotes where it has a character of the shell, else as it is.
pub(crate) fn quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=+,@%^".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    single(word)
}

fn single(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn slips(line: &str) -> Vec<Slip> {
    let mut out: Vec<Slip> = Vec::new();
    let mut within = Within::Plain;
    let mut word = 0;
    let mut chars = line.char_indices().peekable();
    let word_at =
        |start: usize| start..start + line.get(start..).map_or(0, |rest| rest.find(' ').unwrap_or(rest.len()));
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, c)| *c);
        match (within, c) {
            (Within::Single, '\'') | (Within::Double, '"') => within = Within::Plain,
            (Within::Single, _) => {}
            (Within::Plain, '\'') => within = Within::Single,
            (Within::Plain, '"') => within = Within::Double,
            (Within::Plain | Within::Double, '\\') => {
                chars.next();
            }
            (Within::Plain, ' ' | '\t') => word = at + 1,
            (Within::Plain | Within::Double, '$')
                if next.is_some_and(|c| c.is_alphanumeric() || "_({@*#?!$".contains(c)) =>
            {
                out.push(expanded(at..at + 1, "$", &word_at(word)));
            }
            (Within::Plain | Within::Double, '`') => out.push(expanded(at..at + 1, "`", &word_at(word))),
            (Within::Plain, '&') if next == Some('&') => {
                chars.next();
                out.push(operator(at..at + 2, "&&", true));
            }
            (Within::Plain, ';') => out.push(operator(at..at + 1, ";", true)),
            (Within::Plain, '|' | '&' | '<' | '>' | '(' | ')') => {
                let mut end = at + 1;
                while chars.next_if(|(_, c)| matches!(c, '|' | '&' | '<' | '>')).is_some() {
                    end += 1;
                }
                out.push(operator(at..end, line.get(at..end).unwrap_or(""), false));
            }
            (Within::Plain, '*') if at == word && next.is_none() => {}
            (Within::Plain, '*' | '?' | '[') => out.push(expanded(at..at + 1, &c.to_string(), &word_at(word))),
            (Within::Plain, '~' | '#') if at == word => {
                out.push(expanded(at..at + 1, &c.to_string(), &word_at(word)));
            }
            (Within::Plain | Within::Double, _) => {}
        }
    }
    let set = line.split(' ').take_while(|word| is_setting(word)).map(|word| word.len() + 1).sum::<usize>();
    if set > 0 && set < line.len() {
        out.insert(
            0,
            Slip {
                range: 0..set - 1,
                message: "a variable before a command is the shell's; write it behind the command, `with K=V`"
                    .to_owned(),
                mend: Mend::Environment(0..set),
            },
        );
    }
    out
}

fn is_setting(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.bytes().all(is_name)
    })
}

pub(crate) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn operator(range: Range<usize>, sign: &str, splits: bool) -> Slip {
    let advice = if splits {
        "make it two commands, each on its own"
    } else {
        "put the line into a script of the workspace and name that, or quote it to pass it as it is"
    };
    let mend = if splits { Mend::Split(range.clone()) } else { Mend::None };
    Slip { range, message: format!("`{sign}` is a shell's operator and no shell runs here; {advice}"), mend }
}

fn expanded(range: Range<usize>, sign: &str, word: &Range<usize>) -> Slip {
    Slip {
        range,
        message: format!("`{sign}` is not expanded here; put the word in single quotes to pass it as it is"),
        mend: Mend::Quote(word.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a shell would do to these words is said with its place; what it would leave alone is not.
    #[test]
    fn what_a_shell_would_do_is_told() {
        let told = |line: &str| {
            let words = split(line);
            let slip = |slip: &Slip| format!("{:?} {:?}", line.get(slip.range.clone()).unwrap_or_default(), slip.mend);
            let told: Vec<String> = words.slips.iter().map(slip).collect();
            if told.is_empty() { "as it is".to_owned() } else { told.join(", ") }
        };
        let lines = [
            "a | b",
            "a && b",
            "a; b",
            "a > f",
            "a 2>&1",
            "a &",
            "(a)",
            "a $(b)",
            "a $B",
            "a `b`",
            "a \"$B\"",
            "a *.rs",
            "a b?",
            "a [x]",
            "a ~",
            "A=b c",
            "a 'b",
            "a '|' \"&\" \\; b'*'",
            "a {b,c} !d e~ f#g h=i",
            "cargo test *",
        ];
        let all: String = lines.iter().map(|line| format!("{line}: {}\n", told(line))).collect();
        insta::assert_snapshot!(all, @r#"
        a | b: "|" None
        a && b: "&&" Split(2..4)
        a; b: ";" Split(1..2)
        a > f: ">" None
        a 2>&1: ">&" None
        a &: "&" None
        (a): "(" None, ")" None
        a $(b): "$" Quote(2..6), "(" None, ")" None
        a $B: "$" Quote(2..4)
        a `b`: "`" Quote(2..5), "`" Quote(2..5)
        a "$B": "$" Quote(2..6)
        a *.rs: "*" Quote(2..6)
        a b?: "?" Quote(2..4)
        a [x]: "[" Quote(2..5)
        a ~: "~" Quote(2..3)
        A=b c: "A=b" Environment(0..4)
        a 'b: "a 'b" None
        a '|' "&" \; b'*': as it is
        a {b,c} !d e~ f#g h=i: as it is
        cargo test *: as it is
        "#);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// Words, rendered and read again, are the words.
        #[test]
        fn words_come_back(argv in proptest::collection::vec("(\\PC|[ '\"\\\\|&;<>()$`*?\\[~#=!{}\n\t]){0,8}", 1..6)) {
            let words = split(&join(&argv));
            prop_assert_eq!(words.slips, vec![]);
            prop_assert_eq!(words.argv, argv);
            prop_assert!(!words.open);
        }

        /// No text breaks the reader, and each slip lies in it.
        #[test]
        fn any_line_is_read(line in "(\\PC|[ '\"\\\\|&;<>()$`*?\\[~#=]){0,24}") {
            for slip in split(&line).slips {
                prop_assert!(line.get(slip.range).is_some());
            }
        }
    }
}
