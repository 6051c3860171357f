//! How a model is connected, said where none is.
//!
//! Invariant: one sentence, the same in the terminal and in every editor. Absent: looking for one (`config`).

/// Said where no model is configured.
pub const NONE: &str = "no model is configured";

/// What a person does to have one. `config`: the file that is read, where that is known.
pub fn how(config: Option<&str>) -> String {
    let file = config.unwrap_or("the configuration file");
    format!(
        "set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own, or write [model.strong] into {file}; then \
         start the editor or the command again (`planwright doctor` says what is found)"
    )
}
