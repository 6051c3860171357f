//! How many tokens a text will cost, before any model has said so.
//!
//! Invariant: the same text has the same estimate, and a longer text no smaller one. Absent: vocabularies; six
//! megabytes for one provider's models would be wrong for the others'. What a reply reports as used corrects the sum.

/// Bytes of source code and English prose per token, times ten. Between 3.3 (dense code) and 4.2 (prose) with the
/// vocabularies in use; a little low, so that a budget is rather kept than missed.
const TENTHS_OF_BYTES: u64 = 36;

/// An estimate, rounded up; zero only for an empty text.
pub fn estimate_tokens(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX).saturating_mul(10).div_ceil(TENTHS_OF_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_rounded_up() {
        assert_eq!(estimate_tokens(""), 0);
        assert_eq!(estimate_tokens("a"), 1);
        assert_eq!(estimate_tokens(&"x".repeat(36)), 10);
        assert_eq!(estimate_tokens(&"x".repeat(37)), 11);
    }
}
