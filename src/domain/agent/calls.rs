//! From a call as found to something that can be done: does the tool exist here, are its arguments right, what is
//! still missing.
//!
//! Invariant: what comes out passed table, rights and schema. Absent: rights that depend on the disk; whoever does the
//! order checks those.

use super::arguments::{self, Slip, Unknown};
use super::forms::FoundCall;
use super::order::*;
use crate::domain::ids::WorkspacePath;
use crate::domain::plan::Command;
use crate::domain::policy::paths::Rights;
use crate::domain::policy::tools::{self, EffectClass, Tool};
use serde::Deserialize;
use serde_json::Value;

/// What a call comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Resolved {
    /// Ready to be done.
    Order(ToolOrder),
    /// Its text is still missing.
    Code(Wanted),
    /// A question to the person.
    Ask(String),
    /// A wish for a wider scope.
    Scope {
        /// Paths it wants to write.
        paths: Vec<String>,
        /// Why.
        reason: String,
    },
    /// The model says that it is done.
    Finish(String),
}

/// A call that waits for its code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wanted {
    call: String,
    why: Option<String>,
    act: WantedAct,
    /// The text it is about, marked as data, once it was read.
    pub(super) shown: Option<String>,
    /// What was wrong with the answer before.
    pub(super) complaint: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum WantedAct {
    Edit { path: WorkspacePath, symbol: Option<String>, place: Placement },
    Create { path: WorkspacePath },
}

impl Wanted {
    /// The order, complete with its code.
    pub fn order(self, code: &str) -> ToolOrder {
        let code = code.to_owned();
        let act = match self.act {
            WantedAct::Edit { path, symbol, place } => Act::Edit { path, symbol, place, code },
            WantedAct::Create { path } => Act::Create { path, text: code },
        };
        ToolOrder { call: self.call, act, why: self.why }
    }

    /// What the model is shown before it writes: the text as it stands. A small model that edits unseen invents the
    /// rest of the item.
    pub fn look(&self) -> Option<ToolOrder> {
        match &self.act {
            WantedAct::Edit { path, symbol, .. } => {
                let arguments = ReadArguments { path: path.to_string(), symbol: symbol.clone(), from: None, to: None };
                Some(ToolOrder { call: format!("{}-look", self.call), act: Act::Read(arguments), why: None })
            }
            WantedAct::Create { .. } => None,
        }
    }

    /// The tool's name.
    pub fn name(&self) -> &'static str {
        match self.act {
            WantedAct::Edit { .. } => "edit",
            WantedAct::Create { .. } => "create",
        }
    }

    /// What is asked for.
    pub fn words(&self) -> String {
        match &self.act {
            WantedAct::Edit { path, symbol: Some(symbol), place: Placement::Instead } => {
                format!(
                    "Now the item: the complete new `{symbol}` of `{path}` alone, in one code fence, without imports and \
                     without what encloses it."
                )
            }
            WantedAct::Edit { path, symbol: Some(symbol), place: Placement::Before | Placement::After } => {
                format!(
                    "Now the item: the new item that goes beside `{symbol}` in `{path}`, in one code fence and nothing else."
                )
            }
            WantedAct::Edit { path, symbol: None, .. } | WantedAct::Create { path } => {
                format!("Now the text: the whole of `{path}`, in one code fence and nothing else.")
            }
        }
    }
}

/// Checks a call. The slips that were mended come with it.
///
/// # Errors
/// What goes back to the model.
pub fn resolve(call: &FoundCall, rights: &Rights) -> Result<(Resolved, Vec<Slip>), ToolError> {
    let Some(row) = tools::row(&call.name).filter(|row| rights.has_tool(row.name)) else {
        return Err(ToolError::new(
            format!("there is no tool `{}` in this step", call.name),
            format!("use one of: {}", rights.tools.join(", ")),
        ));
    };
    let unknown = match row.class {
        EffectClass::Reads => Unknown::Drop,
        EffectClass::Changes | EffectClass::Outside => Unknown::Refuse,
    };
    let checked = arguments::check(&call.arguments, &row.schema, unknown).map_err(|wrong| {
        let wrong: Vec<String> = wrong.iter().map(ToString::to_string).collect();
        ToolError::new(
            format!("the arguments of `{}` are not right\n{}", row.name, wrong.join("\n")),
            "write the call again with these arguments mended".to_owned(),
        )
    })?;
    Ok((build(row.tool, checked.value, call, rights)?, checked.slips))
}

