//! The texts that the client has open, and edits in them as the protocol counts.
//!
//! Invariant: counts columns by itself, so that a wrong count of the server's is seen. Absent: anything of the server's.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

use serde_json::{Value, json};
use std::collections::HashMap;

/// Open texts by URI.
#[derive(Debug, Default)]
pub struct Mirror {
    /// `utf-8`, `utf-16` or `utf-32`.
    pub encoding: String,
    /// By URI.
    pub open: HashMap<String, Text>,
    /// The first change of a text numbered 0 makes it this; Neovim counts on from a tick of its own.
    pub tick: i32,
}

/// An open text.
#[derive(Clone, Debug)]
pub struct Text {
    /// The client's number.
    pub version: i32,
    /// What the user sees.
    pub text: String,
    /// Changes made by edits that the server was not told of yet.
    pub untold: Vec<Value>,
    past: Vec<String>,
    future: Vec<String>,
}

impl Text {
    /// As it was opened.
    pub fn new(version: i32, text: &str) -> Self {
        Self { version, text: text.to_owned(), untold: Vec::new(), past: Vec::new(), future: Vec::new() }
    }
}

impl Mirror {
    fn units(&self, c: char) -> usize {
        match self.encoding.as_str() {
            "utf-8" => c.len_utf8(),
            "utf-32" => 1,
            _ => c.len_utf16(),
        }
    }

    /// The position of a byte.
    pub fn position(&self, text: &str, byte: usize) -> Value {
        let before = &text[..byte];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let column: usize = before[start..].chars().map(|c| self.units(c)).sum();
        json!({"line": before.matches('\n').count(), "character": column})
    }

    /// The byte of a position.
    pub fn byte(&self, text: &str, position: &Value) -> usize {
        let number = |key: &str| usize::try_from(position[key].as_u64().unwrap()).unwrap();
        let (line, mut column) = (number("line"), number("character"));
        let start = if line == 0 { Some(0) } else { text.match_indices('\n').nth(line - 1).map(|(at, _)| at + 1) };
        let Some(start) = start else { return text.len() };
        let mut at = start;
        let line = text[start..].split('\n').next().unwrap();
        for c in line.strip_suffix('\r').unwrap_or(line).chars() {
            if column < self.units(c) {
                break;
            }
            column -= self.units(c);
            at += c.len_utf8();
        }
        at
    }

    /// The byte range of a range.
    pub fn bytes(&self, text: &str, range: &Value) -> std::ops::Range<usize> {
        self.byte(text, &range["start"])..self.byte(text, &range["end"])
    }

    /// Makes text edits of the protocol, all meant on the text as it is. Gives the changes for a `didChange`.
    pub fn edit(&mut self, uri: &str, edits: &[Value]) -> Vec<Value> {
        let old = self.open[uri].text.clone();
        let mut spots: Vec<(std::ops::Range<usize>, String)> = edits
            .iter()
            .map(|edit| (self.bytes(&old, &edit["range"]), edit["newText"].as_str().unwrap().to_owned()))
            .collect();
        // From below, so that each range holds in the text that the one before it left.
        spots.sort_by_key(|(range, _)| (range.start, range.end));
        let mut text = old;
        let mut changes = Vec::new();
        for (range, new) in spots.into_iter().rev() {
            let told = json!({"start": self.position(&text, range.start), "end": self.position(&text, range.end)});
            changes.push(json!({"range": told, "text": new}));
            text.replace_range(range, &new);
        }
        let open = self.open.get_mut(uri).unwrap();
        let before = std::mem::replace(&mut open.text, text);
        open.past.push(before);
        open.future.clear();
        open.version = if open.version == 0 { self.tick.max(1) } else { open.version + 1 };
        changes
    }

    /// Undoes the last edit, or makes it again. Gives the changes for a `didChange`: the least run of characters in which
    /// the two texts differ.
    pub fn turn(&mut self, uri: &str, back: bool) -> Vec<Value> {
        let open = self.open.get_mut(uri).unwrap();
        let (from, onto) = if back { (&mut open.past, &mut open.future) } else { (&mut open.future, &mut open.past) };
        let new = from.pop().expect("there is nothing to undo");
        let old = std::mem::replace(&mut open.text, new.clone());
        onto.push(old.clone());
        open.version += 1;
        let same = |(one, other): &(char, char)| one == other;
        let ahead: usize = old.chars().zip(new.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
        let (tail, other) = (&old[ahead..], &new[ahead..]);
        let behind: usize =
            tail.chars().rev().zip(other.chars().rev()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
        let (start, end) = (self.position(&old, ahead), self.position(&old, old.len() - behind));
        vec![json!({"range": {"start": start, "end": end}, "text": new[ahead..new.len() - behind]})]
    }

    /// The range lies in the text.
    pub fn holds(&self, text: &str, range: &Value) -> bool {
        let held = |position: &Value| self.position(text, self.byte(text, position)) == *position;
        let bytes = self.bytes(text, range);
        held(&range["start"]) && held(&range["end"]) && bytes.start <= bytes.end
    }
}

#[test]
fn columns_are_counted_as_agreed() {
    for (encoding, column) in [("utf-8", 5), ("utf-16", 3), ("utf-32", 2)] {
        let mirror = Mirror { encoding: encoding.to_owned(), ..Mirror::default() };
        let text = "a\nb\u{1f600}c\r\n";
        let spot = json!({"line": 1, "character": column});
        assert_eq!(mirror.byte(text, &spot), 7);
        assert_eq!(mirror.position(text, 7), spot);
        assert_eq!(mirror.byte(text, &json!({"line": 1, "character": 99})), 8);
        // a CR by itself is a character
        let text = "a\rb\nc";
        assert_eq!(mirror.position(text, 2), json!({"line": 0, "character": 2}));
        assert_eq!(mirror.byte(text, &json!({"line": 0, "character": 2})), 2);
        assert_eq!(mirror.byte(text, &json!({"line": 1, "character": 0})), 4);
    }
}
