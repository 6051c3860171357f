//! What the editor shows of what the server tells it unasked: diagnostics, bars of progress, lines of its log.
//!
//! Invariant: what a client could not make use of is a fault of the server's: a bar that was never announced, a range
//! outside the text that it names, a request that the client said it does not know. Absent: pixels.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

use super::{Mirror, Profile};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What is shown.
#[derive(Debug, Default)]
pub struct Screen {
    /// Views are taken in, and not left to the test.
    pub looks: bool,
    /// By URI.
    pub diagnostics: BTreeMap<String, Vec<Value>>,
    /// Bars that were announced; `true` while they are shown.
    bars: BTreeMap<String, bool>,
    /// Bars that were shown and taken away.
    over: BTreeSet<String>,
    /// What bars were called, in the order in which they began.
    pub titles: Vec<String>,
    /// Lines of the log.
    pub log: Vec<String>,
    /// Requests that the server made for its views.
    pub asked: BTreeSet<String>,
    /// Diagnostics for a text that the client no longer has, which it dropped.
    pub dropped: usize,
    /// What no client could use.
    pub faults: Vec<String>,
}

impl Screen {
    /// Takes a view in; `false` where it is none.
    pub(super) fn take(&mut self, message: &Value, mirror: &Mirror, profile: &Profile) -> bool {
        if !self.looks {
            return false;
        }
        let (method, params) = (message["method"].as_str().unwrap_or_default(), &message["params"]);
        match method {
            "textDocument/publishDiagnostics" => self.publish(params, mirror, profile),
            "window/logMessage" => self.log.push(params["message"].as_str().unwrap_or_default().to_owned()),
            "window/workDoneProgress/create" => {
                if self.bars.insert(params["token"].to_string(), false).is_some() {
                    self.faults.push(format!("announced twice: {params}"));
                }
                self.request(method, profile);
            }
            "$/progress" => self.progress(params, profile),
            "workspace/codeLens/refresh" | "workspace/inlayHint/refresh" => self.request(method, profile),
            _ => return false,
        }
        true
    }

    fn request(&mut self, method: &str, profile: &Profile) {
        self.asked.insert(method.to_owned());
        if !profile.knows.contains(&method) {
            self.faults.push(format!("asked for what this client does not know: {method}"));
        }
    }

    fn progress(&mut self, params: &Value, profile: &Profile) {
        let token = params["token"].to_string();
        let (kind, shown) = (params["value"]["kind"].as_str().unwrap_or_default(), self.bars.get_mut(&token));
        match (kind, shown) {
            ("begin", Some(shown)) if !*shown => {
                *shown = true;
                self.titles.push(params["value"]["title"].as_str().unwrap_or_default().to_owned());
            }
            ("report", Some(true)) => {}
            ("end", Some(true)) => {
                self.bars.remove(&token);
                self.over.insert(token);
            }
            // One that misses an end while a pop-up is open would show the bar for ever.
            ("end", None) if profile.may_miss_ends && self.over.contains(&token) => {}
            _ => self.faults.push(format!("out of turn: {params}")),
        }
    }

    fn publish(&mut self, params: &Value, mirror: &Mirror, profile: &Profile) {
        let uri = params["uri"].as_str().unwrap_or_default();
        let all = params["diagnostics"].as_array().cloned().unwrap_or_default();
        if let (Some(open), Some(version)) = (mirror.open.get(uri), params["version"].as_i64()) {
            let now = i64::from(open.version);
            if version > now {
                self.faults.push(format!("for version {version} of {uri}, which has {now}"));
            }
            if version != now && profile.drops_old_diagnostics {
                self.dropped += 1;
                return;
            }
            if version == now && open.untold.is_empty() {
                let fits = |one: &&Value| mirror.holds(&open.text, &one["range"]);
                self.faults.extend(all.iter().filter(|one| !fits(one)).map(|one| format!("no range of {uri}: {one}")));
            }
        }
        self.diagnostics.insert(uri.to_owned(), all);
    }

    /// Bars that are shown now.
    pub fn bars(&self) -> usize {
        self.bars.values().filter(|shown| **shown).count()
    }
}
