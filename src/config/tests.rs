//! Files, variables and arguments in; values with origins, or problems, out.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

use super::{Arguments, Config, Environment, load, schema};
use std::path::Path;

/// A home with this `config.toml` in it; `HOME` in texts stands for its path.
struct Home(tempfile::TempDir);

impl Home {
    fn with(config: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join(".config/planwright");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("config.toml"), config).unwrap();
        Self(home)
    }

    fn environment(&self, more: &[(&str, &str)]) -> Environment {
        let home = self.0.path().to_str().unwrap();
        Environment::of(more.iter().copied().chain([("HOME", home)]))
    }

    fn tidy(&self, text: &str) -> String {
        text.replace(self.0.path().to_str().unwrap(), "HOME")
    }
}

fn set(pairs: &[(&str, &str)]) -> Arguments {
    Arguments { config: None, set: pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect() }
}

/// The rows whose key begins so.
fn rows(config: &Config, environment: &Environment, of: &str) -> String {
    let rows = config.rows(environment).into_iter().filter(|row| row.key.starts_with(of));
    rows.map(|row| format!("{} = {}  [{}]", row.key, row.value, row.origin)).collect::<Vec<_>>().join("\n")
}

/// What `doctor` shows, or what is wrong.
fn outcome(config: &str, variables: &[(&str, &str)], arguments: &Arguments, of: &str) -> String {
    let home = Home::with(config);
    let environment = home.environment(variables);
    match load(&environment, arguments) {
        Ok(config) => home.tidy(&rows(&config, &environment, of)),
        Err(fault) => home.tidy(&fault.to_string()),
    }
}

fn problems(config: &str) -> String {
    outcome(config, &[], &Arguments::default(), "")
}

