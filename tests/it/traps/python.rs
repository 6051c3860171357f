//! Python: absolute paths of an installation, and byte code that is compared by whole seconds and size.

use super::{Trap, bare, cp, passes};
use std::path::PathBuf;
use std::process::Command;

const SAYS: &str = "import m; print(m.V)";

/// The interpreter itself, not what a version manager puts before it.
fn python() -> String {
    let said = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
    assert!(said.status.success(), "these tests need python3");
    String::from_utf8(said.stdout).unwrap().trim().to_owned()
}

#[test]
fn an_editable_install_leads_to_the_view() {
    let Some(trap) = Trap::new(&[("ws/.gitignore", ".venv/\n"), ("ws/src/m.py", "V = 41\n")]) else { return };
    let venv = trap.ws().join(".venv");
    let made = Command::new(python()).args(["-m", "venv", "--without-pip"]).arg(&venv).status().unwrap();
    assert!(made.success());
    // What `pip install -e` leaves behind: a file that names the user's folder.
    let packages = std::fs::read_dir(venv.join("lib")).unwrap().next().unwrap().unwrap().path().join("site-packages");
    std::fs::write(packages.join("m.pth"), format!("{}\n", trap.ws().join("src").display())).unwrap();
    let run = [".venv/bin/python", "-B", "-c", SAYS];

    let copy = trap.copied();
    copy.write("src/m.py", "V = 42\n");
    let interpreter = copy.root.join(".venv/bin/python").display().to_string();
    let said = copy.run(&[&interpreter, "-B", "-c", SAYS]).1;
    assert_eq!(said, "41\n", "a plain copy was expected to test the user's tree");

    let outcome = trap.view(&run, &[("src/m.py", Some("V = 42\n"))]);
    assert_eq!((passes(&outcome), outcome.output.as_str()), (true, "42\n"));
    assert_eq!(trap.view(&run, &[]).output, "41\n");
}

#[test]
fn byte_code_of_the_same_size_and_time_is_not_believed() {
    let Some(trap) = Trap::new(&[("ws/.gitignore", "__pycache__/\n"), ("ws/m.py", "V = 41\n")]) else { return };
    let python = python();
    let run = [python.as_str(), "-c", SAYS];
    let cached =
        |root: PathBuf| std::fs::read_dir(root.join("__pycache__")).is_ok_and(|mut found| found.next().is_some());

    let copy = trap.copied();
    assert_eq!(copy.run(&run).1, "41\n");
    assert!(cached(copy.root.clone()));
    let other = trap.copied();
    other.write("m.py", "V = 42\n");
    let time = std::fs::metadata(trap.ws().join("m.py")).unwrap().modified().unwrap();
    std::fs::File::options().write(true).open(other.root.join("m.py")).unwrap().set_modified(time).unwrap();
    cp(&other.root.join("m.py"), &copy.root.join("m.py"));
    assert_eq!(copy.run(&run).1, "41\n", "a plain copy was expected to run the byte code of before");

    // The user's own byte code is there as well, and made of the text that the view does not have.
    assert!(bare(&trap.ws(), &run).0);
    assert!(cached(trap.ws()));
    // Once with the variable that leads byte code elsewhere, once as a tool that minds no variables.
    for words in [&run[..], &[&python, "-E", "-c", SAYS]] {
        let answers = [None, Some("V = 42\n"), None, Some("V = 43\n"), Some("V = 42\n")].map(|text| {
            let proposed = text.map(|text| ("m.py", Some(text)));
            trap.view(words, proposed.as_slice()).output
        });
        assert_eq!(answers, ["41\n", "42\n", "41\n", "43\n", "42\n"], "{words:?}");
    }
}
