//! The verifier's lane: checks on the merged state, one at a time, cheap before expensive (F6).
//!
//! Invariant: a verdict carries the hash of the view that produced it and how well that was isolated; what could not
//! be judged is never a pass, and a view that lacks hunks of what is judged gives no verdict. Absent: who is judged; the
//! verifier sees check, change set and evidence (invariant 8).

use super::case::Merged;
use super::overlay::{Laid, overlay};
use super::steps::Setting;
use super::weighing::{Traced, Weighing, trace};
use super::work::{Came, EffectFault, Halt, Run};
use super::world::World;
use crate::domain::agent::cut::one_line;
use crate::domain::change::Entry;
use crate::domain::ids::*;
use crate::domain::plan::{Check, Command};
use crate::domain::policy::cost::cost;
use crate::domain::policy::paths;
use crate::domain::task::event::{Cause, Event, Intent, Outcome, Payload, Verdict};
use crate::domain::task::facts::{Ended, RunOutcome, Rung};
use crate::domain::verify::{self, Evidence, FileErrors, Standing};
use crate::ports::{Deltas, ReadRefusal, RunOrder, Source, Stage};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// How a list of checks came out.
pub(super) struct Judged {
    /// One text a check that does not hold or could not be judged, with its evidence, for the agent. Judging stops at
    /// the first.
    pub problems: Vec<String>,
    /// At least one check judged it and all passed.
    pub verified: bool,
    /// How the command ended that did not hold.
    pub ended: Option<Ended>,
    /// Why it does not hold: with `Conflict` the files are not fit to be judged, with `Policy` a person did not allow it.
    /// No agent can mend that.
    pub cause: Cause,
}

/// Judges in the order of cost, until one does not hold.
///
/// # Errors
/// The work must stop.
pub(super) async fn judge_all(run: &mut Run, checks: &[Check], setting: &Setting) -> Result<Judged, Halt> {
    let mut ordered: Vec<&Check> = checks.iter().collect();
    ordered.sort_by_key(|check| cost(check));
    let mut judged = Judged { problems: Vec::new(), verified: false, ended: None, cause: Cause::Check };
    for check in ordered {
        run.line(format!("{}: check {}", run.work, name(check)));
        let one = match check {
            Check::Command(command) => command_check(run, check, command, setting).await?,
            Check::Syntax
            | Check::Search(_)
            | Check::Exists(_)
            | Check::Missing(_)
            | Check::Changed(_)
            | Check::Unchanged(_) => look(run, check, setting).await?,
        };
        let evidence = run.payload(one.evidence.clone()).await?;
        run.state(Event::Judged {
            work: run.work.clone(),
            check: check.clone(),
            verdict: one.verdict.clone(),
            evidence,
            view: one.view,
            rung: one.rung,
            remark: one.remark,
        })
        .await?;
        match one.verdict {
            Verdict::Passed => judged.verified = true,
            Verdict::Failed { why } | Verdict::NotJudged { why } => {
                judged.verified = false;
                judged.ended = one.ended;
                judged.cause = one.cause;
                let detail = if one.evidence.is_empty() { String::new() } else { format!("\n{}", one.evidence) };
                judged.problems.push(format!("{}: {why}{detail}", name(check)));
                break;
            }
        }
    }
    Ok(judged)
}

impl Judged {
    /// How an attempt without repair rounds ends, with this summary.
    pub(super) fn outcome(&self, summary: Payload) -> Outcome {
        match (self.first(), self.cause) {
            (None, _) => Outcome::Done { verified: self.verified, summary },
            (Some(message), Cause::Conflict) => Outcome::Blocked { cause: Cause::Conflict, message },
            (Some(message), Cause::Policy) => Outcome::Blocked {
                cause: Cause::Policy,
                message: format!("{message}; `retry` asks again, or take the check out of the plan and approve that"),
            },
            (Some(message), cause) => Outcome::Failed { cause, message, ended: self.ended.clone() },
        }
    }

    /// Only a person can do something about it.
    pub(super) fn is_for_a_person(&self) -> bool {
        matches!(self.cause, Cause::Conflict | Cause::Policy)
    }

    /// The first problem in a few words, for an event: the evidence itself is in the `Judged` event's payload.
    pub(super) fn first(&self) -> Option<String> {
        self.problems.first().map(|problem| one_line(problem, SHORT))
    }
}

/// Characters of a message in an event (L4 keeps events below 2 kB).
pub(super) const SHORT: usize = 600;

/// A verdict with what it rests on.
struct One {
    verdict: Verdict,
    evidence: String,
    view: ContentHash,
    rung: Option<Rung>,
    remark: Option<String>,
    ended: Option<Ended>,
    cause: Cause,
}

