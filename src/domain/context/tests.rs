#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use super::*;
use crate::domain::ids::ContentHash;
use crate::domain::symbols::FileSymbols;
use std::collections::BTreeMap;

/// Texts and a table of them: each paragraph with an `fn` or `struct` is a definition.
fn workspace(files: &[(&str, &str)]) -> (BTreeMap<WorkspacePath, Arc<str>>, SymbolTable) {
    let mut texts = BTreeMap::new();
    let mut table = BTreeMap::new();
    for (path, text) in files {
        let path = WorkspacePath::new(path).unwrap();
        let mut symbols = Vec::new();
        let mut start = 0;
        for paragraph in text.split_inclusive("\n\n") {
            let kinds = [("fn ", SymbolKind::Function), ("struct ", SymbolKind::Struct)];
            let found = kinds
                .iter()
                .filter_map(|(key, kind)| Some((paragraph.find(key)? + key.len(), *kind)))
                .min_by_key(|f| f.0);
            if let Some((at, kind)) = found {
                let name = words(&paragraph[at..]).next().unwrap().to_owned();
                let line = line_start(paragraph, at);
                symbols.push(Symbol {
                    path: name.clone(),
                    name_range: start + at..start + at + name.len(),
                    name,
                    kind,
                    range: start..start + paragraph.trim_end().len(),
                    signature: paragraph[line..].split(" {").next().unwrap().trim().to_owned(),
                    public: paragraph.contains("pub "),
                    body: ContentHash::of(paragraph),
                });
            }
            start += paragraph.len();
        }
        let mentions: BTreeSet<String> = words(text).map(str::to_owned).collect();
        let file = FileSymbols { content: ContentHash::of(text), symbols, mentions: mentions.into_iter().collect() };
        table.insert(path.clone(), Arc::new(file));
        texts.insert(path, Arc::from(*text));
    }
    (texts, SymbolTable { files: Arc::new(table) })
}

const FILES: &[(&str, &str)] = &[
    (
        "src/net/client.rs",
        "use crate::net::retry::Policy;\nuse std::fmt;\n\n/// A client.\npub struct Client {\n    policy: Policy,\n}\n\n\
         /// Sends once.\npub fn send(client: &Client) {\n    attempt(&client.policy);\n    log(\"x\");\n}\n\nfn attempt(policy: &Policy) {\n    1\n}\n",
    ),
    (
        "src/net/retry.rs",
        "/// How often.\npub struct Policy {\n    attempts: u8,\n}\n\npub fn retries(p: &Policy) -> u8 {\n    p.attempts\n}\n",
    ),
    ("src/main.rs", "fn main() {\n    let client = connect();\n    send(&client);\n    send(&client);\n}\n"),
    ("src/far/log.rs", "pub fn log(text: &str) {\n    print(text)\n}\n"),
];

fn check(goal: &str, place: Option<(&str, Option<(u32, u32)>)>, budget: u64) -> String {
    let (texts, table) = workspace(FILES);
    let place = place.map(|(path, lines)| Place { path: WorkspacePath::new(path).unwrap(), lines });
    let read = |path: &WorkspacePath| texts.get(path).cloned();
    let imports = |_: &WorkspacePath, text: &str| {
        text.match_indices("use ").map(|(at, _)| at..at + text[at..].find('\n').unwrap()).collect::<Vec<_>>()
    };
    let asked = Scope { goal, place: place.as_ref(), table: &table, texts: &read, imports: &imports, budget };
    let context = scope(&asked);
    assert_eq!(context, scope(&asked), "the same question has the same answer");
    assert!(context.tokens <= budget);
    assert!(estimate_tokens(&context.render()) <= context.tokens, "the parts' costs hold all that is rendered");
    context.preview()
}

