//! What a command printed: head and tail, counted.
//!
//! Invariant: memory is bounded by `HEAD + TAIL` however much is printed, and what is left out is said with its
//! size. Absent: any reading of the text; that is the verifier's.

use std::collections::VecDeque;

/// Kept of the beginning: which toolchain, which package, the first errors.
const HEAD: usize = 32 << 10;
/// Kept of the end: the summary, and the last errors.
const TAIL: usize = 96 << 10;

/// Head, tail and count.
#[derive(Default)]
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    bytes: u64,
}

impl Capture {
    pub(super) fn push(&mut self, part: &[u8]) {
        self.bytes = self.bytes.saturating_add(u64::try_from(part.len()).unwrap_or(u64::MAX));
        let (head, rest) = part.split_at(part.len().min(HEAD.saturating_sub(self.head.len())));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..over);
    }

    /// Printed in all.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Lossy UTF-8.
    pub(super) fn text(mut self) -> String {
        let kept = u64::try_from(self.head.len().saturating_add(self.tail.len())).unwrap_or(u64::MAX);
        let tail = self.tail.make_contiguous();
        if !is_cut(self.bytes) {
            self.head.extend_from_slice(tail);
            return String::from_utf8_lossy(&self.head).into_owned();
        }
        let left_out = self.bytes.saturating_sub(kept);
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(tail));
        format!("{head}\n[… {left_out} bytes left out …]\n{tail}")
    }
}

/// Whether a text of so many bytes is kept only in part.
pub(super) fn is_cut(bytes: u64) -> bool {
    bytes > u64::try_from(HEAD + TAIL).unwrap_or(u64::MAX)
}

/// Cuts a byte stream into text without breaking a character.
#[derive(Default)]
pub(super) struct Decoder {
    waiting: Vec<u8>,
}

impl Decoder {
    /// The text that is complete by now.
    pub(super) fn feed(&mut self, part: &[u8]) -> String {
        self.waiting.extend_from_slice(part);
        let end = match std::str::from_utf8(&self.waiting) {
            Ok(text) => text.len(),
            // No length: the end is the beginning of a character, which the next part may complete.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => self.waiting.len(),
        };
        let ready: Vec<u8> = self.waiting.drain(..end).collect();
        String::from_utf8_lossy(&ready).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn head_and_tail_are_kept_and_the_rest_is_counted() {
        let mut capture = Capture::default();
        let lines: Vec<String> = (0..40_000).map(|n| format!("{n:05}\n")).collect();
        for line in &lines {
            capture.push(line.as_bytes());
        }
        assert_eq!(capture.bytes(), 240_000);
        assert!(is_cut(capture.bytes()));
        let text = capture.text();
        assert!(text.starts_with("00000\n00001\n"), "{:?}", text.get(..20));
        assert!(text.ends_with("39998\n39999\n"));
        assert!(text.contains("[… 108928 bytes left out …]"));
    }

    /// A byte that is no text has three in its place, and the text is whole all the same.
    #[test]
    fn a_text_is_cut_from_one_byte_more_on() {
        let mut capture = Capture::default();
        capture.push(&vec![0xff; HEAD + TAIL]);
        assert!(!is_cut(capture.bytes()));
        capture.push(b"x");
        assert!(is_cut(capture.bytes()));
        assert!(capture.text().contains("[… 1 bytes left out …]"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_short_text_is_kept_whole_however_it_is_cut(text in "[aé€😀\n]{0,200}", cut in 1_usize..7) {
            let (mut capture, mut decoder, mut streamed) = (Capture::default(), Decoder::default(), String::new());
            for part in text.as_bytes().chunks(cut) {
                capture.push(part);
                streamed.push_str(&decoder.feed(part));
            }
            prop_assert_eq!(&capture.text(), &text);
            prop_assert_eq!(&streamed, &text);
        }
    }
}
