//! What must hold for any text and any plan. `PROPTEST_CASES=6000` searches longer than the daily run.

use super::*;
use crate::domain::problem::Severity;
use proptest::prelude::*;

/// Pieces that documents are made of, the traps among them.
fn fragment() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("# T\n".to_owned()),
        Just("## Contract\n".to_owned()),
        Just("## Steps\n".to_owned()),
        Just("### a: b\n- edit: `a.rs`\n".to_owned()),
        Just("### c\n- run: `x`\n".to_owned()),
        Just("### \n".to_owned()),
        Just("#### deep #\n".to_owned()),
        Just("- edit: `a.rs` (new, focus `X`), b.rs\n".to_owned()),
        Just("- check: `cargo test && x`\n".to_owned()),
        Just("- assume: x; absent: `a`, in b\n".to_owned()),
        Just("- eidt: x\n".to_owned()),
        Just("> note: x\nlazy\n".to_owned()),
        Just("> question: y\n> answer: z\n".to_owned()),
        Just("> quote\n".to_owned()),
        Just("<!-- c -->".to_owned()),
        Just("<!-- open\n".to_owned()),
        Just("-->".to_owned()),
        Just("<!<!-- a -->-- b -->".to_owned()),
        Just("---\n".to_owned()),
        Just("===\n".to_owned()),
        Just("\n".to_owned()),
        Just("\n\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("```\n".to_owned()),
        Just("~~~ `x\n".to_owned()),
        Just("    ".to_owned()),
        Just("\t".to_owned()),
        Just("  \n".to_owned()),
        Just("* x\n".to_owned()),
        Just("+ y\n".to_owned()),
        Just("3. z\n".to_owned()),
        Just("2) w\n".to_owned()),
        Just("- ".to_owned()),
        Just("> ".to_owned()),
        Just("[x]: u\n".to_owned()),
        Just("[x]".to_owned()),
        Just("`".to_owned()),
        Just("``".to_owned()),
        Just("\\".to_owned()),
        Just("\\\n".to_owned()),
        Just("Client<T>::send".to_owned()),
        Just("src/*.rs, lib/*.rs".to_owned()),
        Just("\u{feff}".to_owned()),
        Just("é 🙂".to_owned()),
        "[a-z #>*`\\-\n]{0,12}".prop_map(|text| text),
        any::<String>().prop_map(|text| text.chars().take(8).collect()),
    ]
}

pub(super) fn document() -> impl Strategy<Value = String> {
    proptest::collection::vec(fragment(), 0..24).prop_map(|parts| parts.concat())
}

