//! From text to layers: what the file says and where, what the arguments say on top.
//!
//! Invariant: a file is read completely or not at all; each key keeps its line. Absent: what values mean.

use super::raw::{RawConfig, schema};
use super::{Arguments, ConfigFault, ConfigProblem, Origin, Valued};
use serde::Deserialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Keys that are documented for a later release.
const LATER: [&str; 2] = ["keyring", "backup"];

/// The merged text of all layers, with the origin of each dotted key.
#[derive(Debug, Default)]
pub struct Layers {
    /// Merged.
    pub raw: RawConfig,
    /// By dotted key.
    pub origins: BTreeMap<String, Origin>,
}

impl Layers {
    /// The origin of a key, or of the nearest table around it.
    pub fn origin(&self, key: &str) -> Origin {
        self.origins.get(key).cloned().unwrap_or(Origin::Default)
    }
}

/// Reads the file (which may be missing where nobody named it) and lays the arguments over it.
pub fn layers(file: &Valued<PathBuf>, arguments: &Arguments) -> Result<Layers, ConfigFault> {
    let path = &file.value;
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && file.origin == Origin::Default => String::new(),
        Err(error) => {
            let message = format!("{} cannot be read: {error}", path.display());
            let next = "correct the path, or make the file readable UTF-8 text".to_owned();
            return Err(ConfigProblem { at: Some(file.origin.clone()), message, next }.into());
        }
    };
    let mut read = Read::default();
    let mut table = read.file(path, &text);
    for (key, value) in &arguments.set {
        read.argument(&mut table, key, value);
    }
    read.unknown_keys();
    if !read.problems.is_empty() {
        return Err(ConfigFault { problems: read.problems });
    }
    match RawConfig::deserialize(table) {
        Ok(raw) => Ok(Layers { raw, origins: read.origins }),
        Err(error) => Err(ConfigProblem {
            at: None,
            message: format!("file and arguments together do not fit: {}", error.message()),
            next: "see `planwright schema config`".to_owned(),
        }
        .into()),
    }
}

#[derive(Default)]
struct Read {
    origins: BTreeMap<String, Origin>,
    problems: Vec<ConfigProblem>,
}

impl Read {
    fn file(&mut self, path: &Path, text: &str) -> toml::Table {
        let at = |offset: usize| Origin::File { path: path.to_owned(), line: line_of(text, offset) };
        let broken = |error: &toml::de::Error| ConfigProblem {
            at: Some(at(error.span().map_or(0, |span| span.start))),
            message: error.message().lines().collect::<Vec<_>>().join(", "),
            next: "correct it; until then nothing is read and nothing is changed".to_owned(),
        };
        match toml::de::DeTable::parse(text) {
            Ok(spanned) => walk(spanned.get_ref(), "", &mut |key, offset| {
                self.origins.insert(key, at(offset));
            }),
            Err(error) => {
                self.problems.push(broken(&error));
                return toml::Table::new();
            }
        }
        match toml::from_str::<RawConfig>(text) {
            // Unknown keys are told in our own words, which know the nearest one.
            Err(error) if !error.message().starts_with("unknown field") => self.problems.push(broken(&error)),
            Ok(_) | Err(_) => {}
        }
        text.parse().unwrap_or_default()
    }

