//! The grammar of the contract's bounds, constraints and free text.
//!
//! **Invariant:** an amount is exact or refused; nothing is rounded. **Absent:** what a bound does; that is the engine's.

use super::scan::Scan;
use super::values::{search, several};
use crate::domain::plan::model::*;
use crate::domain::problem::Severity;

/// `60k`, `1.5M`, `800`.
fn amount(text: &str) -> Option<u64> {
    let (digits, scale) = match text.char_indices().next_back()? {
        (at, 'k' | 'K') => (text.get(..at)?, 1_000),
        (at, 'M' | 'm') => (text.get(..at)?, 1_000_000),
        _ => (text, 1),
    };
    decimal(digits, scale)
}

/// A decimal number times a power of ten, if that is whole.
fn decimal(text: &str, scale: u64) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let power = 10u64.checked_pow(u32::try_from(part.len()).ok()?)?;
    if whole.is_empty() || !digits(whole) || !digits(part) || !scale.is_multiple_of(power) {
        return None;
    }
    let fraction = if part.is_empty() { 0 } else { part.parse::<u64>().ok()?.checked_mul(scale / power)? };
    whole.parse::<u64>().ok()?.checked_mul(scale)?.checked_add(fraction)
}

/// Hundredths of a cent of `$0.50`.
fn money(text: &str) -> Option<u64> {
    decimal(text.strip_prefix('$')?.trim(), 10_000)
}

fn seconds(text: &str) -> Option<u64> {
    let at = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text.get(..at)?.parse().ok()?;
    let scale = match text.get(at..)?.trim() {
        "s" | "sec" | "seconds" => 1,
        "m" | "min" | "minutes" => 60,
        "h" | "hours" => 3_600,
        _ => return None,
    };
    number.checked_mul(scale)
}

pub(crate) fn budget(contract: &mut Contract, scan: &mut Scan) {
    several(scan, |scan| {
        let Some(part) = scan.value(&[]) else { return false };
        let text = part.text.as_str();
        let counted = |unit: &str| text.strip_suffix(unit).and_then(|amount_text| amount(amount_text.trim_end()));
        let budget = &mut contract.budget;
        let taken = if let Some(tokens) = counted("tokens").or_else(|| counted("token")) {
            budget.tokens.replace(tokens).is_none()
        } else if let Some(turns) =
            counted("turns").or_else(|| counted("turn")).and_then(|turns| u32::try_from(turns).ok())
        {
            budget.turns.replace(turns).is_none()
        } else if let Some(money) = money(text) {
            budget.money.replace(money).is_none()
        } else if let Some(seconds) = seconds(text) {
            budget.seconds.replace(seconds).is_none()
        } else {
            let message = format!("`{text}` is no bound; write `60k tokens`, `15 min`, `$0.50` or `40 turns`");
            scan.error("unreadable-value", part.range, message);
            return true;
        };
        if !taken {
            scan.error("said-twice", part.range, "this bound stands twice; keep one");
        }
        true
    });
}

pub(crate) fn enforce(contract: &mut Contract, scan: &mut Scan) {
    several(scan, |scan| {
        let Some(part) = scan.value(&[]) else { return false };
        let most = |what: &str| {
            let text = part.text.as_str();
            let number = text.strip_prefix(what).and_then(|rest| rest.trim().strip_prefix("at most"));
            let number =
                number.or_else(|| text.strip_prefix("at most").and_then(|rest| rest.trim().strip_suffix(what)));
            number.and_then(|number| number.trim().parse::<u32>().ok())
        };
        let found = match part.text.as_str() {
            "public-api unchanged" => Some(Enforce::PublicApiUnchanged),
            "no new dependencies" => Some(Enforce::NoNewDependencies),
            "tests not deleted" => Some(Enforce::TestsNotDeleted),
            _ => most("files").map(Enforce::FilesAtMost).or_else(|| most("lines").map(Enforce::LinesAtMost)),
        };
        match found {
            Some(found) => contract.enforce.push(found),
            None => {
                let message = format!(
                    "no code checks `{}`; write it as `advice`, or use one of: public-api unchanged, no new dependencies, tests not deleted, files at most N, lines at most N",
                    part.text
                );
                scan.error("not-enforceable", part.range, message);
            }
        }
        true
    });
}

pub(crate) fn advice(contract: &mut Contract, scan: &mut Scan) {
    while !scan.done() {
        let words = scan.words().text;
        if !words.is_empty() {
            contract.advice.push(words);
        }
    }
}

pub(crate) fn assume(contract: &mut Contract, scan: &mut Scan) {
    let first = contract.assume.len();
    while !scan.done() {
        let test = if scan.eat("absent:") {
            search(scan, false)
        } else if scan.eat("present:") {
            search(scan, true)
        } else {
            let text = scan.words().text;
            if !text.is_empty() {
                contract.assume.push(Assumption { text, test: None });
            }
            continue;
        };
        if test.is_none() || (!scan.eat(";") && !scan.done()) {
            scan.bad = true;
            return;
        }
        match contract.assume.get_mut(first..).and_then(<[_]>::last_mut) {
            Some(last) if last.test.is_none() => last.test = test,
            Some(_) | None => contract.assume.push(Assumption { text: String::new(), test }),
        }
    }
}

pub(crate) fn stop(contract: &mut Contract, scan: &mut Scan) {
    while !scan.done() {
        let part = scan.words();
        if part.text.is_empty() {
            continue;
        }
        let rule = part.text.split_once('>').and_then(|(measure, above)| {
            let above = above.trim();
            let (measure, above) = match measure.trim() {
                "files" => (Measure::Files, amount(above)?),
                "lines" => (Measure::Lines, amount(above)?),
                "tokens" => (Measure::Tokens, amount(above)?),
                "money" => (Measure::Money, money(above)?),
                "time" => (Measure::Time, seconds(above)?),
                _ => return None,
            };
            Some(StopRule { measure, above })
        });
        match rule {
            Some(rule) => contract.stop.push(rule),
            None => {
                let message = "no code stops on this, so it is said as advice; files, lines, tokens, money or time `>` N would stop";
                scan.problem("stop-as-advice", Severity::Hint, part.range, message, None);
                contract.advice.push(part.text);
            }
        }
    }
}