async fn command_check(run: &mut Run, check: &Check, command: &Command, setting: &Setting) -> Result<One, Halt> {
    let unseen = || ContentHash::of("nothing was seen");
    match run_in_view(run, command, setting, Aim::Verdict).await? {
        Ran::Back(Traced { outcome, hunks, weighed }) => {
            let alone = || Weighing { verdict: verify::judge(check, Evidence::Ran(&outcome)), remark: None };
            let Weighing { verdict, remark } = weighed.unwrap_or_else(alone);
            let mut evidence = match (&outcome.ended, hunks.as_str()) {
                (Ended::Exit(0), _) => String::new(),
                (_, "") => verify::digest_for_agent(&outcome),
                (_, hunks) => format!("By hunk: {hunks}\n{}", verify::digest_for_agent(&outcome)),
            };
            if let Some(remark) = &remark {
                evidence = format!("The check {remark}.\n{evidence}");
            }
            Ok(One {
                verdict,
                evidence,
                view: outcome.view.clone(),
                rung: Some(outcome.rung),
                remark,
                ended: Some(outcome.ended),
                cause: Cause::Check,
            })
        }
        Ran::Refused(why) => Ok(One {
            verdict: Verdict::NotJudged { why },
            evidence: String::new(),
            view: unseen(),
            rung: None,
            remark: None,
            ended: None,
            cause: Cause::Policy,
        }),
        Ran::Fault(fault) => Ok(One {
            verdict: verify::judge(check, Evidence::Unavailable(&fault.message)),
            evidence: String::new(),
            view: unseen(),
            rung: Some(run.world.arena.rung()),
            remark: None,
            ended: None,
            cause: unfit_or_check(fault.cause),
        }),
    }
}

/// How a command in a view came out.
pub(super) enum Ran {
    /// It ran.
    Back(Traced),
    /// A person said no, in these words.
    Refused(String),
    /// It could not run.
    Fault(EffectFault),
}

/// What a command is run for.
pub(super) enum Aim {
    /// To judge by it: it does not run where the view lacks hunks of what is judged.
    Verdict,
    /// For the agent, with its entries on top.
    Tool(Vec<(WorkspacePath, Entry)>),
}

/// Runs a repeatable command in a view of the merged state. One at a time.
///
/// # Errors
/// The work must stop.
pub(super) async fn run_in_view(run: &mut Run, command: &Command, setting: &Setting, aim: Aim) -> Result<Ran, Halt> {
    let request = ContentHash::of(format!("command {command:?}"));
    if !run.knows_next(&request)
        && let Err(words) = run.permit(command, false).await?
    {
        return Ok(Ran::Refused(words));
    }
    let timeout = match &run.work {
        Work::Step(step) => time_limit(setting.plan.timeout(step, run.world.limits.command), run.attempt),
        Work::Planning | Work::Baseline | Work::Acceptance | Work::Review => run.world.limits.command,
    };
    let (world, merged, lane) = (run.world.clone(), setting.merged.clone(), setting.lane.clone());
    let (task, traces, wanted) = (run.task.id.clone(), run.task.trace.clone(), command.clone());
    let baselines = setting.baselines.clone();
    let deltas = deltas(run, &run.work.to_string());
    let judged = judged_step(&run.work);
    let root = run.task.binding.root.to_string_lossy().into_owned();
    let intent = Intent::Command { command: command.clone(), repeatable: true };
    let came: Came<Traced> = run
        .effect(intent, request, 0, |effect| async move {
            let turn = lane.lock().await;
            let now = merged.borrow().clone();
            let laid = overlay(&world, &now).await.map_err(|refusal| conflict(refusal.to_string()))?;
            let unfit = laid.unfit(judged.as_ref());
            let mut over = laid.judged(&world).await.view();
            let judges = matches!(aim, Aim::Verdict);
            match aim {
                Aim::Verdict => unfit.map_or(Ok(()), |why| Err(conflict(why)))?,
                Aim::Tool(top) => over.extend(top),
            }
            let stage = Stage::View(over.into_iter().collect());
            let command = wanted.clone();
            let order = RunOrder { task, effect, command, stage, timeout, keeps: false, key: None, trace: traces };
            let outcome = world.arena.run(order, deltas).await.map_err(super::steps::arena_fault)?;
            // What a check writes is always dropped (F1).
            let outcome = RunOutcome { wrote: Vec::new(), ..outcome };
            // Its baseline may wait for its turn.
            drop(turn);
            let traced = if judges {
                trace(&world, &now, &wanted, &root, outcome, baselines).await
            } else {
                Traced::plain(outcome)
            };
            Ok((traced, None))
        })
        .await?;
    Ok(match came {
        Came::Back(traced) => Ran::Back(traced),
        Came::Failed(fault) => Ran::Fault(fault),
        Came::Happened(by) => Ran::Refused(by),
    })
}