#[test]
fn nothing_configured_is_a_normal_state() {
    insta::assert_snapshot!(outcome("", &[], &Arguments::default(), ""), @r#"
    config file = HOME/.config/planwright/config.toml  [default]
    workspace file = not read in this release  [default]
    state directory = HOME/.local/state/planwright  [default]
    cache directory = HOME/.cache/planwright  [default]
    log = info  [default]
    model.strong = none: steps without a model work  [default]
    model.fast = as strong  [default]
    format.rs = rustfmt --edition 2024  [default]
    limits.parallel = 2  [default]
    limits.turns = 15  [default]
    limits.command_timeout = 600 s  [default]
    limits.tool_timeout = 30 s  [default]
    limits.output_bytes = 262144  [default]
    limits.context = 24000 tokens  [default]
    resume = on  [default]
    isolation = on  [default]
    "#);
}

#[test]
fn later_layers_win_and_each_value_knows_its_origin() {
    let config = r#"
[model.strong]
base_url = "http://localhost:11434/v1/"
model = "from-file"
key_env = "MY_KEY"
timeouts = { idle = 60 }
prices = { input = 3, output = 15.5 }
headers = { "x-team" = "secret-value" }

[limits]
turns = 20
"#;
    let variables =
        [("MY_KEY", "abc"), ("OPENAI_MODEL", "ignored"), ("PLANWRIGHT_LOG", "debug"), ("XDG_CACHE_HOME", "/c")];
    let arguments = set(&[("model.strong.model", "from-argument"), ("limits.parallel", "4")]);
    insta::assert_snapshot!(outcome(config, &variables, &arguments, ""), @r#"
    config file = HOME/.config/planwright/config.toml  [default]
    workspace file = not read in this release  [default]
    state directory = HOME/.local/state/planwright  [default]
    cache directory = /c/planwright  [$XDG_CACHE_HOME]
    log = debug  [$PLANWRIGHT_LOG]
    model.strong.provider = openai  [default]
    model.strong.base_url = http://localhost:11434/v1  [HOME/.config/planwright/config.toml:3]
    model.strong.model = from-argument  [argument --set model.strong.model=from-argument]
    model.strong.key = $MY_KEY (set)  [HOME/.config/planwright/config.toml:5]
    model.strong.max_output = not limited here  [default]
    model.strong.window = as the server tells  [default]
    model.strong.timeouts.connect = 10 s  [default]
    model.strong.timeouts.first_byte = 300 s  [default]
    model.strong.timeouts.idle = 60 s  [HOME/.config/planwright/config.toml:6]
    model.strong.timeouts.total = 1800 s  [default]
    model.strong.prices = $3 in, $15.5 out per million tokens  [HOME/.config/planwright/config.toml:7]
    model.strong.headers = x-team  [HOME/.config/planwright/config.toml:8]
    model.fast = as strong  [default]
    format.rs = rustfmt --edition 2024  [default]
    limits.parallel = 4  [argument --set limits.parallel=4]
    limits.turns = 20  [HOME/.config/planwright/config.toml:11]
    limits.command_timeout = 600 s  [default]
    limits.tool_timeout = 30 s  [default]
    limits.output_bytes = 262144  [default]
    limits.context = 24000 tokens  [default]
    resume = on  [default]
    isolation = on  [default]
    "#);
}

#[test]
fn variables_of_other_tools_are_enough() {
    let none = Arguments::default();
    let strong = |variables: &[(&str, &str)]| {
        let all = outcome("", variables, &none, "model.strong");
        all.lines()
            .filter(|l| ["base_url", "model =", "key"].iter().any(|k| l.contains(k)))
            .collect::<Vec<_>>()
            .join("\n")
    };
    insta::assert_snapshot!(strong(&[("OPENAI_API_KEY", "k")]), @r#"
    model.strong.base_url = https://api.openai.com/v1  [default]
    model.strong.model = one of the server's list  [default]
    model.strong.key = $OPENAI_API_KEY (set)  [$OPENAI_API_KEY]
    "#);
    insta::assert_snapshot!(strong(&[("OPENAI_BASE_URL", "http://localhost:8080/v1"), ("OPENAI_MODEL", "m")]), @r#"
    model.strong.base_url = http://localhost:8080/v1  [$OPENAI_BASE_URL]
    model.strong.model = m  [$OPENAI_MODEL]
    model.strong.key = none  [default]
    "#);
    // A key for OpenAI does not go to another server by itself.
    let elsewhere = "[model.strong]\nbase_url = \"https://else.where/v1\"\n";
    let key = outcome(elsewhere, &[("OPENAI_API_KEY", "k")], &none, "model.strong.key");
    assert_eq!(key, "model.strong.key = none  [default]");
}

#[test]
fn unknown_keys_name_the_nearest() {
    insta::assert_snapshot!(problems("[model.strong]\nmodle = \"x\"\n\n[limit]\nturns = 1\n"), @r#"
    HOME/.config/planwright/config.toml:4: unknown key `limit`; did you mean `limits`?
    HOME/.config/planwright/config.toml:2: unknown key `model.strong.modle`; did you mean `model.strong.model`?
    "#);
    insta::assert_snapshot!(problems("[model.strong]\ntimeouts.ideal = 1\nkeyring = \"x\"\nzzz = 1\n"), @r#"
    HOME/.config/planwright/config.toml:3: `model.strong.keyring` is not in this release; leave it out
    HOME/.config/planwright/config.toml:2: unknown key `model.strong.timeouts.ideal`; did you mean `model.strong.timeouts.idle`?
    HOME/.config/planwright/config.toml:4: unknown key `model.strong.zzz`; known here: provider, base_url, model, key_env, key_command, max_output, window, timeouts, prices, headers
    "#);
    insta::assert_snapshot!(outcome("", &[], &set(&[("limits.turn", "3")]), ""), @"argument --set limits.turn=3: unknown key `limits.turn`; did you mean `limits.turns`?");
}

#[test]
fn broken_files_are_clear_errors() {
    insta::assert_snapshot!(problems("[limits]\nturns = \n"), @"HOME/.config/planwright/config.toml:2: string values must be quoted, expected literal string; correct it; until then nothing is read and nothing is changed");
    insta::assert_snapshot!(problems("[limits]\nturns = \"many\"\n"), @r#"HOME/.config/planwright/config.toml:2: invalid type: string "many", expected u32; correct it; until then nothing is read and nothing is changed"#);
    insta::assert_snapshot!(problems("[limits]\nturns = 0\nparallel = 0\n"), @r#"
    HOME/.config/planwright/config.toml:3: `limits.parallel` is 0; write a positive number, or leave it out for the default
    HOME/.config/planwright/config.toml:2: `limits.turns` is 0; write a positive number, or leave it out for the default
    "#);
    insta::assert_snapshot!(outcome("", &[], &set(&[("limits.turns", "many")]), ""), @r#"argument --set limits.turns=many: invalid type: string "many", expected u32; see `planwright schema config`"#);
}

#[test]
fn models_are_checked() {
    insta::assert_snapshot!(problems("[model.strong]\nprovider = \"anthropic\"\n[model.fast]\nprovider = \"x\"\nbase_url = \"localhost\"\n"), @r#"
    HOME/.config/planwright/config.toml:2: provider `anthropic` is not in this release; use `openai` with the base_url of a server that speaks Chat Completions
    HOME/.config/planwright/config.toml:4: unknown provider `x`; write `openai`
    HOME/.config/planwright/config.toml:5: base_url `localhost` is no http address; write it like `http://localhost:11434/v1`
    "#);
    insta::assert_snapshot!(problems("[model.strong]\nkey_env = \"A\"\nkey_command = [\"b\"]\nbase_url = \"http://u:p@h/v1\"\n"), @r#"
    HOME/.config/planwright/config.toml:4: base_url holds a password; use key_env or key_command
    HOME/.config/planwright/config.toml:3: both key_env and key_command are set; keep one of them
    "#);
    insta::assert_snapshot!(problems("[model.strong]\nkey_command = []\nprices = { input = -1, output = 1 }\nheaders = { \"a b\" = \"c\" }\n"), @r#"
    HOME/.config/planwright/config.toml:4: `a b` is no header name; use letters, digits and `-`
    HOME/.config/planwright/config.toml:2: key_command is empty; write the program and its arguments as a list
    HOME/.config/planwright/config.toml:3: a price is negative or no number; write US dollars per million tokens, 0 or more
    "#);
}

#[test]
fn formatters_can_be_added_and_switched_off() {
    let config = "[format]\nrs = []\npy = [\"black\", \"-q\", \"-\"]\n";
    insta::assert_snapshot!(outcome(config, &[], &Arguments::default(), "format"), @"format.py = black -q -  [HOME/.config/planwright/config.toml:3]");
    insta::assert_snapshot!(problems("[format]\n\".py\" = [\"\"]\n"), @r#"
    HOME/.config/planwright/config.toml:2: `.py` begins with a dot; write `py = …`
    HOME/.config/planwright/config.toml:2: the formatter for `.py` has no program; name it first
    "#);
}

#[test]
fn a_named_file_must_be_there() {
    let missing = Arguments { config: Some("/no/such.toml".into()), set: Vec::new() };
    insta::assert_snapshot!(outcome("", &[], &missing, ""), @"argument --config: /no/such.toml cannot be read: No such file or directory (os error 2); correct the path, or make the file readable UTF-8 text");
    insta::assert_snapshot!(outcome("", &[("PLANWRIGHT_CONFIG", "/no/such.toml")], &Arguments::default(), ""), @"$PLANWRIGHT_CONFIG: /no/such.toml cannot be read: No such file or directory (os error 2); correct the path, or make the file readable UTF-8 text");
    insta::assert_snapshot!(outcome("", &[("PLANWRIGHT_STATE_DIR", "here")], &Arguments::default(), ""), @"$PLANWRIGHT_STATE_DIR: `here` depends on the working directory; write an absolute path");
}

#[cfg(unix)]
#[test]
fn without_a_home_a_private_folder_stands_in_or_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let temp = tempfile::tempdir().unwrap();
    let at = temp.path().to_str().unwrap();
    let environment = Environment::of([("TMPDIR", at), ("HOME", "/nonexistent")]);
    let config = load(&environment, &Arguments::default()).unwrap();
    let private = config.dirs.private.clone().unwrap();
    assert!(private.starts_with(temp.path()) && config.dirs.state.value.starts_with(&private));
    assert_eq!(std::fs::metadata(&private).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(rows(&config, &environment, "home").contains("may vanish"));
    // Twice is fine; one that others can read, or a link, is not.
    load(&environment, &Arguments::default()).unwrap();
    let refusal = || load(&environment, &Arguments::default()).unwrap_err().to_string();
    std::fs::set_permissions(&private, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(refusal().contains("its mode is not 0700"), "{}", refusal());
    std::fs::remove_dir(&private).unwrap();
    std::os::unix::fs::symlink("/", &private).unwrap();
    assert!(refusal().contains("it is no folder"), "{}", refusal());
    assert!(Path::new("/").exists());
    // All three named: no home is needed.
    let named = Environment::of([("PLANWRIGHT_STATE_DIR", at), ("PLANWRIGHT_CACHE_DIR", at), ("XDG_CONFIG_HOME", at)]);
    assert_eq!(load(&named, &Arguments::default()).unwrap().dirs.private, None);
}

#[test]
fn the_schema_knows_every_key_with_its_meaning() {
    let schema = schema();
    for pointer in ["/properties/model", "/properties/limits", "/$defs/RawModel/properties/key_command/description"] {
        assert!(schema.pointer(pointer).is_some(), "{pointer} in {schema}");
    }
}
