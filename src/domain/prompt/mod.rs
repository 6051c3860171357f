//! What models are told: the prompts of a step and of the planner.
//!
//! Invariant: prompts are made from the domain's values only, and text from outside stands in them as marked data.
//! Absent: sending them.

pub mod data;
pub mod planner;
pub mod shown;
pub mod step;

use crate::domain::agent::brief::AgentKind;
use crate::domain::agent::forms::CallForm;
use crate::domain::ids::ContentHash;
use crate::domain::policy::tools;

/// A hash of all fixed prompt texts and of the tool table: every turn records it (H9).
pub fn prompt_version() -> ContentHash {
    let mut all = planner::SYSTEM.to_owned();
    for kind in [AgentKind::Edit, AgentKind::Explore] {
        for form in [CallForm::Native, CallForm::Text, CallForm::Schema] {
            let specs: Vec<_> = tools::table().iter().map(tools::ToolRow::spec).collect();
            all.push_str(&step::system(kind, form, &specs));
        }
    }
    for row in tools::table() {
        all.push_str(&row.schema.to_string());
    }
    ContentHash::of(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_a_step_stay_short() {
        let specs: Vec<_> = tools::table().iter().map(tools::ToolRow::spec).collect();
        for form in [CallForm::Native, CallForm::Text, CallForm::Schema] {
            let text = step::system(AgentKind::Edit, form, &specs);
            // 800 tokens: a tenth of the smallest window that was tried (8k)
            assert!(text.len() < 3_200, "{form:?}: {} bytes", text.len());
        }
    }

    #[test]
    fn the_version_is_a_function_of_the_texts() {
        assert_eq!(prompt_version(), prompt_version());
        assert_ne!(prompt_version(), ContentHash::of(planner::SYSTEM));
    }
}