/// So often files are looked at that somebody changes meanwhile.
const LOOKS: usize = 3;

/// What a look at the files gave, for the journal.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Look {
    verdict: Verdict,
    view: ContentHash,
}

/// A check that needs no command.
async fn look(run: &mut Run, check: &Check, setting: &Setting) -> Result<One, Halt> {
    let (world, merged, lane, wanted) =
        (run.world.clone(), setting.merged.clone(), setting.lane.clone(), check.clone());
    let own = judged_step(&run.work);
    let request = ContentHash::of(format!("look {check:?}"));
    let came = run
        .effect(Intent::Snapshot, request, 0, |_| async move {
            let _turn = lane.lock().await;
            let merged = merged.borrow().clone();
            let laid = overlay(&world, &merged).await.map_err(|refusal| conflict(refusal.to_string()))?;
            laid.unfit(own.as_ref()).map_or(Ok(()), |why| Err(conflict(why)))?;
            let laid = laid.judged(&world).await;
            let over: Vec<_> = laid.view().into_iter().collect();
            let mut view = world.arena.view(over.clone()).await.map_err(super::steps::arena_fault)?;
            // Texts are read one by one: they are those of the view if it is the same before and after.
            for _ in 0..LOOKS {
                let verdict = look_at(&world, &merged, own.clone(), &laid, &wanted).await;
                let after = world.arena.view(over.clone()).await.map_err(super::steps::arena_fault)?;
                if view == after {
                    return Ok((Look { verdict, view }, None));
                }
                view = after;
            }
            let why = "the files changed while they were looked at; have it judged again".to_owned();
            Ok((Look { verdict: Verdict::NotJudged { why }, view }, None))
        })
        .await?;
    let (look, cause) = match came {
        Came::Back(look) => (look, Cause::Check),
        Came::Failed(EffectFault { cause, message, .. }) => {
            let verdict = Verdict::NotJudged { why: message };
            (Look { verdict, view: ContentHash::of("nothing was seen") }, unfit_or_check(cause))
        }
        Came::Happened(_) => return Err(Halt::Diverged),
    };
    Ok(One {
        verdict: look.verdict,
        evidence: String::new(),
        view: look.view,
        rung: None,
        remark: None,
        ended: None,
        cause,
    })
}

/// The step whose work is judged; none where the whole change set is.
fn judged_step(work: &Work) -> Option<StepId> {
    match work {
        Work::Step(step) => Some(step.clone()),
        Work::Planning | Work::Baseline | Work::Acceptance | Work::Review => None,
    }
}

async fn look_at(world: &Arc<World>, merged: &Merged, own: Option<StepId>, laid: &Laid, check: &Check) -> Verdict {
    match check {
        Check::Syntax => {
            let changes = merged.proposals.iter().filter(|p| own.as_ref().is_none_or(|own| &p.step == own));
            let texts: Vec<(WorkspacePath, Entry, Entry)> = changes
                .flat_map(|proposal| &proposal.files)
                .map(|file| {
                    let after = laid.at(&file.path).unwrap_or(&file.after);
                    (file.path.clone(), file.before.clone(), after.clone())
                })
                .collect();
            let syntax = world.syntax.clone();
            let parsed = tokio::task::spawn_blocking(move || {
                let errors = |path: &WorkspacePath, entry: &Entry| {
                    syntax.errors(&Source { path: path.clone(), text: Arc::from(entry.text()) })
                };
                let both = texts.into_iter().map(|(path, before, after)| {
                    let (before, after) = (errors(&path, &before), errors(&path, &after));
                    FileErrors { path, before, after }
                });
                both.collect::<Vec<_>>()
            });
            match parsed.await {
                Ok(files) => verify::judge(check, Evidence::Syntax(&files)),
                Err(error) => verify::judge(check, Evidence::Unavailable(&error.to_string())),
            }
        }
        Check::Search(search) => {
            let mut texts: Vec<(WorkspacePath, Arc<str>)> = Vec::new();
            let mut unread: Vec<(WorkspacePath, String)> = Vec::new();
            let listed = world.workspace.list().await.into_iter().map(|file| file.path);
            let made = laid.view().into_keys();
            let all: BTreeSet<WorkspacePath> = listed.chain(made).collect();
            for path in all {
                // The lines a search finds are told to the agent and the log. A search of the whole workspace means
                // what may be read; where the plan names the place of a secret, "absent" cannot be said of it.
                if let Some(why) = paths::secret(&path) {
                    if !search.within.is_empty() {
                        unread.push((path.clone(), format!("{path} is searched by no check ({why})")));
                    }
                    continue;
                }
                let entry = match laid.at(&path) {
                    Some(entry) => Ok(entry.clone()),
                    None => world.workspace.read(&path).await,
                };
                match entry {
                    Ok(Entry::File { text, .. }) => texts.push((path, text)),
                    Ok(Entry::Absent) | Err(ReadRefusal::Binary(_) | ReadRefusal::NotAFile(_)) => {}
                    Err(refusal) => unread.push((path, refusal.to_string())),
                }
            }
            verify::judge(check, Evidence::Texts { read: &texts, unread: &unread })
        }
        Check::Exists(path) | Check::Missing(path) | Check::Changed(path) | Check::Unchanged(path) => {
            let Ok(path) = WorkspacePath::new(path) else {
                return verify::judge(check, Evidence::Unavailable("the path leads out of the workspace"));
            };
            let changes = merged.changes();
            let user = match world.workspace.read(&path).await {
                Ok(entry) => entry,
                Err(refusal) => return verify::judge(check, Evidence::Unavailable(&refusal.to_string())),
            };
            let now = laid.at(&path).unwrap_or(&user);
            let before = changes.get(&path).map_or(&user, |change| &change.before);
            let hash = |entry: &Entry| match entry {
                Entry::Absent => None,
                Entry::File { .. } => Some(entry.hash()),
            };
            let (before, now) = (hash(before), hash(now));
            verify::judge(check, Evidence::Standing(Standing { before: before.as_ref(), now: now.as_ref() }))
        }
        Check::Command(_) => verify::judge(check, Evidence::Unavailable("a command is not judged by looking")),
    }
}

