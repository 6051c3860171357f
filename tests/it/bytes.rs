//! What stands in the user's files beside a hunk: the same bytes before and after, whatever they are.

use crate::support::{Project, Said};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

const PLAN: &str = "# Rename total\n\nA better name.\n\n## Contract\n\n- scope: `**`\n- accept: absent: `fn total`, in `src`\n\n## Steps\n\n### rename: Rename total\n\n- transform: rename `total` to `sum_of`\n";

const LIB: &str = "pub fn total(x: u32) -> u32 {\n    x\n}\n";

fn plan(project: &Project, plan: &str) -> (String, Said) {
    let task = project.approved("Rename total", plan);
    let ran = project.run(&["run", &task]).exits(3);
    (task, ran)
}

fn bytes(project: &Project, path: &str) -> Vec<u8> {
    std::fs::read(project.path(path)).unwrap()
}

/// The id of the only hunk at a line of a file.
#[track_caller]
fn hunk_at(project: &Project, path: &str, text: &str) -> serde_json::Value {
    let review = project.run(&["review", "--json"]).exits(0).json();
    let hunks = review["hunks"].as_array().unwrap();
    let found = hunks.iter().find(|hunk| hunk["path"] == path && hunk["old"].as_str().unwrap().contains(text));
    found.unwrap_or_else(|| panic!("no such hunk: {review}")).clone()
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(from.len()).position(|window| window == from) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    out.extend_from_slice(rest);
    out
}

