//! Which files a step may write and read, and which nobody may read.
//!
//! Invariant: a secret path is refused whatever the plan and the model say, and a path is matched as a whole, never by
//! its text alone. Absent: looking at the disk; whether a file exists or is ignored comes in as an argument.

use crate::domain::ids::WorkspacePath;
use crate::domain::plan::{Check, Command, CommandPattern, Globs, globs};
use crate::domain::policy::{commands, measures};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// What a step's tools may touch. Made from the approved plan, never from a message.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Rights {
    /// The write set.
    pub write: Vec<WriteRight>,
    /// What may be read beyond the write set, as paths, folders or globs; empty means the workspace's unignored files.
    pub read: Vec<String>,
    /// Commands the `run` tool may start.
    pub allow: Vec<CommandPattern>,
    /// Names of the tools that exist for the model.
    pub tools: Vec<String>,
    /// What judges the step. What these measure by is written only where the plan names it (F8).
    #[serde(default)]
    pub checks: Vec<Check>,
}

/// One entry of the write set.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WriteRight {
    /// A path or a glob.
    pub glob: String,
    /// Files may be created here.
    pub new: bool,
    /// Where the change belongs; outside it a hunk is flagged.
    pub focus: Option<String>,
}

/// Leave to write, with what the reviewer is to mind.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Permit {
    /// The focus of the entry that grants it.
    pub focus: Option<String>,
}

/// A no, in the structure of every tool error (C3).
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error, Serialize, Deserialize)]
#[error("{what}")]
pub struct Refusal {
    /// What was refused and by which rule.
    pub what: String,
    /// Whether the same call can succeed later in this step.
    pub retry: bool,
    /// What to do instead.
    pub instead: String,
}

impl Refusal {
    fn wider(what: String) -> Self {
        Self {
            what,
            retry: false,
            instead: "stay inside the plan, or ask for a wider scope: `ask` with `scope` naming the paths".to_owned(),
        }
    }
}

/// Files that hold credentials by convention, and folders that belong to the tools themselves. Each with the reason a
/// person reads. Matched without regard to case, at any depth.
///
/// Sources: the ignore lists of git-secrets, gitleaks and the GitHub templates, reduced to names that are hardly ever
/// source code (`credentials.rs` is code, `credentials.json` is not).
const SECRETS: &[(&str, &str)] = &[
    ("**/.git", "git's own data"),
    ("**/.git/**", "git's own data"),
    ("**/{.hg,.svn,.jj}/**", "version control data"),
    ("**/.planwright/**", "planwright's own files"),
    ("**/.env", "environment secrets"),
    ("**/.env.*", "environment secrets"),
    ("**/.envrc", "environment secrets"),
    ("**/*.{pem,key,p12,pfx,jks,keystore,kdbx,ppk}", "a private key or key store"),
    ("**/id_{rsa,dsa,ecdsa,ed25519}", "a private key"),
    ("**/{.ssh,.aws,.azure,.gnupg,.kube}/**", "credentials of a tool"),
    ("**/.docker/config.json", "credentials of a tool"),
    ("**/gcloud/**/*.{json,db}", "credentials of a tool"),
    (
        "**/{.netrc,_netrc,.npmrc,.yarnrc,.pypirc,.pgpass,.my.cnf,.git-credentials,.htpasswd}",
        "stored passwords or tokens",
    ),
    ("**/credentials", "stored credentials"),
    ("**/*credentials.{json,toml,yaml,yml,xml,ini,csv,txt,properties,db}", "stored credentials"),
    ("**/{secret,secrets}.{json,toml,yaml,yml,ini,properties}", "stored credentials"),
    ("**/client_secret*.json", "stored credentials"),
    ("**/*service?account*.json", "stored credentials"),
    ("**/*.tfstate", "deployment state with secrets"),
    ("**/*.tfstate.*", "deployment state with secrets"),
];

/// Names that look like secrets and are there to be read.
const SAMPLES: &str = "**/.env.{example,sample,template,dist,defaults}";

