//! Secrets taken out of text that people and logs will see.
//!
//! Invariant: pure; a known secret never survives, whatever its shape; text without secrets comes back unchanged.
//! Absent: masking what is *sent* to a model, which freezes lines and is the context's business.

use regex::Regex;
use std::fmt;
use std::sync::LazyLock;

/// What stands where a secret stood.
const MASK: &str = "[redacted]";

/// A value that must not be printed. Only `reveal` gives it away.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes the value without blanks around it: files and commands end with a newline.
    pub fn new(value: &str) -> Self {
        Self(value.trim().to_owned())
    }

    /// For the one header that needs it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

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

/// The text with known secrets and everything of a known shape replaced.
pub fn redact(text: &str, known: &[&Secret]) -> String {
    let mut text = text.to_owned();
    for secret in known {
        // Shorter values ("x", "none") are placeholders for servers that want any key, and occur in ordinary words.
        if secret.0.len() >= 6 {
            text = text.replace(&secret.0, MASK);
        }
    }
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

/// A URL as it may be shown: without user, password and query.
pub fn shown_url(url: &str) -> String {
    match reqwest::Url::parse(url) {
        Ok(mut url) => {
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.set_query(None);
            url.to_string().trim_end_matches('/').to_owned()
        }
        Err(_) => redact(url, &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(redact(text, &[]), expect);
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

    #[test]
    fn a_url_is_shown_without_its_credentials() {
        assert_eq!(shown_url("http://u:p@h:1/v1/?api-key=x"), "http://h:1/v1");
    }

    proptest! {
        #[test]
        fn a_known_secret_never_survives(before in ".{0,40}", secret in "[A-Za-z0-9]{6,40}", after in ".{0,40}") {
            prop_assume!(!MASK.contains(&secret));
            let known = Secret::new(&secret);
            let text = format!("{before}{secret}{after}");
            prop_assert!(!redact(&text, &[&known]).contains(&secret));
            let shown = format!("{known:?}");
            prop_assert!(!shown.contains(&secret));
        }
    }
}