#[test]
fn bytes_outside_a_hunk_are_the_same_after_accept_undo_and_reject() {
    let project = Project::new(&[("src/lib.rs", LIB), ("src/empty.rs", "")]);
    let call = "pub fn f() -> u32 {\n    crate::total(5)\n}\n";
    let dos = call.replace('\n', "\r\n");
    let long = format!("// {}\n{call}", "x".repeat(1_000_000));
    let large = format!("{call}{}", format!("// {}\n", "y".repeat(200)).repeat(10_000));
    let odd: Vec<(&str, Vec<u8>)> = vec![
        ("src/dos.rs", dos.clone().into_bytes()),
        ("src/mixed.rs", format!("// one\r\n// two\n{dos}// three\n\n\r\n\n").into_bytes()),
        ("src/mixed_inside.rs", b"pub fn f() -> u32 {\r\n    let _a = 1;\n    crate::total(5)\r\n}\n".to_vec()),
        ("src/mark.rs", format!("\u{feff}// größe 👩‍💻\u{200d}\n{call}// \u{1f600} é e\u{301}").into_bytes()),
        ("src/no_end.rs", b"pub fn f() -> u32 {\n    crate::total(5)\n}".to_vec()),
        ("src/trailing.rs", format!("// blanks  \t \n{call}\n\n\n").into_bytes()),
        ("src/long.rs", long.into_bytes()),
        ("src/large.rs", large.into_bytes()),
    ];
    for (path, text) in &odd {
        project.write(path, text);
    }
    let (task, _) = plan(&project, PLAN);
    let review = project.run(&["review", "--json"]).json();
    let ids: Vec<String> = review["hunks"]
        .as_array()
        .unwrap()
        .iter()
        // One hunk stays undecided, so that the task does not end and decisions can be taken back.
        .filter(|hunk| hunk["path"] != "src/lib.rs")
        .map(|hunk| hunk["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids.len(), odd.len(), "one hunk a file: {review}");
    let decide = |word: &str| {
        let arguments: Vec<&str> = [word, &task].into_iter().chain(ids.iter().map(String::as_str)).collect();
        project.run(&arguments).exits(0);
    };
    let same = |when: &str, expect: &dyn Fn(&[u8]) -> Vec<u8>| {
        for (path, text) in &odd {
            assert!(bytes(&project, path) == expect(text), "{path} has other bytes {when}");
        }
        assert_eq!(bytes(&project, "src/empty.rs"), b"", "{when}");
    };
    same("before a decision", &|text| text.to_vec());
    decide("accept");
    same("once accepted", &|text| replaced(text, b"crate::total(5)", b"crate::sum_of(5)"));
    decide("undo");
    same("once taken back", &|text| text.to_vec());
    decide("reject");
    same("once rejected", &|text| text.to_vec());
    project.run(&["accept", &task, "--all"]).exits(0);
    same("at the end", &|text| text.to_vec());
    assert_eq!(project.read("src/lib.rs"), LIB.replace("total", "sum_of"));
}

#[test]
fn files_that_cannot_be_read_as_text_are_named_and_no_check_passes_over_them() {
    let project = Project::new(&[("src/lib.rs", LIB)]);
    let latin = b"// gr\xf6\xdfe\npub fn f() -> u32 {\n    crate::total(1)\n}\n".to_vec();
    let large = format!(
        "pub fn g() -> u32 {{\n    crate::total(1)\n}}\n{}",
        "// 40 bytes of nothing in particular\n".repeat(320_000)
    );
    project.write("src/latin.rs", &latin);
    project.write("src/large.rs", &large);
    project.write("src/logo.png", b"\x89PNG\0\0total");
    let (task, ran) = plan(&project, &PLAN.replace("absent: `fn total`", "absent: `crate::total`"));
    let ran = ran.says(&["src/latin.rs is not UTF-8", "src/large.rs"]);
    assert!(!ran.err.contains("logo.png"), "a picture is no text that a rename could miss: {ran:?}");
    project.run(&["accept", &task, "--all"]).says(&["not every file could be read", "src/la"]);
    let status = project.run(&["status", &task]).exits(0);
    assert!(!status.out.starts_with(&format!("{task}  done (verified)")), "{status:?}");
    assert_eq!(bytes(&project, "src/latin.rs"), latin);
    assert!(bytes(&project, "src/large.rs") == large.as_bytes());
    assert_eq!(bytes(&project, "src/logo.png"), b"\x89PNG\0\0total");
    assert_eq!(project.read("src/lib.rs"), LIB.replace("total", "sum_of"));
}

#[test]
fn hard_links_modes_and_links_inside_survive_a_write() {
    let project =
        Project::new(&[("src/lib.rs", LIB), ("src/tool.rs", "pub fn t() -> u32 {\n    crate::total(1)\n}\n")]);
    std::fs::hard_link(project.path("src/lib.rs"), project.path("other_name.txt")).unwrap();
    std::fs::set_permissions(project.path("src/tool.rs"), std::fs::Permissions::from_mode(0o751)).unwrap();
    symlink("tool.rs", project.path("src/inner.rs")).unwrap();
    let (task, _) = plan(&project, PLAN);
    let tool = hunk_at(&project, "src/tool.rs", "total");
    project.run(&["accept", &task, tool["id"].as_str().unwrap()]).exits(0);
    project.run(&["accept", &task, "--all"]).exits(0);
    let (one, two) =
        (project.path("src/lib.rs").metadata().unwrap(), project.path("other_name.txt").metadata().unwrap());
    assert_eq!((one.ino(), one.nlink()), (two.ino(), 2), "the hard link was cut");
    assert_eq!(project.read("other_name.txt"), LIB.replace("total", "sum_of"));
    let mode = project.path("src/tool.rs").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o751);
    assert_eq!(std::fs::read_link(project.path("src/inner.rs")).unwrap().to_str(), Some("tool.rs"));
    assert_eq!(project.read("src/inner.rs"), "pub fn t() -> u32 {\n    crate::sum_of(1)\n}\n");
}

#[test]
fn nothing_is_written_through_a_link_that_leads_out() {
    let project = Project::new(&[("src/lib.rs", LIB)]);
    let outside = project.root.with_file_name("outside");
    std::fs::create_dir(&outside).unwrap();
    let text = "pub fn o() -> u32 {\n    crate::total(1)\n}\n";
    std::fs::write(outside.join("out.rs"), text).unwrap();
    symlink(outside.join("out.rs"), project.path("src/linked.rs")).unwrap();
    symlink(&outside, project.path("src/dir")).unwrap();
    for place in ["src/linked.rs", "src/dir/out.rs", "src/dir/none.rs"] {
        project.run(&["plan", "x", "--at", place]).exits(2).says(&[place, "leads out of the workspace"]);
    }
    // A folder that becomes a link between the proposal and the decision.
    let (task, _) = plan(&project, PLAN);
    std::fs::rename(project.path("src"), project.root.with_file_name("moved")).unwrap();
    symlink(project.root.with_file_name("moved"), project.path("src")).unwrap();
    let said = project.run(&["accept", &task, "--all"]);
    assert_ne!(said.code, Some(0), "{said:?}");
    assert_eq!(std::fs::read_to_string(project.root.with_file_name("moved").join("lib.rs")).unwrap(), LIB);
    assert_eq!(std::fs::read_to_string(outside.join("out.rs")).unwrap(), text);
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn a_template_makes_no_file_behind_a_link_that_leads_out() {
    let project = Project::new(&[("src/lib.rs", LIB), ("tpl.txt", "made\n")]);
    let outside = project.root.with_file_name("outside");
    std::fs::create_dir(&outside).unwrap();
    symlink(&outside, project.path("src/dir")).unwrap();
    let made = PLAN.replace(
        "### rename: Rename total\n\n- transform: rename `total` to `sum_of`",
        "### make: Make a file\n\n- transform: template `tpl.txt` to `src/dir/new.rs`",
    );
    let given = project.root.with_file_name("made.plan.md");
    std::fs::write(&given, made).unwrap();
    let said = project.run(&["plan", "Make", "--document", given.to_str().unwrap(), "--run"]);
    assert_ne!(said.code, Some(0), "{said:?}");
    said.says(&["src/dir/new.rs", "leads out of the workspace"]);
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn pages_are_not_written_through_a_link_that_leads_out() {
    let project = Project::new(&[("src/lib.rs", LIB)]);
    let outside = project.root.with_file_name("outside");
    std::fs::create_dir(&outside).unwrap();
    symlink(&outside, project.path(".planwright")).unwrap();
    let given = project.root.with_file_name("given.plan.md");
    std::fs::write(&given, PLAN).unwrap();
    let said = project.run(&["plan", "Rename", "--document", given.to_str().unwrap()]).exits(0);
    said.says(&[project.state.to_str().unwrap()]);
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn a_hunk_next_to_a_users_change_is_written_and_one_inside_is_not() {
    let text = "pub fn total(x: u32) -> u32 {\n    x\n}\n\npub fn pad() {\n    let _a = 1;\n    let _b = 2;\n}\n\npub fn user() -> u32 {\n    total(2)\n}\n";
    let project = Project::new(&[("src/lib.rs", text)]);
    let (task, _) = plan(&project, PLAN);
    let mine = text.replace("    x\n", "    x + 0\n").replace("_b = 2", "_b = 22").replace("total(2)", "total(2) + 1");
    project.write("src/lib.rs", &mine);
    let touched = hunk_at(&project, "src/lib.rs", "total(2)");
    assert_eq!(touched["state"], "touched");
    assert_eq!(touched["touching"], "    total(2) + 1\n");
    let id = touched["id"].as_str().unwrap();
    project.run(&["review"]).exits(0).says(&[
        "-    total(2)",
        "+    sum_of(2)",
        "|    total(2) + 1",
        "touched: something else stands there now",
    ]);
    project.run(&["accept", &task, id]).exits(2).says(&[id, "src/lib.rs", "nothing is guessed"]);
    assert_eq!(project.read("src/lib.rs"), mine);
    let open = hunk_at(&project, "src/lib.rs", "fn total");
    assert_eq!(open["state"], "open");
    project.run(&["accept", &task, open["id"].as_str().unwrap()]).exits(0);
    assert_eq!(project.read("src/lib.rs"), mine.replace("fn total", "fn sum_of"));
    project.run(&["undo", &task]).exits(0);
    assert_eq!(project.read("src/lib.rs"), mine);
    // What was touched fits again once its place reads as it did.
    project.write("src/lib.rs", text);
    assert_eq!(hunk_at(&project, "src/lib.rs", "total(2)")["state"], "open");
}

#[test]
fn a_file_that_went_away_or_changed_its_kind_is_not_made_again() {
    let project = Project::new(&[("src/lib.rs", LIB)]);
    let (task, _) = plan(&project, PLAN);
    std::fs::remove_file(project.path("src/lib.rs")).unwrap();
    let said = project.run(&["accept", &task, "--all"]);
    assert_ne!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("src/lib.rs"), "{said:?}");
    assert!(!project.path("src/lib.rs").exists());
    std::fs::create_dir(project.path("src/lib.rs")).unwrap();
    let said = project.run(&["accept", &task, "--all"]);
    assert_ne!(said.code, Some(0), "{said:?}");
    std::fs::remove_dir(project.path("src/lib.rs")).unwrap();
    project.write("src/lib.rs", LIB);
    project.run(&["accept", &task, "--all"]).exits(0);
    assert_eq!(project.read("src/lib.rs"), LIB.replace("total", "sum_of"));
}
