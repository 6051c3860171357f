//! A plan document while an editor has it open: it is read, and never written behind the person's back.

use super::hands::{Hands, LOWER, RAISE, plan, reviewable, silent};
use crate::desk::Dossier;
use crate::domain::ids::WorkspacePath;
use crate::domain::problem::Severity;
use crate::domain::task::action::*;
use crate::domain::task::state::Document;
use crate::ports::Workspace;
use crate::testing::script::{Script, Turn};
use serde_json::json;
use std::time::Duration;

/// A planner that names the step anew.
fn replanning() -> Script {
    let step = json!({
        "id": "raise", "title": "Raise it all", "kind": "run", "files": [], "command": "tools/raise",
        "rule": "", "after": ["none"], "check": "", "instruction": "",
    });
    let plan = json!({
        "title": "Raise the list", "scope": ["src/**"], "accept": ["tools/accept"], "steps": [step],
        "assumptions": [], "questions": [], "advice": [],
    });
    let plan = plan.to_string();
    Script::by(move |_, _| Turn::text(&plan))
}

/// Where the only task's plan document is, and what it says.
fn document(hands: &Hands) -> (WorkspacePath, String) {
    let seen = hands.seen();
    let path = &seen.page.as_ref().unwrap().path;
    (WorkspacePath::new(path.strip_prefix("/workspace").unwrap().to_str().unwrap()).unwrap(), said(&seen))
}

struct Offer {
    hands: Hands,
    page: WorkspacePath,
    /// What the person has typed and not saved.
    typed: String,
}

impl Offer {
    /// The agent has revised a plan that is open in an editor.
    async fn new() -> Offer {
        let hands = Hands::new(plan(&[("raise", RAISE)]), replanning()).await;
        let (page, text) = document(&hands);
        let typed = format!("{text}\n## Notes\n\nThe person types.\n");
        hands.documents.show(&page, &typed);
        let words = "name it better".to_owned();
        hands.act(Action::Revise { task: Which::TheOnlyOne, words }).await;
        hands.until(|seen| seen.offered.is_some()).await;
        Offer { hands, page, typed }
    }

    fn offered(&self) -> Option<String> {
        self.hands.seen().offered.as_ref().map(|(_, text)| text.to_string())
    }

    fn on_disk(&self) -> String {
        let seen = self.hands.seen();
        self.hands.workspace.page(&seen.task.id, self.page.file_name()).unwrap()
    }

    async fn decide(&self, take: bool) {
        self.hands.act(Action::Offer { task: Which::TheOnlyOne, take }).await;
    }
}

fn said(seen: &Dossier) -> String {
    seen.page.as_ref().unwrap().text.to_string()
}

fn errors(seen: &Dossier) -> usize {
    let problems = &seen.page.as_ref().unwrap().problems;
    problems.iter().filter(|problem| problem.severity == Severity::Error).count()
}

#[tokio::test]
async fn a_revision_of_an_open_plan_waits_beside_it() {
    let offer = Offer::new().await;
    assert!(offer.offered().unwrap().contains("Raise it all"));
    assert_eq!(offer.hands.documents.text(&offer.page).unwrap(), offer.typed);
    assert!(!offer.on_disk().contains("Raise it all") && offer.hands.documents.orders().is_empty());
    // Also when it is closed meanwhile.
    offer.hands.documents.close(&offer.page);
    offer.hands.act(Action::Pause { task: Which::TheOnlyOne }).await;
    assert!(offer.offered().is_some() && !said(&offer.hands.seen()).contains("Raise it all"));
}

#[tokio::test]
async fn it_is_taken_by_the_editor_that_has_the_document_open() {
    let offer = Offer::new().await;
    let wanted = offer.offered().unwrap();
    offer.decide(true).await;
    assert_eq!(offer.hands.documents.text(&offer.page), Some(wanted.clone()));
    assert_eq!((offer.offered(), said(&offer.hands.seen())), (None, wanted));
    assert!(!offer.on_disk().contains("Raise it all"));
}

#[tokio::test]
async fn it_is_taken_on_disk_once_the_document_is_closed() {
    let offer = Offer::new().await;
    let wanted = offer.offered().unwrap();
    offer.hands.documents.close(&offer.page);
    offer.decide(true).await;
    assert_eq!((offer.offered(), offer.on_disk()), (None, wanted));
}