/// Short texts that hit the delimiters of every grammar.
fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z/*.]{1,8}",
        "[a-z`';,:() $|#>=*-]{0,10}",
        Just("a; absent: `x`, in y".to_owned()),
        Just("x <!-- y -->".to_owned()),
        Just("## Steps".to_owned()),
        Just("a\nb".to_owned()),
        Just("é 🙂\u{202e}".to_owned()),
        Just("none".to_owned()),
    ]
}

fn command() -> impl Strategy<Value = Command> {
    (
        proptest::collection::vec(words(), 0..4),
        proptest::option::of(words()),
        proptest::collection::vec(("[A-Z]{1,3}", words()), 0..3),
    )
        .prop_map(|(argv, dir, env)| Command { argv, dir, env })
}

fn a_check() -> impl Strategy<Value = Check> {
    let globs = || proptest::collection::vec(words(), 0..3);
    prop_oneof![
        command().prop_map(Check::Command),
        Just(Check::Syntax),
        words().prop_map(Check::Exists),
        (any::<bool>(), words(), globs(), globs()).prop_map(|(present, regex, within, except)| Check::Search(Search {
            present,
            regex,
            within,
            except
        })),
    ]
}

fn kind() -> impl Strategy<Value = StepKind> {
    prop_oneof![
        proptest::collection::vec((words(), any::<bool>(), proptest::option::of(words())), 0..3).prop_map(|targets| {
            StepKind::Edit(targets.into_iter().map(|(path, new, focus)| EditTarget { path, new, focus }).collect())
        }),
        (words(), words()).prop_map(|(symbol, to)| StepKind::Transform(Rule::Rename { symbol, to })),
        (words(), words(), words()).prop_map(|(source, to, value)| {
            StepKind::Transform(Rule::Template { source, to, values: vec![("K".to_owned(), value)] })
        }),
        command().prop_map(StepKind::Run),
        a_check().prop_map(StepKind::Check),
        words().prop_map(StepKind::Ask),
    ]
}

fn a_step() -> impl Strategy<Value = Step> {
    let pattern = (proptest::collection::vec("[a-z*']{1,4}", 1..3), any::<bool>());
    let first = (words(), words(), kind(), proptest::collection::vec(a_check(), 0..3), document());
    let second = (
        pattern,
        proptest::option::of(0u32..9),
        proptest::option::of(0u64..9000),
        proptest::collection::vec(words(), 0..3),
    );
    (first, second).prop_map(|((id, title, kind, checks, instruction), ((argv, open), repair, timeout, write))| Step {
        id: crate::domain::ids::StepId::new(id),
        title,
        kind,
        checks,
        instruction,
        allow: vec![CommandPattern { argv, open }],
        repair,
        retry: repair.map(|times| Retry { times, every: timeout }),
        timeout,
        write,
        ..super::super::parse::values::empty_step(crate::domain::ids::StepId::new("x"))
    })
}

fn a_plan() -> impl Strategy<Value = Plan> {
    let contract =
        (proptest::collection::vec(words(), 0..3), proptest::collection::vec(a_check(), 0..3), 0u64..100_000);
    (words(), document(), contract, proptest::collection::vec(a_step(), 0..4)).prop_map(
        |(title, goal, (texts, accept, number), steps)| {
            let assume = texts.iter().map(|text| Assumption { text: text.clone(), test: None }).collect();
            let budget = Budget { tokens: Some(number), money: Some(number), seconds: Some(number), turns: None };
            let contract =
                Contract { scope: texts.clone(), advice: texts, assume, accept, budget, ..Contract::default() };
            Plan { title, goal, contract, steps }
        },
    )
}

fn ranges_hold(text: &str, parsed: &Parsed) {
    let holds = |range: &std::ops::Range<usize>| assert!(text.get(range.clone()).is_some(), "{range:?} in {text:?}");
    for problem in &parsed.problems {
        holds(&problem.range);
        for edit in problem.fix.iter().flat_map(|fix| &fix.edits) {
            holds(&edit.range);
        }
    }
    let layout = &parsed.layout;
    layout.title.iter().chain(&layout.goal).chain(&layout.comments).for_each(&holds);
    layout.remarks.iter().for_each(|remark| holds(&remark.range));
    let of_contract = layout.contract.iter().flat_map(|contract| &contract.settings);
    for setting in layout.steps.iter().flat_map(|step| &step.settings).chain(of_contract) {
        [&setting.item, &setting.key, &setting.value].into_iter().for_each(&holds);
        setting.parts.iter().for_each(|part| holds(&part.range));
    }
    for step in &layout.steps {
        [&step.range, &step.heading, &step.title].into_iter().chain(&step.id).chain(&step.instruction).for_each(&holds);
    }
    let mut at = 0;
    for (range, _) in layout.pieces() {
        assert_eq!(range.start, at);
        holds(&range);
        at = range.end;
    }
    assert_eq!(at, text.len());
    assert_eq!(layout.steps.len(), parsed.plan.steps.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 2, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_parses_and_its_ranges_hold(text in document()) {
        ranges_hold(&text, &super::super::parse(&text));
    }

    #[test]
    fn prose_comes_to_rest(text in document()) {
        let once = super::super::parse::prose(&text);
        prop_assert_eq!(super::super::parse::prose(&once), once);
    }

    #[test]
    fn what_parsing_made_is_written_and_read_again(text in document()) {
        let Parsed { plan, problems, .. } = super::super::parse(&text);
        let unreadable = |code: &str| !(code.starts_with("missing") || code == "no-steps" || code == "duplicate-section");
        if problems.iter().any(|problem| problem.severity == Severity::Error && unreadable(&problem.code)) {
            return Ok(());
        }
        let written = render(&plan);
        prop_assert_eq!(super::super::parse(&written).plan, plan, "{}", written);
    }

    #[test]
    fn a_tidy_plan_is_what_its_document_says(plan in a_plan()) {
        let plan = plan.tidy();
        let written = render(&plan);
        prop_assert_eq!(super::super::parse(&written).plan, plan, "{}", written);
    }

    #[test]
    fn every_text_of_the_prompt_is_digested(text in document()) {
        let normal = normal(&super::super::parse(&text).plan, &Versions::default());
        prop_assert!(normal.text.contains(&normal.prompt.contract));
        for (_, step) in &normal.prompt.steps {
            prop_assert!(normal.text.contains(step.as_str()));
        }
    }

    #[test]
    fn an_answer_or_an_approval_changes_no_other_byte(text in document(), words in ".{0,20}") {
        if let Ok(edit) = super::super::edit::answer(&text, 1, &words) {
            prop_assert!(edit.range.is_empty() && text.get(edit.range.clone()).is_some());
            let after = super::super::edit::apply(&text, &[edit]);
            prop_assert_eq!(super::super::parse(&after).plan, super::super::parse(&text).plan);
        }
    }
}
