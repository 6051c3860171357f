//! A server's list of models, and which of them to take when the user named none.
//!
//! Invariant: the choice is a pure function of the list, so that the same server gives the same model. Absent: any
//! claim about quality; the table is an order of families, and the choice is always told.

use serde::Deserialize;

/// A model as the server lists it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Offered {
    /// What a request names.
    pub id: String,
    /// Tokens of context, where the server tells (`meta.n_ctx` of llama.cpp, `max_model_len` of vLLM).
    pub window: Option<u64>,
}

#[derive(Deserialize)]
struct Listing {
    data: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    meta: Option<Meta>,
    max_model_len: Option<u64>,
}

#[derive(Deserialize)]
struct Meta {
    n_ctx: Option<u64>,
}

/// Reads the answer to `GET /models`.
///
/// # Errors
/// What is wrong with it.
pub fn read(body: &str) -> Result<Vec<Offered>, String> {
    let listing: Listing = serde_json::from_str(body).map_err(|error| format!("no list of models ({error})"))?;
    let offer = |e: Entry| Offered { id: e.id, window: e.meta.and_then(|m| m.n_ctx).or(e.max_model_len) };
    Ok(listing.data.into_iter().map(offer).collect())
}

/// Parts of names of models that cannot do this work: no text, no chat, or (`codex`, `-pro`, `deep-research`) no Chat
/// Completions at OpenAI.
const UNFIT: [&str; 20] = [
    "embed",
    "whisper",
    "tts",
    "audio",
    "image",
    "dall-e",
    "sora",
    "moderation",
    "rerank",
    "realtime",
    "transcribe",
    "search",
    "guard",
    "davinci",
    "babbage",
    "turbo-instruct",
    "codex",
    "-pro",
    "deep-research",
    "ocr",
];

/// Families in order of preference, coders first within reach of a local machine, then large general models.
const FAMILIES: [&str; 18] = [
    "gpt-5",
    "claude",
    "gpt-4.1",
    "qwen3-coder",
    "devstral",
    "codestral",
    "deepseek-coder",
    "qwen2.5-coder",
    "coder",
    "gemini",
    "deepseek",
    "gpt-oss",
    "gpt-4o",
    "qwen",
    "mistral",
    "llama",
    "gemma",
    "phi",
];

/// The model to take, or none when the list is empty or holds nothing fit.
pub fn choose(offered: &[Offered]) -> Option<&Offered> {
    let fit = offered.iter().filter(|model| {
        let id = model.id.to_ascii_lowercase();
        !UNFIT.iter().any(|part| id.contains(part))
    });
    fit.min_by_key(|model| {
        let id = model.id.to_ascii_lowercase();
        let family = FAMILIES.iter().position(|family| id.contains(family)).unwrap_or(FAMILIES.len());
        // Within a family: the largest by its own word, whole ones before mini, plain names before dated ones.
        let small = ["mini", "nano", "tiny", "lite"].iter().any(|part| id.contains(part));
        (family, small, std::cmp::Reverse(size(&id)), id.len(), id)
    })
}

/// Billions of parameters times ten, from a name like `qwen2.5-coder:1.5b-instruct`.
fn size(id: &str) -> u64 {
    let parts = id.split(|c: char| !c.is_ascii_alphanumeric() && c != '.');
    let billions = parts.filter_map(|part| part.strip_suffix('b')?.parse::<f64>().ok());
    billions.map(|b| if b.is_finite() && b > 0.0 && b < 1e6 { (b * 10.0) as u64 } else { 0 }).max().unwrap_or(0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ids: &[&str], expect: Option<&str>) {
        let offered: Vec<Offered> = ids.iter().map(|id| Offered { id: (*id).to_owned(), window: None }).collect();
        assert_eq!(choose(&offered).map(|model| model.id.as_str()), expect);
    }

    #[test]
    fn coders_and_large_ones_come_first() {
        check(&["llama3:8b", "qwen2.5-coder:1.5b", "qwen2.5-coder:7b", "nomic-embed-text"], Some("qwen2.5-coder:7b"));
        check(&["gpt-4o", "gpt-5-mini", "gpt-5", "gpt-5-2025-08-07", "gpt-5-codex", "gpt-5-pro"], Some("gpt-5"));
        check(&["whatever.gguf"], Some("whatever.gguf"));
        check(&["text-embedding-3-large", "whisper-1"], None);
        check(&[], None);
    }

    #[test]
    fn the_window_is_read_where_it_is_told() {
        let body =
            r#"{"object":"list","data":[{"id":"a","meta":{"n_ctx":8192}},{"id":"b","max_model_len":4096},{"id":"c"}]}"#;
        let windows: Vec<Option<u64>> = read(body).unwrap().into_iter().map(|model| model.window).collect();
        assert_eq!(windows, [Some(8192), Some(4096), None]);
        assert!(read("{}").is_err());
    }
}
