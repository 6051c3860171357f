//! Secrets taken out of text that people and logs will see.
//!
//! Invariant: pure; a known secret never survives, whatever its shape; text without secrets comes back unchanged.
//! Absent: masking what is *sent* to a model, which freezes lines and is the context's business.

use crate::domain::redact::{self as shapes, MASK};
use std::fmt;

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

/// The text with known secrets and everything of a known shape replaced.
pub fn redact(text: &str, known: &[&Secret]) -> String {
    let mut text = text.to_owned();
    for secret in known {
        // Shorter values ("x", "none") are placeholders for servers that want any key, and occur in ordinary words.
        if secret.0.len() >= 6 {
            text = text.replace(&secret.0, MASK);
        }
    }
    shapes::redact(&text)
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