/// Why this path is never read or written by a tool; `None` for an ordinary one.
pub fn secret(path: &WorkspacePath) -> Option<&'static str> {
    static SET: LazyLock<(GlobSet, GlobSet)> =
        LazyLock::new(|| (rows(SECRETS.iter().map(|(glob, _)| *glob)), rows([SAMPLES])));
    let lower = path.as_str().to_lowercase();
    let (secrets, samples) = &*SET;
    let first = secrets.matches(&lower).into_iter().min()?;
    if samples.is_match(&lower) { None } else { SECRETS.get(first).map(|(_, why)| *why) }
}

/// Whether `secret` has a reason.
pub fn is_secret(path: &WorkspacePath) -> bool {
    secret(path).is_some()
}

/// Whether a path of a write set covers a path, as the plan's own table reads it.
pub fn covers(glob: &str, path: &WorkspacePath) -> bool {
    Globs::files(&[glob.to_owned()]).matches(path.as_str())
}

/// The globs of a table; one is at the place of its row.
pub(super) fn rows<'a>(all: impl IntoIterator<Item = &'a str>) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for glob in all.into_iter().filter_map(|glob| GlobBuilder::new(glob).literal_separator(true).build().ok()) {
        set.add(glob);
    }
    set.build().unwrap_or_default()
}

/// What a step may read, compiled once for walks over many files.
#[derive(Clone, Debug)]
pub struct Reach {
    named: Option<Named>,
}

impl Reach {
    /// Whether an unignored file may be read.
    pub fn holds(&self, path: &WorkspacePath) -> bool {
        self.named.as_ref().is_none_or(|named| named.holds(path)) && !is_secret(path)
    }
}

/// What the plan names for a step: what it writes it may read too.
#[derive(Clone, Debug)]
struct Named {
    write: Globs,
    read: Globs,
}

impl Named {
    fn holds(&self, path: &WorkspacePath) -> bool {
        self.write.matches(path.as_str()) || self.read.matches(path.as_str())
    }
}

impl Rights {
    /// May a tool change what stands at `path`? `exists` tells a change from a creation.
    ///
    /// # Errors
    /// The refusal that goes back to the model.
    pub fn may_write(&self, path: &WorkspacePath, exists: bool) -> Result<Permit, Refusal> {
        if let Some(why) = secret(path) {
            return Err(Refusal {
                what: format!("`{path}` is not written by any tool ({why})"),
                retry: false,
                instead: "leave it to the person, and say in `note` what it would need".to_owned(),
            });
        }
        let mut named = self.write.iter().filter(|right| covers(&right.glob, path)).peekable();
        if named.peek().is_none() {
            return Err(Refusal::wider(format!(
                "`{path}` is outside the write set of this step, which is {}",
                self.write_set()
            )));
        }
        if let Some(why) = self.judged_by(path) {
            return Err(Refusal::wider(why));
        }
        match named.find(|right| exists || right.new) {
            Some(right) => Ok(Permit { focus: right.focus.clone() }),
            None => Err(Refusal::wider(format!("`{path}` does not exist, and the plan does not mark it `(new)`"))),
        }
    }

    /// Why a step may not write this although its write set reaches it: its own check measures by it, and no entry
    /// names it or nothing but such files. Asked wherever a change of a step's comes from: a tool, a command, a rule.
    pub fn judged_by(&self, path: &WorkspacePath) -> Option<String> {
        let (check, why) =
            self.checks.iter().find_map(|check| measures::measures(check, path).map(|why| (check, why)))?;
        let names = |right: &&WriteRight| {
            (!globs::is_glob(&right.glob) || measures::names_measures(&right.glob)) && covers(&right.glob, path)
        };
        if self.write.iter().any(|right| names(&right)) {
            return None;
        }
        let said = if let Check::Command(command) = check { shell_words::join(&command.argv) } else { String::new() };
        Some(format!("`{path}` is what the check `{said}` measures by ({why}), and the plan does not name it"))
    }

    /// May a tool read `path`? `listed` says that it is among the workspace's unignored files.
    ///
    /// # Errors
    /// The refusal that goes back to the model.
    pub fn may_read(&self, path: &WorkspacePath, listed: bool) -> Result<(), Refusal> {
        if let Some(why) = secret(path) {
            return Err(Refusal {
                what: format!("`{path}` is not read by any tool ({why})"),
                retry: false,
                instead: "go on without it; ask the person for the one fact you need".to_owned(),
            });
        }
        if (self.read.is_empty() && listed) || self.named().holds(path) {
            Ok(())
        } else if self.read.is_empty() {
            Err(Refusal::wider(format!("`{path}` is ignored by the workspace, and the plan does not name it")))
        } else {
            Err(Refusal::wider(format!("`{path}` is outside what this step may read: {}", self.read.join(", "))))
        }
    }

