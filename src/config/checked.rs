//! The configuration as the program uses it.
//!
//! Invariant: whoever holds a `Config` need not check anything again. Absent: keys; `KeyFrom` says where one is.

use super::raw::RawModel;
use super::read::Layers;
use super::{ConfigFault, ConfigProblem, Dirs, Environment, Origin, Valued};
use std::collections::BTreeMap;
use std::time::Duration;

/// Where OpenAI itself is.
const OPENAI: &str = "https://api.openai.com/v1";

/// Checked.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// Plans and judges; `None` = no model, a normal state (G6).
    pub strong: Option<ModelConfig>,
    /// Unset: `strong` does its work.
    pub fast: Option<ModelConfig>,
    /// Extension to the formatter's argument vector (standard input to standard output).
    pub format: BTreeMap<String, Valued<Vec<String>>>,
    /// Limits of the runtime.
    pub limits: Limits,
    /// Tasks that were running when their process ended go on by themselves in an editor (B2).
    pub resume: Valued<bool>,
    /// Whether commands run isolated where the system can.
    pub isolation: Valued<bool>,
    /// Folders.
    pub dirs: Dirs,
    /// `PLANWRIGHT_LOG`: a filter in tracing's words.
    pub log: Valued<String>,
}

/// Who speaks at the other end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Provider {
    /// Chat Completions, by whoever offers it.
    OpenAi,
}

/// One model.
#[derive(Clone, PartialEq, Debug)]
pub struct ModelConfig {
    /// Its dialect.
    pub provider: Valued<Provider>,
    /// Without a slash at its end.
    pub base_url: Valued<String>,
    /// `None`: one of the server's list.
    pub model: Valued<Option<String>>,
    /// Where its key is.
    pub key: Valued<KeyFrom>,
    /// Tokens.
    pub max_output: Valued<Option<u32>>,
    /// Tokens.
    pub window: Valued<Option<u64>>,
    /// To a connection.
    pub connect: Valued<Duration>,
    /// To the first byte of an answer.
    pub first_byte: Valued<Duration>,
    /// Between two bytes.
    pub idle: Valued<Duration>,
    /// One request in all.
    pub total: Valued<Duration>,
    /// Hundredths of a cent per million input and output tokens.
    pub prices: Valued<Option<(u64, u64)>>,
    /// Further headers.
    pub headers: Valued<Vec<(String, String)>>,
}

/// Where a key is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeyFrom {
    /// None is needed.
    Nowhere,
    /// In this variable.
    Environment(String),
    /// This command prints it.
    Command(Vec<String>),
}

/// Limits of the runtime.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Steps at once.
    pub parallel: Valued<u32>,
    /// Turns in one step.
    pub turns: Valued<u32>,
    /// For a command.
    pub command_timeout: Valued<Duration>,
    /// For a tool.
    pub tool_timeout: Valued<Duration>,
    /// Bytes kept of a command's output.
    pub output_bytes: Valued<u64>,
    /// Tokens of context in a step's first request.
    pub context: Valued<u64>,
}

pub(super) fn check(layers: Layers, dirs: Dirs, environment: &Environment) -> Result<Config, ConfigFault> {
    let mut check = Check { layers: &layers, environment, problems: Vec::new() };
    let strong = match &layers.raw.model.strong {
        Some(raw) => check.model("model.strong", raw),
        None => unconfigured(environment, &mut check),
    };
    let fast = layers.raw.model.fast.as_ref().and_then(|raw| check.model("model.fast", raw));
    let limits = &layers.raw.limits;
    // Defaults of B5 and of the issue at hand; context leaves room for an answer in a local server's 32 k window.
    let limits = Limits {
        parallel: check.positive("limits.parallel", limits.parallel, 2),
        turns: check.positive("limits.turns", limits.turns, 15),
        command_timeout: check.seconds("limits.command_timeout", limits.command_timeout, 600),
        tool_timeout: check.seconds("limits.tool_timeout", limits.tool_timeout, 30),
        output_bytes: check.positive("limits.output_bytes", limits.output_bytes, 256 << 10),
        context: check.positive("limits.context", limits.context, 24_000),
    };
    let format = check.format();
    let resume = check.valued("resume", layers.raw.resume.unwrap_or(true));
    let isolation = match environment.get("PLANWRIGHT_ISOLATION") {
        Some(word @ ("on" | "off")) => {
            Valued { value: word == "on", origin: Origin::Environment("PLANWRIGHT_ISOLATION".to_owned()) }
        }
        Some(_) | None => check.valued("isolation", layers.raw.isolation.unwrap_or(true)),
    };
    let log = match environment.get("PLANWRIGHT_LOG") {
        Some(filter) => Valued { value: filter.to_owned(), origin: Origin::Environment("PLANWRIGHT_LOG".to_owned()) },
        None => Valued::default("info".to_owned()),
    };
    if check.problems.is_empty() {
        Ok(Config { strong, fast, format, limits, resume, isolation, dirs, log })
    } else {
        Err(ConfigFault { problems: check.problems })
    }
}

