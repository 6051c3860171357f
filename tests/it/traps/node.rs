//! Node: a package of the workspace is found through a link in `node_modules`.

use super::{Trap, passes};

#[test]
fn a_linked_package_of_the_workspace_is_the_views() {
    let Some(trap) = Trap::new(&[
        ("ws/.gitignore", "node_modules\n"),
        ("ws/package.json", r#"{ "name": "ws", "workspaces": ["packages/*"] }"#),
        ("ws/packages/lib/package.json", r#"{ "name": "lib", "main": "index.js" }"#),
        ("ws/packages/lib/index.js", "module.exports = 41;\n"),
        ("ws/app.js", "console.log(require('lib'));\n"),
    ]) else {
        return;
    };
    // As `npm install` leaves it.
    std::fs::create_dir(trap.ws().join("node_modules")).unwrap();
    std::os::unix::fs::symlink("../packages/lib", trap.ws().join("node_modules/lib")).unwrap();
    let answer = "module.exports = 42;\n";

    // Nobody copies what is installed; a shadow links to it.
    let copy = trap.copied();
    copy.write("packages/lib/index.js", answer);
    std::fs::remove_dir_all(copy.root.join("node_modules")).unwrap();
    std::os::unix::fs::symlink(trap.ws().join("node_modules"), copy.root.join("node_modules")).unwrap();
    assert_eq!(copy.run(&["node", "app.js"]).1, "41\n", "a plain copy was expected to load the user's package");

    let outcome = trap.view(&["node", "app.js"], &[("packages/lib/index.js", Some(answer))]);
    assert_eq!((passes(&outcome), outcome.output.as_str()), (true, "42\n"));
    assert_eq!(trap.view(&["node", "app.js"], &[]).output, "41\n");
}