    /// The same for unignored files, compiled once.
    pub fn reach(&self) -> Reach {
        Reach { named: (!self.read.is_empty()).then(|| self.named()) }
    }

    fn named(&self) -> Named {
        let write: Vec<String> = self.write.iter().map(|right| right.glob.clone()).collect();
        Named { write: Globs::files(&write), read: Globs::folders(&self.read) }
    }

    /// May the `run` tool start this argument vector? By the allow-list of the approved plan alone.
    ///
    /// # Errors
    /// The refusal that goes back to the model.
    pub fn may_run(&self, argv: &[String]) -> Result<(), Refusal> {
        let command = Command { argv: argv.to_vec(), dir: None, env: Vec::new() };
        commands::allowed(&command, &self.allow).map_err(|what| Refusal {
            what,
            retry: false,
            instead: "run what is on the list, or `check` for the step's own check".to_owned(),
        })
    }

    /// May the model call this tool? Ending the step is always open.
    pub fn has_tool(&self, name: &str) -> bool {
        name == "finish" || self.tools.iter().any(|tool| tool == name)
    }

    fn write_set(&self) -> String {
        if self.write.is_empty() {
            return "empty".to_owned();
        }
        self.write.iter().map(|right| format!("`{}`", right.glob)).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use proptest::prelude::*;

    fn path(text: &str) -> WorkspacePath {
        WorkspacePath::new(text).unwrap()
    }

    #[test]
    fn secrets_are_known_by_name() {
        let told: String = [
            ".env",
            "deploy/.env.production",
            ".env.example",
            "keys/server.PEM",
            "home/.ssh/config",
            ".npmrc",
            ".cargo/credentials.toml",
            "src/credentials.rs",
            "gcp-credentials.json",
            ".git/config",
            "sub/.git/hooks/pre-commit",
            ".planwright/config.toml",
            "src/key.rs",
            "id_ed25519",
            "id_ed25519.pub",
            ".gitignore",
        ]
        .iter()
        .map(|name| format!("{name}: {}\n", secret(&path(name)).unwrap_or("-")))
        .collect();
        insta::assert_snapshot!(told, @r"
        .env: environment secrets
        deploy/.env.production: environment secrets
        .env.example: -
        keys/server.PEM: a private key or key store
        home/.ssh/config: credentials of a tool
        .npmrc: stored passwords or tokens
        .cargo/credentials.toml: stored credentials
        src/credentials.rs: -
        gcp-credentials.json: stored credentials
        .git/config: git's own data
        sub/.git/hooks/pre-commit: git's own data
        .planwright/config.toml: planwright's own files
        src/key.rs: -
        id_ed25519: a private key
        id_ed25519.pub: -
        .gitignore: -
        ");
    }

    fn rights() -> Rights {
        let right = |glob: &str, new, focus: Option<&str>| WriteRight {
            glob: glob.to_owned(),
            new,
            focus: focus.map(str::to_owned),
        };
        Rights {
            write: vec![right("src/net/client.rs", false, Some("Client::send")), right("src/net/*.rs", true, None)],
            read: vec![],
            allow: vec![
                CommandPattern { argv: vec!["cargo".into(), "check".into()], open: true },
                CommandPattern { argv: vec!["make".into()], open: false },
            ],
            tools: vec!["read".into()],
            checks: vec![],
        }
    }

    #[test]
    fn writing_is_bound_to_the_plan() {
        let told = |name: &str, exists| match rights().may_write(&path(name), exists) {
            Ok(permit) => format!("{name}: yes, focus {:?}\n", permit.focus),
            Err(no) => format!("{name}: {} / retry {} / {}\n", no.what, no.retry, no.instead),
        };
        let all = [
            told("src/net/client.rs", true),
            told("src/net/retry.rs", false),
            told("src/net/deep/x.rs", true),
            told("src/main.rs", true),
            told(".env", true),
        ];
        insta::assert_snapshot!(all.concat(), @r#"
        src/net/client.rs: yes, focus Some("Client::send")
        src/net/retry.rs: yes, focus None
        src/net/deep/x.rs: `src/net/deep/x.rs` is outside the write set of this step, which is `src/net/client.rs`, `src/net/*.rs` / retry false / stay inside the plan, or ask for a wider scope: `ask` with `scope` naming the paths
        src/main.rs: `src/main.rs` is outside the write set of this step, which is `src/net/client.rs`, `src/net/*.rs` / retry false / stay inside the plan, or ask for a wider scope: `ask` with `scope` naming the paths
        .env: `.env` is not written by any tool (environment secrets) / retry false / leave it to the person, and say in `note` what it would need
        "#);
    }

    #[test]
    fn what_a_check_measures_by_is_written_only_by_name() {
        let argv = |line: &str| Command { argv: shell_words::split(line).unwrap(), dir: None, env: vec![] };
        let told = |globs: &[&str], line: &str, name: &str| {
            let right = |glob: &&str| WriteRight { glob: (*glob).to_owned(), new: true, focus: None };
            let checks = vec![Check::Syntax, Check::Command(argv(line))];
            let rights = Rights { write: globs.iter().map(right).collect(), checks, ..Rights::default() };
            rights.may_write(&path(name), true).map_or_else(|no| no.what, |_| "yes".to_owned())
        };
        let no = "`src/net/tests.rs` is what the check `cargo test -p net` measures by (a test), and the plan does not name it";
        assert_eq!(told(&["src/**"], "cargo test -p net", "src/net/tests.rs"), no);
        assert_eq!(told(&["src/**"], "cargo check", "src/net/tests.rs"), "yes");
        assert_eq!(told(&["src/**", "src/net/tests.rs"], "cargo test -p net", "src/net/tests.rs"), "yes");
        assert_eq!(told(&["**", "src/**/tests.rs"], "cargo test -p net", "src/net/tests.rs"), "yes");
        assert_eq!(told(&["**"], "cargo test -p net", "src/net/client.rs"), "yes");
    }

    #[test]
    fn reading_is_open_to_unignored_files_unless_the_plan_narrows_it() {
        let open = rights();
        assert!(open.may_read(&path("README.md"), true).is_ok());
        assert!(open.may_read(&path("target/x"), false).is_err());
        assert!(open.may_read(&path("src/net/gen.rs"), false).is_ok(), "the plan names it");
        for folder in ["docs/", "docs", "./docs", "docs/**", "do*"] {
            let narrow = Rights { read: vec![folder.to_owned()], ..rights() };
            assert!(narrow.may_read(&path("docs/a.md"), false).is_ok(), "{folder}");
            assert!(narrow.reach().holds(&path("docs/deep/a.md")), "{folder}");
            assert!(narrow.may_read(&path("README.md"), true).is_err(), "{folder}");
            assert!(!narrow.reach().holds(&path("README.md")), "{folder}");
        }
    }

    #[test]
    fn commands_are_matched_word_by_word() {
        let argv = |line: &str| shell_words::split(line).unwrap();
        assert!(rights().may_run(&argv("cargo check -p net")).is_ok());
        assert!(rights().may_run(&argv("make")).is_ok());
        assert!(rights().may_run(&argv("make install")).is_err());
        assert!(rights().may_run(&argv("cargo checkout")).is_err());
        assert!(rights().may_run(&[]).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        /// No glob, however wide, opens a secret.
        #[test]
        fn no_right_opens_a_secret(folder in "[a-z]{1,6}(/[a-z]{1,6}){0,2}", name in prop::sample::select(vec![".env", "x.pem", ".netrc", ".git/config"])) {
            let wide = Rights {
                write: vec![WriteRight { glob: "**".to_owned(), new: true, focus: None }],
                read: vec!["**".to_owned()],
                ..Rights::default()
            };
            let secret = path(&format!("{folder}/{name}"));
            prop_assert!(wide.may_write(&secret, true).is_err());
            prop_assert!(wide.may_read(&secret, true).is_err());
        }
    }
}
