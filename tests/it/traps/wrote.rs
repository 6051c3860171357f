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