    fn argument(&mut self, table: &mut toml::Table, key: &str, value: &str) {
        let written = format!("--set {key}={value}");
        let parsed =
            toml::from_str::<toml::Table>(&format!("value = {value}")).ok().and_then(|mut t| t.remove("value"));
        let parsed = parsed.unwrap_or_else(|| toml::Value::String(value.to_owned()));
        let alone = key
            .rsplit('.')
            .fold(parsed.clone(), |inner, part| toml::Value::Table(toml::Table::from_iter([(part.to_owned(), inner)])));
        // Alone, so that the message can name the argument. What is only missing beside it may stand in the file.
        if let Err(error) = RawConfig::deserialize(alone)
            && !["unknown field", "missing field"].iter().any(|start| error.message().starts_with(start))
        {
            return self.problems.push(ConfigProblem {
                at: Some(Origin::Argument(written)),
                message: error.message().to_owned(),
                next: "see `planwright schema config`".to_owned(),
            });
        }
        let mut parts: Vec<&str> = key.split('.').collect();
        let last = parts.pop().unwrap_or_default();
        let mut inner = table;
        let mut dotted = String::new();
        for part in parts {
            dotted = join(&dotted, part);
            self.origins.entry(dotted.clone()).or_insert_with(|| Origin::Argument(written.clone()));
            let slot = inner.entry(part).or_insert_with(|| toml::Value::Table(toml::Table::new()));
            let toml::Value::Table(next) = slot else {
                return self.problems.push(ConfigProblem {
                    at: Some(Origin::Argument(written)),
                    message: format!("`{dotted}` is a value, not a table"),
                    next: "see `planwright schema config`".to_owned(),
                });
            };
            inner = next;
        }
        self.origins.insert(key.to_owned(), Origin::Argument(written));
        inner.insert(last.to_owned(), parsed);
    }

    fn unknown_keys(&mut self) {
        let schema = schema();
        let mut told: Vec<String> = Vec::new();
        for (key, origin) in &self.origins {
            // What stands below an unknown table is unknown with it.
            if told.iter().any(|outer| key.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.'))) {
                continue;
            }
            let (table, name) = key.rsplit_once('.').unwrap_or(("", key));
            let known = keys_of(&schema, table);
            if known.as_ref().is_none_or(|known| known.iter().any(|k| k == name)) {
                continue;
            }
            told.push(key.clone());
            let (message, next) = match known.as_deref().and_then(|known| nearest(name, known)) {
                _ if LATER.contains(&name) => (format!("`{key}` is not in this release"), "leave it out".to_owned()),
                Some(near) => (format!("unknown key `{key}`"), format!("did you mean `{}`?", join(table, near))),
                None => {
                    let known = known.unwrap_or_default().join(", ");
                    (format!("unknown key `{key}`"), format!("known here: {known}"))
                }
            };
            self.problems.push(ConfigProblem { at: Some(origin.clone()), message, next });
        }
    }
}

/// Each key of a table and the tables below, dotted, with its offset in the text.
fn walk(table: &toml::de::DeTable<'_>, outer: &str, found: &mut dyn FnMut(String, usize)) {
    for (key, value) in table {
        let dotted = join(outer, key.get_ref());
        found(dotted.clone(), key.span().start);
        if let Some(inner) = value.get_ref().as_table() {
            walk(inner, &dotted, found);
        }
    }
}

fn join(outer: &str, key: &str) -> String {
    if outer.is_empty() { key.to_owned() } else { format!("{outer}.{key}") }
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

/// Known keys of the table at a dotted path; `None` where any key may stand.
fn keys_of(schema: &Json, path: &str) -> Option<Vec<String>> {
    let mut at = object_of(schema, schema)?;
    for part in path.split('.').filter(|part| !part.is_empty()) {
        // Below a free key only plain values stand.
        at = object_of(schema, at.get("properties")?.get(part)?)?;
    }
    Some(at.get("properties")?.as_object()?.keys().cloned().collect())
}

/// Follows references and `anyOf` with null to the schema of an object.
fn object_of<'a>(root: &'a Json, schema: &'a Json) -> Option<&'a Json> {
    if let Some(reference) = schema.get("$ref").and_then(Json::as_str) {
        return object_of(root, root.pointer(reference.strip_prefix('#')?)?);
    }
    if let Some(choices) = schema.get("anyOf").and_then(Json::as_array) {
        return choices.iter().find_map(|choice| object_of(root, choice));
    }
    schema.get("properties").is_some().then_some(schema)
}

/// The known key that was probably meant.
fn nearest<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    let close = |key: &&String| strsim::jaro_winkler(name, key);
    let best = known.iter().max_by(|a, b| close(a).total_cmp(&close(b)))?;
    // Below this two words have little more than their first letters in common.
    (close(&best) > 0.8).then_some(best)
}
