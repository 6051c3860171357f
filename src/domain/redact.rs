//! Secrets of known shapes taken out of text that people and logs will see.
//!
//! Invariant: pure; text without such a shape comes back unchanged. Absent: secrets that are known by value (`model`
//! has those), and masking what is *sent* to a model, which freezes lines and is the context's business.

use regex::Regex;
use std::sync::LazyLock;

/// What stands where a secret stood.
pub const MASK: &str = "[redacted]";

/// Shapes of secrets; what a group `keep` holds stays readable. Prefixes are those the issuers document.
const SHAPES: [&str; 11] = [
    r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)",
    r"(?i)(?P<keep>\bbearer\s+)[a-z0-9._~+/=*-]{8,}",
    r"\bsk-[A-Za-z0-9_*-]{8,}",
    r"\bgh[pousr]_[A-Za-z0-9]{20,}",
    r"\bgithub_pat_[A-Za-z0-9_]{20,}",
    r"\bglpat-[A-Za-z0-9_-]{16,}",
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"\bAIza[0-9A-Za-z_-]{30,}",
    r"\bxox[abeprs]-[A-Za-z0-9-]{10,}",
    r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+",
    r"(?P<keep>://[^/\s:@]*:)[^/\s@]+@",
];

/// `api_key = "…"` and its kin: a name that says secret, then a value of eight or more.
const NAMED: &str = r#"(?i)(?P<keep>\b[a-z0-9_-]*(?:api[_-]?key|secret|passw(?:or)?d|access[_-]?token|auth[_-]?token)["']?\s*[:=]\s*["']?)[^\s"',;]{8,}"#;

static PATTERNS: LazyLock<Vec<Regex>> =
    LazyLock::new(|| SHAPES.iter().chain([&NAMED]).filter_map(|shape| Regex::new(shape).ok()).collect());

/// The text with everything of a known shape replaced.
pub fn redact(text: &str) -> String {
    let mut text = text.to_owned();
    for pattern in PATTERNS.iter() {
        let replaced = pattern.replace_all(&text, |found: &regex::Captures<'_>| {
            let keep = found.name("keep").map_or("", |group| group.as_str());
            let tail = if found.get(0).is_some_and(|whole| whole.as_str().ends_with('@')) { "@" } else { "" };
            format!("{keep}{MASK}{tail}")
        });
        text = replaced.into_owned();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(redact(text), expect);
    }

    #[test]
    fn every_shape_compiles() {
        assert_eq!(PATTERNS.len(), SHAPES.len() + 1);
    }

    #[test]
    fn common_shapes_are_taken_out() {
        check("Incorrect API key provided: sk-proj-abc***wxyz.", "Incorrect API key provided: [redacted].");
        check("authorization: Bearer abc.def-123456", "authorization: Bearer [redacted]");
        check("https://me:hunter2@host/v1", "https://me:[redacted]@host/v1");
        check("OPENAI_API_KEY=abcdefgh1234 next", "OPENAI_API_KEY=[redacted] next");
        check("\"client_secret\": \"0123456789ab\"", "\"client_secret\": \"[redacted]\"");
        check("AKIAABCDEFGHIJKLMNOP", "[redacted]");
        check("-----BEGIN RSA PRIVATE KEY-----\nx\n-----END RSA PRIVATE KEY-----", "[redacted]");
    }

    #[test]
    fn ordinary_text_stays() {
        for text in ["token limit: 8192", "a task-force of bears", "http://localhost:11434/v1", "let secret = f();"] {
            check(text, text);
        }
    }
}