#[test]
fn a_place_brings_its_item_and_what_it_touches() {
    insta::assert_snapshot!(check("", Some(("src/net/client.rs", Some((11, 11)))), 2_000), @r#"
    src/net/client.rs:9-13 (the place)
    ```rs
    /// Sends once.
    pub fn send(client: &Client) {
        attempt(&client.policy);
        log("x");
    }
    ```

    src/net/client.rs:4-7 (`Client`, named at the place)
    ```rs
    /// A client.
    pub struct Client {
        policy: Policy,
    }
    ```

    src/net/client.rs:15-17 (`attempt`, named at the place)
    ```rs
    fn attempt(policy: &Policy)
    ```

    src/far/log.rs:1-3 (`log`, named at the place)
    ```rs
    pub fn log(text: &str)
    ```

    src/main.rs:1-5 (a use of it in `main`)
    ```rs
    fn main() {
        let client = connect();
        send(&client);
        send(&client);
    }
    ```
    "#);
}

#[test]
fn a_small_budget_keeps_the_nearest_and_names_the_rest() {
    insta::assert_snapshot!(check("", Some(("src/net/client.rs", Some((11, 11)))), 120), @r#"
    src/net/client.rs:9-13 (the place)
    ```rs
    /// Sends once.
    pub fn send(client: &Client) {
        attempt(&client.policy);
        log("x");
    }
    ```

    src/net/client.rs:4-7 (`Client`, named at the place)
    ```rs
    /// A client.
    pub struct Client {
        policy: Policy,
    }
    ```

    src/net/client.rs:15-17 (`attempt`, named at the place)
    ```rs
    fn attempt(policy: &Policy)
    ```

    Left out, over the budget:
    - src/far/log.rs:1-3 (`log`, named at the place; 25 tokens)
    - src/main.rs:1-5 (a use of it in `main`; 38 tokens)
    "#);
    insta::assert_snapshot!(check("", Some(("src/net/client.rs", Some((11, 11)))), 0), @"
    Left out, over the budget:
    - src/net/client.rs:1-1 (the place; 14 tokens)
    - src/net/client.rs:4-7 (`Client`, named at the place; 35 tokens)
    - src/net/client.rs:15-17 (`attempt`, named at the place; 28 tokens)
    - src/far/log.rs:1-3 (`log`, named at the place; 25 tokens)
    - src/main.rs:1-5 (a use of it in `main`; 38 tokens)
    ");
}

#[test]
fn a_file_is_shown_whole_or_as_an_outline() {
    insta::assert_snapshot!(check("", Some(("src/far/log.rs", None)), 500), @"
    src/far/log.rs:1-3 (the place)
    ```rs
    pub fn log(text: &str) {
        print(text)
    }
    ```
    ");
    insta::assert_snapshot!(check("", Some(("src/net/client.rs", None)), 100), @"
    src/net/client.rs:1-17 (what the file defines)
    ```rs
    pub struct Client
    pub fn send(client: &Client)
    fn attempt(policy: &Policy)
    ```

    src/net/retry.rs:1-4 (`Policy`, named at the place)
    ```rs
    /// How often.
    pub struct Policy {
        attempts: u8,
    }
    ```

    src/far/log.rs:1-3 (`log`, named at the place)
    ```rs
    pub fn log(text: &str)
    ```
    ");
}

#[test]
fn words_of_the_goal_find_definitions() {
    insta::assert_snapshot!(check("Make the retry policy configurable", None, 500), @"
    src/net/retry.rs:1-4 (`Policy`, by words of the goal)
    ```rs
    /// How often.
    pub struct Policy {
        attempts: u8,
    }
    ```

    src/net/retry.rs:6-8 (`retries`, by words of the goal)
    ```rs
    pub fn retries(p: &Policy) -> u8
    ```
    ");
    insta::assert_snapshot!(check("zzz", None, 500), @"
    src/far/log.rs:1-3 (what the file defines)
    ```rs
    pub fn log(text: &str)
    ```

    src/net/client.rs:1-17 (what the file defines)
    ```rs
    pub struct Client
    pub fn send(client: &Client)
    ```

    src/net/retry.rs:1-8 (what the file defines)
    ```rs
    pub struct Policy
    pub fn retries(p: &Policy) -> u8
    ```
    ");
    insta::assert_snapshot!(check("change the policy", Some(("src/gone.rs", Some((1, 1)))), 500), @"
    src/net/retry.rs:1-4 (`Policy`, by words of the goal)
    ```rs
    /// How often.
    pub struct Policy {
        attempts: u8,
    }
    ```
    ");
}

#[test]
fn a_fence_is_longer_than_any_in_the_text() {
    assert_eq!(fence("a ``` b"), "````");
    assert_eq!(fence("a ` b"), "```");
}
