//! An approval counts when it was written here and saved, and in no other way.

use super::super::signature::Signature;
use super::*;
use std::sync::Arc;

/// What a client tells.
enum Told<'a> {
    /// A change to this text.
    Changed(&'a str),
    /// A change to this text, while this stood on disk.
    Loaded(&'a str),
    Saved,
}
use Told::*;

fn signed(number: u32) -> String {
    PLAN.replacen("keep it small", &format!("keep it small\n- approved: {}", revision(number)), 1)
}

/// What is approved, in order.
fn check(opened: &str, told: &[Told<'_>], expect: &[u32]) {
    let mut signature = Signature::opened(Arc::from(opened));
    let mut approved = Vec::new();
    for one in told {
        match one {
            Changed(text) => signature.changed(Arc::from(*text), Some(opened)),
            Loaded(text) => signature.changed(Arc::from(*text), Some(text)),
            Saved => approved.extend(signature.saved().map(|revision| revision.number)),
        }
    }
    assert_eq!(approved, expect);
}

#[test]
fn written_and_saved_approves_once() {
    check(PLAN, &[Changed(&signed(1)), Saved, Saved], &[1]);
    check(PLAN, &[Changed(&signed(1))], &[]);
    // prose typed on the way does not matter; the engine compares the revision anyway
    check(PLAN, &[Changed(&signed(1)), Changed(&signed(1).replace("Why", "Because")), Saved], &[1]);
    check(&signed(1), &[Changed(&signed(2)), Saved], &[2]);
}

#[test]
fn what_came_with_the_file_approves_nothing() {
    check(&signed(1), &[Saved], &[]);
    check(&signed(1), &[Changed(&signed(1).replace("Why", "Because")), Saved], &[]);
}

#[test]
fn undo_and_redo_bring_no_approval_back() {
    check(&signed(1), &[Changed(PLAN), Changed(&signed(1)), Saved], &[]);
    check(&signed(1), &[Changed(PLAN), Saved, Changed(&signed(1)), Saved], &[]);
    check(PLAN, &[Changed(&signed(1)), Changed(PLAN), Saved], &[]);
    check(PLAN, &[Changed(&signed(1)), Changed(PLAN), Changed(&signed(1)), Saved], &[1]);
    check(PLAN, &[Changed(&signed(1)), Saved, Changed(PLAN), Saved, Changed(&signed(1)), Saved], &[1]);
}

#[test]
fn a_whole_plan_that_is_pasted_approves_nothing() {
    check("", &[Changed(&signed(1)), Saved], &[]);
    check(PLAN, &[Changed(&signed(1).replace("`src/**`", "`**`")), Saved], &[]);
    check(&PLAN.replace("`src/**`", "`**`"), &[Changed(&signed(1)), Saved], &[]);
}

#[test]
fn a_line_that_another_session_saved_approves_nothing_here() {
    check(PLAN, &[Loaded(&signed(1)), Saved], &[]);
    check(PLAN, &[Loaded(&signed(1)), Changed(PLAN), Changed(&signed(1)), Saved], &[]);
    check(PLAN, &[Loaded(&signed(1)), Changed(&signed(2)), Saved], &[2]);
}
