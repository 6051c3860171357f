//! A plan document while an editor has it open: it is read, and never written behind the person's back.

use super::hands::{Hands, RAISE, plan, silent};
use crate::desk::Dossier;
use crate::domain::ids::WorkspacePath;
use crate::domain::task::action::*;
use crate::ports::Workspace;
use crate::testing::script::{Script, Turn};
use serde_json::json;

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
        let seen = hands.seen();
        let page = seen.page.as_ref().unwrap();
        let typed = format!("{}\n## Notes\n\nThe person types.\n", page.text);
        let page = WorkspacePath::new(page.path.strip_prefix("/workspace").unwrap().to_str().unwrap()).unwrap();
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
    let seen = hands.seen();
    let page =
        WorkspacePath::new(seen.page.as_ref().unwrap().path.strip_prefix("/workspace").unwrap().to_str().unwrap());
    let page = page.unwrap();
    for title in ["Step r", "Step ra", "Step rai"] {
        hands.documents.show(&page, &said(&seen).replace("Step raise", title));
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