/// Files that could not be laid out are a conflict with the person's; whatever else hinders a check is the check's.
fn unfit_or_check(cause: Cause) -> Cause {
    if cause == Cause::Conflict { cause } else { Cause::Check }
}

fn conflict(message: String) -> EffectFault {
    EffectFault { cause: Cause::Conflict, message, usage: None }
}

/// A check as a person reads it.
pub(super) fn name(check: &Check) -> String {
    match check {
        Check::Command(command) => format!("`{}`", shell_words::join(&command.argv)),
        Check::Syntax => "syntax".to_owned(),
        Check::Search(search) => {
            format!("{} `{}`", if search.present { "present:" } else { "absent:" }, search.regex)
        }
        Check::Exists(path) => format!("exists `{path}`"),
        Check::Missing(path) => format!("missing `{path}`"),
        Check::Changed(path) => format!("changed `{path}`"),
        Check::Unchanged(path) => format!("unchanged `{path}`"),
    }
}

/// Each new attempt has twice the time of the former (B5).
pub(super) fn time_limit(first: Duration, attempt: u32) -> Duration {
    first.saturating_mul(1u32 << attempt.saturating_sub(1).min(3))
}

/// Streams a command's last lines as progress; never journaled (invariant 11).
pub(super) fn deltas(run: &Run, who: &str) -> Deltas {
    let say = run.sayer();
    let who = who.to_owned();
    let begun = std::sync::Mutex::new(String::new());
    Arc::new(move |text: &str| {
        let mut begun = begun.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(line) = last_whole_line(&mut begun, text) {
            say(format!("{who}: {line}"));
        }
    })
}

/// The last line that `text` completes. Programs write a line in several pieces, and one piece alone says nothing;
/// what is not complete stays in `begun`, as far as a line can be worth showing.
fn last_whole_line(begun: &mut String, text: &str) -> Option<String> {
    const LONGEST: usize = 4_096;
    let (whole, rest) = text.rsplit_once(['\n', '\r']).map_or((None, text), |(whole, rest)| (Some(whole), rest));
    let last = whole.and_then(|whole| {
        begun.push_str(whole);
        let last = begun.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned);
        begun.clear();
        last
    });
    if begun.len() < LONGEST {
        begun.push_str(rest);
    }
    last
}

#[cfg(test)]
mod tests {
    use super::last_whole_line;

    #[test]
    fn a_line_is_shown_when_it_is_whole() {
        let mut begun = String::new();
        let mut shown = Vec::new();
        for piece in ["   Compiling", " till v0.1.0\n", "test a ...", " ok\n\ntest b ... ok\n", "\n", "rest"] {
            shown.push(last_whole_line(&mut begun, piece));
        }
        let shown: Vec<String> = shown.into_iter().flatten().collect();
        assert_eq!(shown, ["Compiling till v0.1.0", "test b ... ok"]);
        assert_eq!(begun, "rest");
    }
}
