//! Make in the tree itself: its objects lie beside the sources, ignored, where the view shows them.

use super::{Trap, bare, passes};

#[test]
fn an_object_that_the_user_built_is_not_taken_for_the_views() {
    let Some(trap) = Trap::new(&[
        ("ws/.gitignore", "*.o\n"),
        ("ws/Makefile", "a.o: a.c\n\tcp a.c a.o\n"),
        ("ws/a.c", "good\n"),
        ("ws/b.c", "good\n"),
    ]) else {
        return;
    };
    let check = ["sh", "-c", "make -s a.o && grep -q good a.o"];
    let bad = [("a.c", Some("bad\n"))];

    let copy = trap.copied();
    copy.write("a.c", "bad\n");
    assert!(!copy.run(&check).0);
    // Somebody brings the objects of the user's build along.
    assert!(bare(&trap.ws(), &["make", "-s", "a.o"]).0);
    super::cp(&trap.ws().join("a.o"), &copy.root.join("a.o"));
    assert!(copy.run(&check).0, "a plain copy was expected to take the user's object");

    for _ in 0..2 {
        assert!(!passes(&trap.view(&check, &bad)));
        // The user's own build goes on meanwhile; its object is newer than anything the view has shown.
        std::fs::write(trap.ws().join("a.c"), "good\n").unwrap();
        assert!(bare(&trap.ws(), &["make", "-s", "a.o"]).0);
        assert!(!passes(&trap.view(&check, &bad)), "the user's object was taken for the view's");
        assert!(passes(&trap.view(&check, &[])));
    }
}