fn build(tool: Tool, value: Value, call: &FoundCall, rights: &Rights) -> Result<Resolved, ToolError> {
    let order = |act, why| Ok(Resolved::Order(ToolOrder { call: call.id.clone(), act, why }));
    match tool {
        Tool::List => order(Act::List(typed(value)?), None),
        Tool::Search => order(Act::Search(typed(value)?), None),
        Tool::Outline => order(Act::Outline(typed(value)?), None),
        Tool::Read => order(Act::Read(typed(value)?), None),
        Tool::References => order(Act::References(typed(value)?), None),
        Tool::Edit => {
            let EditArguments { path, symbol, place, why } = typed(value)?;
            let act = WantedAct::Edit { path: path_of(&path)?, symbol, place };
            Ok(coded(Wanted { call: call.id.clone(), why, act, shown: None, complaint: None }, call.code.as_deref()))
        }
        Tool::Create => {
            let FileArguments { path, why } = typed(value)?;
            let act = WantedAct::Create { path: path_of(&path)? };
            Ok(coded(Wanted { call: call.id.clone(), why, act, shown: None, complaint: None }, call.code.as_deref()))
        }
        Tool::Replace => {
            let ReplaceArguments { path, pairs, why } = typed(value)?;
            order(Act::Replace { path: path_of(&path)?, pairs }, why)
        }
        Tool::Rename => {
            let RenameArguments { from, to, why } = typed(value)?;
            order(Act::Rename { from: path_of(&from)?, to: path_of(&to)? }, why)
        }
        Tool::Delete => {
            let FileArguments { path, why } = typed(value)?;
            order(Act::Delete { path: path_of(&path)? }, why)
        }
        Tool::Run => {
            let RunArguments { command, why } = typed(value)?;
            order(Act::Run { command: command_of(&command, rights)? }, why)
        }
        Tool::Check => order(Act::Check, None),
        Tool::Note => {
            let NoteArguments { text } = typed(value)?;
            order(Act::Note { text }, None)
        }
        Tool::Ask => {
            let AskArguments { question, scope } = typed(value)?;
            Ok(if scope.is_empty() {
                Resolved::Ask(question)
            } else {
                Resolved::Scope { paths: scope, reason: question }
            })
        }
        Tool::Finish => {
            let FinishArguments { summary } = typed(value)?;
            Ok(Resolved::Finish(summary))
        }
    }
}

fn coded(wanted: Wanted, code: Option<&str>) -> Resolved {
    match code.filter(|code| !code.trim().is_empty()) {
        Some(code) => Resolved::Order(wanted.order(code)),
        None => Resolved::Code(wanted),
    }
}

/// The schema is made from the type, so that this fails only for what a schema cannot say.
fn typed<T: for<'de> Deserialize<'de>>(value: Value) -> Result<T, ToolError> {
    serde_json::from_value(value)
        .map_err(|fault| ToolError::new(format!("the arguments cannot be read: {fault}"), "write the call again"))
}

/// A path as a model wrote it.
///
/// # Errors
/// It is none of the workspace.
pub fn path_of(text: &str) -> Result<WorkspacePath, ToolError> {
    WorkspacePath::new(text)
        .map_err(|problem| ToolError::new(problem.to_string(), "name a file of the workspace, as `list` shows it"))
}

fn command_of(line: &str, rights: &Rights) -> Result<Command, ToolError> {
    let argv = shell_words::split(line)
        .map_err(|_| ToolError::new(format!("`{line}` has an open quote"), "close it and call again"))?;
    let operator = |word: &&String| {
        matches!(word.as_str(), "|" | "||" | "&&" | "&" | ";" | "<") || word.starts_with('>') || word.ends_with(';')
    };
    if let Some(found) = argv.iter().find(operator) {
        return Err(ToolError::new(
            format!("`{found}` is an operator of a shell, and there is no shell"),
            "make one call for each command",
        ));
    }
    rights.may_run(&argv)?;
    Ok(Command { argv, dir: None, env: Vec::new() })
}
