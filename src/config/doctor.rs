//! What `doctor` shows of the configuration: every value with its origin.
//!
//! Invariant: no secret is among them: of a key only where it is and whether it is there, of headers only the names.
//! Absent: asking the server, which is the model's business.

use super::{Config, Environment, KeyFrom, ModelConfig, Provider, Valued};

/// One value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Dotted, as in the file.
    pub key: String,
    /// As a person reads it.
    pub value: String,
    /// Whence.
    pub origin: String,
}

impl Config {
    /// All values in a fixed order. The environment is only asked whether a key is there.
    pub fn rows(&self, environment: &Environment) -> Vec<Row> {
        let mut rows = Rows(Vec::new());
        rows.add("config file", &self.dirs.config_file, |path| {
            format!("{}{}", path.display(), if path.exists() { "" } else { " (not there)" })
        });
        rows.say("workspace file", "not read in this release", "default");
        rows.add("state directory", &self.dirs.state, |path| path.display().to_string());
        rows.add("cache directory", &self.dirs.cache, |path| path.display().to_string());
        if let Some(private) = &self.dirs.private {
            rows.say("home", &format!("none; {} stands in and may vanish", private.display()), "environment");
        }
        rows.add("log", &self.log, Clone::clone);
        match &self.strong {
            Some(model) => rows.model("model.strong", model, environment),
            None => rows.say("model.strong", "none: steps without a model work", "default"),
        }
        match &self.fast {
            Some(model) => rows.model("model.fast", model, environment),
            None => rows.say("model.fast", "as strong", "default"),
        }
        for (extension, argv) in &self.format {
            rows.add(&format!("format.{extension}"), argv, |argv| shell_words::join(argv));
        }
        let limits = &self.limits;
        let seconds = |span: &std::time::Duration| format!("{} s", span.as_secs());
        rows.add("limits.parallel", &limits.parallel, u32::to_string);
        rows.add("limits.turns", &limits.turns, u32::to_string);
        rows.add("limits.command_timeout", &limits.command_timeout, seconds);
        rows.add("limits.tool_timeout", &limits.tool_timeout, seconds);
        rows.add("limits.output_bytes", &limits.output_bytes, u64::to_string);
        rows.add("limits.context", &limits.context, |tokens| format!("{tokens} tokens"));
        rows.add("resume", &self.resume, |on| if *on { "on" } else { "off" }.to_owned());
        rows.add("isolation", &self.isolation, |on| if *on { "on" } else { "off" }.to_owned());
        rows.0
    }
}

struct Rows(Vec<Row>);

impl Rows {
    fn say(&mut self, key: &str, value: &str, origin: &str) {
        self.0.push(Row { key: key.to_owned(), value: value.to_owned(), origin: origin.to_owned() });
    }

    fn add<T>(&mut self, key: &str, valued: &Valued<T>, show: impl Fn(&T) -> String) {
        self.say(key, &show(&valued.value), &valued.origin.to_string());
    }

    fn model(&mut self, table: &str, model: &ModelConfig, environment: &Environment) {
        let seconds = |span: &std::time::Duration| format!("{} s", span.as_secs());
        let key = |name: &str| format!("{table}.{name}");
        self.add(&key("provider"), &model.provider, |provider| match provider {
            Provider::OpenAi => "openai".to_owned(),
        });
        self.add(&key("base_url"), &model.base_url, Clone::clone);
        self.add(&key("model"), &model.model, |name| {
            name.clone().unwrap_or_else(|| "one of the server's list".to_owned())
        });
        self.add(&key("key"), &model.key, |from| match from {
            KeyFrom::Nowhere => "none".to_owned(),
            KeyFrom::Environment(variable) if environment.get(variable).is_some() => format!("${variable} (set)"),
            KeyFrom::Environment(variable) => format!("${variable} (not set)"),
            KeyFrom::Command(argv) => format!("printed by `{}`", argv.first().map_or("", String::as_str)),
        });
        let or_told =
            |tokens: String| if tokens.is_empty() { "not limited here".to_owned() } else { format!("{tokens} tokens") };
        self.add(&key("max_output"), &model.max_output, |n| or_told(n.map(|n| n.to_string()).unwrap_or_default()));
        self.add(&key("window"), &model.window, |n| {
            n.map_or_else(|| "as the server tells".to_owned(), |n| format!("{n} tokens"))
        });
        self.add(&key("timeouts.connect"), &model.connect, seconds);
        self.add(&key("timeouts.first_byte"), &model.first_byte, seconds);
        self.add(&key("timeouts.idle"), &model.idle, seconds);
        self.add(&key("timeouts.total"), &model.total, seconds);
        self.add(&key("prices"), &model.prices, |prices| match prices {
            Some((input, output)) => format!("${} in, ${} out per million tokens", dollars(*input), dollars(*output)),
            None => "unknown: money is not enforced".to_owned(),
        });
        if !model.headers.value.is_empty() {
            let names: Vec<&str> = model.headers.value.iter().map(|(name, _)| name.as_str()).collect();
            self.add(&key("headers"), &model.headers, |_| names.join(", "));
        }
    }
}

fn dollars(hundredths: u64) -> String {
    // Exact enough to read: the configured figure had as few digits.
    (hundredths as f64 / 10_000.0).to_string()
}
