//! The tool table: what each tool is called, takes, does, and which kinds of step have it.
//!
//! Invariant: one row a tool; prompt, schema for the model, validation and effect class all come from it. A tool that
//! is not in the table does not exist and counts as reaching outside. Absent: `script` (not in this release).

use crate::domain::agent::brief::AgentKind;
use crate::domain::agent::dialogue::ToolSpec;
use crate::domain::agent::order::*;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::LazyLock;

/// What a call can do to the world.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// Nothing changes.
    Reads,
    /// The step's change set changes, and nothing of the user's.
    Changes,
    /// A program starts, or a person is asked.
    Outside,
}

/// The tools there are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    /// Names and sizes of files.
    List,
    /// A regular expression over file texts.
    Search,
    /// Signatures of one file.
    Outline,
    /// A file, a range of it, or one item.
    Read,
    /// Uses of a name.
    References,
    /// A whole new item.
    Edit,
    /// Exact replacements.
    Replace,
    /// A new file.
    Create,
    /// A file under another path.
    Rename,
    /// A file goes away.
    Delete,
    /// A command of the allow-list.
    Run,
    /// The step's own check, now.
    Check,
    /// A finding to keep.
    Note,
    /// A question to the person.
    Ask,
    /// The work is done.
    Finish,
}

/// A row of the table.
#[derive(Clone, PartialEq, Debug)]
pub struct ToolRow {
    /// Which.
    pub tool: Tool,
    /// As the model calls it.
    pub name: &'static str,
    /// For the model.
    pub description: &'static str,
    /// Of the arguments.
    pub schema: Value,
    /// What it can do.
    pub class: EffectClass,
    /// An `explore` step has it too, unless it names its tools. An `edit` step has all.
    pub explore: bool,
    /// Its text comes in the next code fence, never inside JSON.
    pub fenced: bool,
}

impl ToolRow {
    /// As it is offered to a model.
    pub fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name.to_owned(),
            description: self.description.to_owned(),
            parameters: self.schema.clone(),
        }
    }
}

/// All tools, in the order in which a model sees them.
pub fn table() -> &'static [ToolRow] {
    static TABLE: LazyLock<Vec<ToolRow>> = LazyLock::new(make);
    &TABLE
}

/// The row of this name.
pub fn row(name: &str) -> Option<&'static ToolRow> {
    table().iter().find(|row| row.name == name)
}

/// What a step of this kind has when its plan names no tools.
pub fn defaults(kind: AgentKind) -> Vec<String> {
    let has = |row: &&ToolRow| match kind {
        AgentKind::Edit => true,
        AgentKind::Explore => row.explore,
    };
    table().iter().filter(has).map(|row| row.name.to_owned()).collect()
}