/// Nothing is written about models: what other tools' variables say. A base URL alone is enough for a local server.
fn unconfigured(environment: &Environment, check: &mut Check<'_>) -> Option<ModelConfig> {
    let variable = |name: &str| environment.get(name).map(str::to_owned);
    let (key, url) = (variable("OPENAI_API_KEY"), variable("OPENAI_BASE_URL"));
    if key.is_none() && url.is_none() {
        return None;
    }
    let raw = RawModel { base_url: url, model: variable("OPENAI_MODEL"), ..RawModel::default() };
    let mut model = check.model("model.strong", &raw)?;
    let told = |name: &str| Origin::Environment(name.to_owned());
    if raw.base_url.is_some() {
        model.base_url.origin = told("OPENAI_BASE_URL");
    }
    if raw.model.is_some() {
        model.model.origin = told("OPENAI_MODEL");
    }
    if key.is_some() {
        let from = KeyFrom::Environment("OPENAI_API_KEY".to_owned());
        model.key = Valued { value: from, origin: told("OPENAI_API_KEY") };
    }
    Some(model)
}

struct Check<'a> {
    layers: &'a Layers,
    environment: &'a Environment,
    problems: Vec<ConfigProblem>,
}

impl Check<'_> {
    fn problem(&mut self, key: &str, message: impl Into<String>, next: impl Into<String>) {
        let at = Some(self.layers.origin(key)).filter(|origin| *origin != Origin::Default);
        self.problems.push(ConfigProblem { at, message: message.into(), next: next.into() });
    }

    fn valued<T>(&self, key: &str, value: T) -> Valued<T> {
        Valued { value, origin: self.layers.origin(key) }
    }

    fn positive<T: Copy + PartialEq + From<u8>>(&mut self, key: &str, raw: Option<T>, default: T) -> Valued<T> {
        if raw == Some(T::from(0)) {
            self.problem(key, format!("`{key}` is 0"), "write a positive number, or leave it out for the default");
        }
        self.valued(key, raw.unwrap_or(default))
    }

    fn seconds(&mut self, key: &str, raw: Option<u64>, default: u64) -> Valued<Duration> {
        let seconds = self.positive(key, raw, default);
        Valued { value: Duration::from_secs(seconds.value), origin: seconds.origin }
    }

    fn format(&mut self) -> BTreeMap<String, Valued<Vec<String>>> {
        let mut format = BTreeMap::new();
        // Reads standard input when no file is named; the edition decides how it parses.
        let rustfmt = ["rustfmt", "--edition", "2024"].map(str::to_owned).to_vec();
        format.insert("rs".to_owned(), Valued::default(rustfmt));
        for (extension, argv) in &self.layers.raw.format {
            let key = format!("format.{extension}");
            if extension.starts_with('.') {
                let next = format!("write `{} = …`", extension.trim_start_matches('.'));
                self.problem(&key, format!("`{extension}` begins with a dot"), next);
            }
            match argv.first() {
                Some(program) if program.trim().is_empty() => {
                    self.problem(&key, format!("the formatter for `{extension}` has no program"), "name it first");
                }
                Some(_) => drop(format.insert(extension.clone(), self.valued(&key, argv.clone()))),
                None => drop(format.remove(extension)),
            }
        }
        format
    }

    fn model(&mut self, table: &str, raw: &RawModel) -> Option<ModelConfig> {
        let before = self.problems.len();
        let key = |name: &str| format!("{table}.{name}");
        match raw.provider.as_deref() {
            None | Some("openai") => {}
            Some("anthropic") => self.problem(
                &key("provider"),
                "provider `anthropic` is not in this release",
                "use `openai` with the base_url of a server that speaks Chat Completions",
            ),
            Some(other) => self.problem(&key("provider"), format!("unknown provider `{other}`"), "write `openai`"),
        }
        let base_url = raw.base_url.as_deref().unwrap_or(OPENAI).trim().trim_end_matches('/').to_owned();
        if let Some((message, next)) = bad_url(&base_url) {
            self.problem(&key("base_url"), message, next);
        }
        if raw.model.as_ref().is_some_and(|model| model.trim().is_empty()) {
            self.problem(&key("model"), "the model's name is empty", "name one, or leave `model` out");
        }
        for name in raw.headers.keys() {
            if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)) {
                self.problem(&key("headers"), format!("`{name}` is no header name"), "use letters, digits and `-`");
            }
        }
        let from = self.key(table, raw, &base_url);
        let prices = raw.prices.and_then(|prices| {
            let price = (hundredths(prices.input), hundredths(prices.output));
            if let (Some(input), Some(output)) = price {
                return Some((input, output));
            }
            let next = "write US dollars per million tokens, 0 or more";
            self.problem(&key("prices"), "a price is negative or no number", next);
            None
        });
        let times = &raw.timeouts;
        let model = ModelConfig {
            provider: self.valued(&key("provider"), Provider::OpenAi),
            base_url: self.valued(&key("base_url"), base_url),
            model: self.valued(&key("model"), raw.model.clone()),
            key: from,
            max_output: self.positive(&key("max_output"), raw.max_output, u32::MAX).some_if(raw.max_output.is_some()),
            window: self.positive(&key("window"), raw.window, u64::MAX).some_if(raw.window.is_some()),
            // The first byte of a small local server may take minutes: it reads the whole prompt first.
            connect: self.seconds(&key("timeouts.connect"), times.connect, 10),
            first_byte: self.seconds(&key("timeouts.first_byte"), times.first_byte, 300),
            idle: self.seconds(&key("timeouts.idle"), times.idle, 120),
            total: self.seconds(&key("timeouts.total"), times.total, 1800),
            prices: self.valued(&key("prices"), prices),
            headers: self.valued(&key("headers"), raw.headers.clone().into_iter().collect()),
        };
        (self.problems.len() == before).then_some(model)
    }

    fn key(&mut self, table: &str, raw: &RawModel, base_url: &str) -> Valued<KeyFrom> {
        let (env, command) = (format!("{table}.key_env"), format!("{table}.key_command"));
        match (&raw.key_env, &raw.key_command) {
            (Some(_), Some(_)) => {
                self.problem(&command, "both key_env and key_command are set", "keep one of them");
                Valued::default(KeyFrom::Nowhere)
            }
            (Some(variable), None) => {
                if variable.is_empty() || variable.contains(|c: char| c.is_whitespace() || c == '=') {
                    let next = "write the variable's name, not the key";
                    self.problem(&env, "key_env is no name of a variable", next);
                }
                self.valued(&env, KeyFrom::Environment(variable.clone()))
            }
            (None, Some(argv)) => {
                if argv.first().is_none_or(|program| program.trim().is_empty()) {
                    self.problem(&command, "key_command is empty", "write the program and its arguments as a list");
                }
                self.valued(&command, KeyFrom::Command(argv.clone()))
            }
            // A key for OpenAI goes to OpenAI and nowhere else unless the user says so.
            (None, None) if base_url == OPENAI && self.environment.get("OPENAI_API_KEY").is_some() => {
                let origin = Origin::Environment("OPENAI_API_KEY".to_owned());
                Valued { value: KeyFrom::Environment("OPENAI_API_KEY".to_owned()), origin }
            }
            (None, None) => Valued::default(KeyFrom::Nowhere),
        }
    }
}

impl<T> Valued<T> {
    fn some_if(self, set: bool) -> Valued<Option<T>> {
        Valued { value: set.then_some(self.value), origin: self.origin }
    }
}

fn bad_url(url: &str) -> Option<(String, &'static str)> {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let Some(authority) = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default()) else {
        return Some((format!("base_url `{url}` is no http address"), "write it like `http://localhost:11434/v1`"));
    };
    if authority.contains('@') {
        return Some(("base_url holds a password".to_owned(), "use key_env or key_command"));
    }
    if authority.is_empty() || url.contains(char::is_whitespace) || url.contains(['?', '#']) {
        return Some((
            format!("base_url `{url}` is no address of a server"),
            "write it like `http://localhost:11434/v1`",
        ));
    }
    None
}

/// US dollars to hundredths of a cent, rounded up: a price must not be understated.
fn hundredths(dollars: f64) -> Option<u64> {
    let scaled = (dollars * 10_000.0).ceil();
    (dollars >= 0.0 && scaled < 1e15).then_some(scaled as u64)
}