#[tokio::test]
async fn it_goes_when_it_is_declined_or_the_document_means_it() {
    let offer = Offer::new().await;
    offer.decide(false).await;
    assert_eq!((offer.offered(), said(&offer.hands.seen())), (None, offer.typed));

    let offer = Offer::new().await;
    let same = format!("{}\n## Notes\n\nIn the person's own layout.\n", offer.offered().unwrap());
    offer.hands.documents.show(&offer.page, &same);
    offer.hands.act(Action::Pause { task: Which::TheOnlyOne }).await;
    assert_eq!((offer.offered(), said(&offer.hands.seen())), (None, same));
}

#[tokio::test]
async fn typing_in_a_plan_stores_nothing_until_somebody_acts() {
    let hands = Hands::new(plan(&[("raise", RAISE)]), silent()).await;
    let (page, text) = document(&hands);
    for title in ["Step r", "Step ra", "Step rai"] {
        hands.documents.show(&page, &text.replace("Step raise", title));
    }
    tokio::task::yield_now().await;
    assert_eq!(hands.seen().task.revisions.len(), 1);
    hands.act(Action::Pause { task: Which::TheOnlyOne }).await;
    let seen = hands.seen();
    assert_eq!(seen.task.revisions.len(), 2);
    assert!(said(&seen).contains("Step rai\n"));
}

#[tokio::test]
async fn what_was_written_into_the_document_since_is_kept_beside_it() {
    let offer = Offer::new().await;
    let task = offer.hands.seen().task.id.clone();
    offer.hands.workspace.write_page(&task, offer.page.file_name(), &offer.typed).await.unwrap();
    offer.hands.documents.close(&offer.page);
    offer.decide(true).await;
    assert!(offer.on_disk().contains("Raise it all"));
    assert_eq!(offer.hands.workspace.page(&task, "log/before-r2.plan.md"), Some(offer.typed));
}

#[tokio::test]
async fn an_offer_stands_until_there_is_another_plan() {
    let offer = Offer::new().await;
    let wanted = offer.offered();
    offer.hands.act(Action::Pause { task: Which::TheOnlyOne }).await;
    // It is asked for, and not made while the task is paused.
    offer.hands.act(Action::Revise { task: Which::TheOnlyOne, words: "better still".to_owned() }).await;
    assert_eq!(offer.offered(), wanted);
}

#[tokio::test]
async fn a_plan_that_is_saved_where_it_is_open_is_read_at_once() {
    let hands = Hands::new(plan(&[]), silent()).await;
    let (page, _) = document(&hands);
    assert_ne!(errors(&hands.seen()), 0);
    let typed = plan(&[("raise", RAISE)]);
    hands.documents.show(&page, &typed);
    hands.documents.saved(&page);
    let seen = hands.until(|seen| seen.task.revisions.len() == 2).await;
    let revision = seen.page.as_ref().unwrap().revision.clone();
    assert_eq!((revision.number, said(&seen), errors(&seen)), (2, typed, 0));
    let told = async {
        while !hands.workspace.page(&seen.task.id, "task.md").unwrap().contains(&revision.to_string()) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), told).await.unwrap();
}

#[tokio::test]
async fn a_task_goes_on_when_the_approved_text_is_saved_again() {
    let hands = Hands::new(plan(&[("raise", RAISE), ("lower", LOWER)]), silent()).await;
    hands.replaces("raise", "one", "1", None);
    hands.replaces("lower", "three", "3", None);
    let (page, approved) = document(&hands);
    hands.arena.hold("tools/raise");
    hands.run(None, |seen| seen.task.in_flight().next().is_some()).await;
    let save = |text: &str| {
        hands.documents.show(&page, text);
        hands.documents.saved(&page);
    };
    save(&approved.replace("Step lower", "Lower it"));
    hands.until(|seen| seen.task.document != Document::Same).await;
    hands.arena.release();
    hands.until(|seen| seen.steps[0].1.starts_with("done") && !seen.task.steps[1].state.is_under_way()).await;
    save(&approved);
    hands.until(reviewable).await;
}