fn make() -> Vec<ToolRow> {
    use EffectClass::{Changes, Outside, Reads};
    let row = |tool, name, class, explore, schema, description| ToolRow {
        tool,
        name,
        description,
        schema,
        class,
        explore,
        fenced: matches!(tool, Tool::Edit | Tool::Create),
    };
    vec![
        row(Tool::List, "list", Reads, true, schema::<ListArguments>(), "Files of the workspace with their sizes."),
        row(
            Tool::Search,
            "search",
            Reads,
            true,
            schema::<SearchArguments>(),
            "Lines that match a regular expression; counts by file first.",
        ),
        row(
            Tool::Outline,
            "outline",
            Reads,
            true,
            schema::<OutlineArguments>(),
            "Items of a file: name, signature, lines. Cheaper than `read`.",
        ),
        row(
            Tool::Read,
            "read",
            Reads,
            true,
            schema::<ReadArguments>(),
            "One item (`symbol`), a range of lines (`from`, `to`), or a whole file.",
        ),
        row(
            Tool::References,
            "references",
            Reads,
            true,
            schema::<ReferencesArguments>(),
            "Where an identifier is used.",
        ),
        row(
            Tool::Edit,
            "edit",
            Changes,
            false,
            schema::<EditArguments>(),
            "Replace one item (`place` `instead`), or add a new one `before` or `after` it. Put the complete item, nothing \
             left out, in the next code fence of the same message.",
        ),
        row(
            Tool::Replace,
            "replace",
            Changes,
            false,
            schema::<ReplaceArguments>(),
            "Replace exact pieces of a file. For changes that are no whole item.",
        ),
        row(
            Tool::Create,
            "create",
            Changes,
            false,
            schema::<FileArguments>(),
            "Make a file. Put its whole text in the next code fence of the same message.",
        ),
        row(Tool::Rename, "rename", Changes, false, schema::<RenameArguments>(), "Move a file."),
        row(Tool::Delete, "delete", Changes, false, schema::<FileArguments>(), "Remove a file."),
        row(
            Tool::Run,
            "run",
            Outside,
            false,
            schema::<RunArguments>(),
            "Run a command of the step's allow-list on a copy with your changes.",
        ),
        row(
            Tool::Check,
            "check",
            Outside,
            false,
            schema::<CheckArguments>(),
            "Run the step's check now. It runs anyway after `finish`.",
        ),
        row(Tool::Note, "note", Reads, true, schema::<NoteArguments>(), "Keep a finding for the steps that follow."),
        row(
            Tool::Ask,
            "ask",
            Outside,
            true,
            schema::<AskArguments>(),
            "Ask the person, or ask for a wider scope. The work waits for the answer: use it last.",
        ),
        row(Tool::Finish, "finish", Reads, true, schema::<FinishArguments>(), "The step is done; the check judges it."),
    ]
}

/// A schema a small model's server can turn into a grammar: no references, no title, no dialect.
fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.remove("description");
    schema.to_value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_what_models_see() {
        let told: String = table()
            .iter()
            .map(|row| {
                let keys: Vec<&str> = row
                    .schema
                    .get("properties")
                    .and_then(Value::as_object)
                    .map(|all| all.keys().map(String::as_str).collect())
                    .unwrap_or_default();
                format!("{} {:?}{} {keys:?}\n", row.name, row.class, if row.explore { " explore" } else { "" })
            })
            .collect();
        insta::assert_snapshot!(told, @r#"
        list Reads explore ["within"]
        search Reads explore ["regex", "within", "limit"]
        outline Reads explore ["path"]
        read Reads explore ["path", "symbol", "from", "to"]
        references Reads explore ["name"]
        edit Changes ["path", "symbol", "place", "why"]
        replace Changes ["path", "pairs", "why"]
        create Changes ["path", "why"]
        rename Changes ["from", "to", "why"]
        delete Changes ["path", "why"]
        run Outside ["command", "why"]
        check Outside []
        note Reads explore ["text"]
        ask Outside explore ["question", "scope"]
        finish Reads explore ["summary"]
        "#);
    }

    #[test]
    fn a_schema_is_plain() {
        insta::assert_snapshot!(row("replace").map(|row| row.schema.to_string()).unwrap_or_default(), @r#"{"type":"object","additionalProperties":false,"properties":{"path":{"type":"string","description":"A file"},"pairs":{"type":"array","items":{"description":"Text to find and text to put there.","type":"object","properties":{"search":{"description":"Lines as they stand in the file, enough to be unique","type":"string"},"replace":{"description":"Lines to put there","type":"string"}},"additionalProperties":false,"required":["search","replace"]},"description":"Each `search` must stand in the file exactly once","minItems":1},"why":{"type":["string","null"],"description":"One line: why this call, and which safer one you weighed"}},"required":["path","pairs"]}"#);
    }

    #[test]
    fn every_act_has_a_row() {
        assert!(table().iter().all(|row| row.schema.get("additionalProperties") == Some(&Value::Bool(false))));
        assert!(row("script").is_none());
        assert!(!defaults(AgentKind::Explore).iter().any(|tool| tool == "edit" || tool == "run"));
    }
}
