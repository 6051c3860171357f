//! What a command wrote is told, and gone before the next one.

use super::{Trap, passes};
use planwright::domain::change::Entry;

#[test]
fn every_kind_of_change_is_told_and_gone_before_the_next_command() {
    let Some(trap) = Trap::new(&[
        ("ws/.gitignore", "*.o\n"),
        ("ws/src/a.txt", "a"),
        ("ws/src/b.txt", "b"),
        ("ws/src/same.txt", "same"),
        ("ws/whole/d.txt", "d"),
        ("ws/whole/e.txt", "e"),
        ("ws/moved/deep/f.txt", "f"),
        ("ws/folder/g.txt", "g"),
        ("ws/file", "file"),
        ("ws/tool.sh", "#!/bin/sh\n"),
    ]) else {
        return;
    };
    let script = "printf A > src/a.txt; rm src/b.txt; touch src/same.txt; chmod 600 src/same.txt; \
                  rm -r whole && mkdir whole && printf D > whole/d.txt; mv moved elsewhere; \
                  rm -r folder && printf now > folder; rm file && mkdir file && printf in > file/in.txt; \
                  chmod +x tool.sh; echo x > a.o; ln -s /etc/hostname link; printf N > new.txt; \
                  printf x > ../outside.txt; git init -q .; true";
    let outcome = trap.view(&["sh", "-c", script], &[("src/proposed.txt", Some("p"))]);
    assert!(passes(&outcome));
    let wrote: Vec<String> = outcome
        .wrote
        .iter()
        .map(|(path, entry)| match entry {
            Entry::Absent => format!("- {path}"),
            Entry::File { text, mode } => format!("+ {path} {mode:o} {text:?}"),
        })
        .collect();
    insta::assert_snapshot!(wrote.join("\n"), @r##"
    + elsewhere/deep/f.txt 644 "f"
    - file
    + file/in.txt 644 "in"
    + folder 644 "now"
    - folder/g.txt
    - moved/deep/f.txt
    + new.txt 644 "N"
    + src/a.txt 644 "A"
    - src/b.txt
    + tool.sh 755 "#!/bin/sh\n"
    + whole/d.txt 644 "D"
    - whole/e.txt
    "##);
    for part in ["../outside.txt", "[planwright: dropped: link was made, but is no regular file]"] {
        assert!(outcome.output.contains(part), "{}", outcome.output);
    }
    let again = trap.view(&["sh", "-c", "find . -type f | LC_ALL=C sort | xargs cat"], &[]);
    assert_eq!(again.output, "*.o\nfilegfabsame#!/bin/sh\nde");
}

#[test]
fn folders_in_folders_without_end_cost_neither_the_host_nor_the_next_command() {
    let Some(trap) = Trap::new(&[("ws/a.txt", "a")]) else { return };
    let script = "import os\nfor _ in range(20000):\n    os.mkdir('d')\n    os.chdir('d')";
    let outcome = trap.view(&["python3", "-c", script], &[]);
    assert!(passes(&outcome), "{}", outcome.output);
    assert!(outcome.output.contains("[planwright: dropped: what lies deeper in d/d/"), "{}", outcome.output);
    assert_eq!(outcome.wrote, []);
    assert_eq!(trap.view(&["ls"], &[]).output, "a.txt\n");
}

#[test]
fn what_a_command_writes_is_read_up_to_a_limit() {
    let Some(trap) = Trap::new(&[("ws/a.txt", "a")]) else { return };
    let many = trap.view(&["sh", "-c", "seq 1 6000 | xargs touch"], &[]);
    assert!(many.output.contains("[planwright: dropped: more than 5000 files"), "{}", many.output);
    assert_eq!(many.wrote.len(), 5_000);
    let large = "for n in $(seq 1 9); do head -c 9000000 /dev/zero | tr '\\0' x > f$n; done";
    let large = trap.view(&["sh", "-c", large], &[]);
    assert!(large.output.contains("more than 64 MB"), "{}", large.output);
    assert!(large.wrote.len() < 9, "{}", large.wrote.len());
    let rules = "head -c 9000000 /dev/zero | tr '\\0' '#' > .gitignore; printf '\\n*.o\\n' >> .gitignore; echo x > a.o";
    let rules = trap.view(&["sh", "-c", rules], &[]);
    assert!(rules.wrote.iter().any(|(path, _)| path.as_str() == "a.o"), "{:?}", rules.output);
}

#[test]
fn what_is_kept_from_planwright_is_kept_from_its_commands() {
    let Some(trap) = Trap::new(&[
        ("ws/.gitignore", "seen.txt\n"),
        ("ws/.planwrightignore", "private.txt\nshut/\n"),
        ("ws/a.txt", "a"),
        ("ws/private.txt", "p"),
        ("ws/seen.txt", "s"),
        ("ws/shut/deep.txt", "d"),
    ]) else {
        return;
    };
    assert_eq!(trap.view(&["ls"], &[]).output, "a.txt\nseen.txt\n");
}
