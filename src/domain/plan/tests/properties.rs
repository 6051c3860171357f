use super::*;
use crate::domain::problem::Severity;
use proptest::prelude::*;

/// Enough to find each trap below within a few runs; raised by hand when the grammar changes.
const CASES: u32 = 1000;

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
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

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
}
