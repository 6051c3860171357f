//! The main job from the terminal, without a model.

use crate::support::Project;

const PLAN: &str = "# Rename total\n\nA better name.\n\n## Contract\n\n- scope: `src/**`\n- accept: absent: `\\btotal\\b`, in `src`\n\n## Steps\n\n### rename: Rename total\n\n- transform: rename `total` to `sum_of`\n";

fn project() -> Project {
    Project::new(&[
        ("src/lib.rs", "pub mod shop;\n\npub fn total(xs: &[u32]) -> u32 {\n    xs.iter().sum()\n}\n"),
        (
            "src/shop.rs",
            "use crate::total;\n\npub fn bill(xs: &[u32]) -> String {\n    format!(\"{}\", total(xs))\n}\n",
        ),
    ])
}

#[test]
fn a_rename_is_planned_approved_run_accepted_and_verified() {
    let project = project();
    let task = project.approved("Rename total", PLAN);
    project.run(&["run", &task]).exits(3);
    assert_eq!(project.git(&["diff", "--stat"]), "", "nothing changes before a hunk is accepted");
    project.run(&["accept", &task, "--all"]).exits(0);
    let shop = project.read("src/shop.rs");
    assert_eq!(shop, "use crate::sum_of;\n\npub fn bill(xs: &[u32]) -> String {\n    format!(\"{}\", sum_of(xs))\n}\n");
    let done = project.run(&["run", &task]);
    let status = project.run(&["status", &task, "--json"]).json().to_string();
    assert!(status.contains("verified"), "{done:?}\n{status}");
}
