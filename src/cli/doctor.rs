//! What planwright found here, for whoever wonders why it does as it does.
//!
//! Invariant: every value in force is shown with its origin, and no secret is. Absent: finding out; `app` and the desk
//! hand it in.

use super::render::{Paper, Tone};
use crate::desk::Surroundings;
use crate::domain::connect;
use crate::domain::task::action::Refusal;
use crate::domain::task::facts::Rung;
use serde::Serialize;

/// A value of the configuration in force.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Setting {
    /// `model.strong.base_url`.
    pub key: String,
    /// As it would be written; a secret by the name of its source only.
    pub value: String,
    /// `default`, a file, a variable, an argument.
    pub origin: String,
}

/// Said until workspace configuration has a trust to rest on (K3).
const NO_WORKSPACE_CONFIGURATION: &str =
    "no workspace configuration is read in this release: a cloned repository can set nothing";

/// Said where no model is connected, after how one is.
const WITHOUT: &str = "plans with transform, run, check and ask steps work without a model";

/// The whole finding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// What the desk knows, if it could be asked.
    pub surroundings: Option<Surroundings>,
    /// Why it could not.
    pub problem: Option<Refusal>,
    /// The configuration in force.
    pub settings: Vec<Setting>,
    /// What to know besides.
    pub remarks: Vec<String>,
}

/// Puts it together.
pub fn find(settings: &[Setting], surroundings: Result<Surroundings, Refusal>) -> Finding {
    let (surroundings, problem) = match surroundings {
        Ok(found) => (Some(found), None),
        Err(refusal) => (None, Some(refusal)),
    };
    let mut remarks = surroundings.as_ref().map(|found| found.remarks.clone()).unwrap_or_default();
    remarks.push(NO_WORKSPACE_CONFIGURATION.to_owned());
    Finding { surroundings, problem, settings: settings.to_vec(), remarks }
}

/// The page for a person.
pub fn render(finding: &Finding) -> Paper {
    let mut paper = Paper::new();
    if let Some(found) = &finding.surroundings {
        paper.field("workspace", Tone::Plain, &found.root.display().to_string());
        match &found.model {
            Some(model) => {
                let window = model.window.map_or_else(|| "window unknown".to_owned(), |w| format!("window {w} tokens"));
                paper.field("model", Tone::Good, &format!("{} at {} ({window})", model.name, model.base_url));
                let price = if model.prices.is_some() { "known" } else { "not known: a money budget is not enforced" };
                paper.field("price", Tone::Plain, price);
            }
            None => {
                paper.field("model", Tone::Warn, "none is connected");
                let how = found.connect.clone().unwrap_or_else(|| connect::how(None));
                paper.field("", Tone::Faint, &how).field("", Tone::Faint, WITHOUT);
            }
        }
        match found.rung {
            Some(rung @ Rung::Copy) => {
                paper.field("commands", Tone::Plain, &format!("{}; each is a gate", rung.remark()))
            }
            Some(rung @ Rung::Cage) => {
                paper.field("commands", Tone::Good, &format!("{}; only risky ones are gates", rung.remark()))
            }
            None => paper.field("commands", Tone::Warn, "cannot be run here"),
        };
    }
    if let Some(problem) = &finding.problem {
        paper.field("workspace", Tone::Bad, &problem.message);
        paper.field("", Tone::Plain, &format!("next: {}", problem.next));
    }
    for remark in &finding.remarks {
        paper.field("remark", Tone::Plain, remark);
    }
    if !finding.settings.is_empty() {
        paper.put(Tone::Strong, "configuration").end();
    }
    for setting in &finding.settings {
        paper.put(Tone::Plain, &format!("  {} = {}", setting.key, setting.value));
        paper.put(Tone::Faint, &format!("  ({})", setting.origin)).end();
    }
    paper
}
