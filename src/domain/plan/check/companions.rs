//! Files that a change will also need: a new Rust file belongs to no module until its parent says `mod`.
//!
//! **Invariant:** offered, never added. **Absent:** other languages; they need no such file.

use super::Findings;
use crate::domain::plan::StepKind;
use crate::domain::plan::parse::scan::{fix, ticked};

pub(super) fn check(on: &mut Findings<'_>) {
    for (_, step, layout) in on.steps() {
        let StepKind::Edit(targets) = &step.kind else { continue };
        for (n, target) in targets.iter().enumerate().filter(|(_, target)| target.new) {
            if on.exists(&target.path) {
                continue;
            }
            let Some(part) = layout.part("edit", n) else { continue };
            let Some(parent) = parent(on, &target.path) else { continue };
            let last = layout.settings_of("edit").last().map_or(part.outer.end, |setting| setting.item.end);
            let message = format!("will also need `{parent}` for its `mod` line; add it to this step");
            let title = format!("add `{parent}`");
            on.hint("companion", part.range.clone(), message, fix(title, last..last, format!(", {}", ticked(&parent))));
        }
    }
}

/// The file that must declare a new one, if no step may write it.
fn parent(on: &Findings<'_>, path: &str) -> Option<String> {
    let (folder, name) = path.rsplit_once('/')?;
    let name = name.strip_suffix(".rs")?;
    let is_root = |folder: &str| folder == "src" || folder.ends_with("/src");
    if matches!(name, "lib" | "main" | "build")
        || !path.split('/').any(|part| part == "src")
        || folder.ends_with("/bin")
    {
        return None;
    }
    let folder = if name == "mod" { folder.rsplit_once('/').map(|(above, _)| above)? } else { folder };
    let candidates = if is_root(folder) {
        vec![format!("{folder}/lib.rs"), format!("{folder}/main.rs")]
    } else {
        vec![format!("{folder}/mod.rs"), format!("{folder}.rs")]
    };
    let written = |path: &String| on.normal.tables.steps.iter().any(|rules| rules.write_rule(path).is_some());
    if candidates.iter().any(written) {
        return None;
    }
    candidates.into_iter().find(|path| on.exists(path))
}
