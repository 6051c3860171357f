//! By which rule a command is risky, and why.
//!
//! Invariant: the first rule that fits wins, and the rules stand with the gravest first. Unknown options are taken
//! at their worst where an interpreter would run them as code. Absent: the names themselves; they are in `table`.

use super::table::*;
use super::{Risk, program};

pub(super) fn loads_code(name: &str) -> bool {
    let target =
        name.starts_with("CARGO_TARGET_") && ["_RUNNER", "_LINKER", "_RUSTFLAGS"].iter().any(|end| name.ends_with(end));
    VARIABLES.contains(&name) || target || VARIABLE_FAMILIES.iter().any(|family| name.starts_with(family))
}

pub(super) fn by_program(name: &str, arguments: &[String]) -> Option<Risk> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if PRIVILEGE.contains(&name) {
        return Some(Risk::new("privilege", format!("`{name}` runs with other rights")));
    }
    shells(name, &words)
        .or_else(|| wrappers(name, &words))
        .or_else(|| interpreters(name, &words))
        .or_else(|| git(name, &words))
        .or_else(|| packages(name, &words))
        .or_else(|| single(name, &words))
        .or_else(|| settings(name, &words))
        .or_else(|| loading(name, &words))
}

fn shells(name: &str, words: &[&str]) -> Option<Risk> {
    let inline = words.iter().any(|word| *word == "/c" || *word == "-Command" || has_letter(word, "c"));
    SHELLS.contains(&name).then(|| match inline {
        true => Risk::new("shell", format!("`{name}` runs the text it is given")),
        false => Risk::new("shell", format!("`{name}` runs a script, which can do anything")),
    })
}

fn wrappers(name: &str, words: &[&str]) -> Option<Risk> {
    if !WRAPPERS.contains(&name) {
        return None;
    }
    // What it starts may be worse than that it starts something. One wrapper behind another is passed over.
    let starts = |word: &&str| {
        let bare = !word.starts_with('-') && !word.contains('=') && word.parse::<f64>().is_err();
        bare && !WRAPPERS.contains(&program(word).as_str())
    };
    let inner = words.iter().position(starts).and_then(|at| {
        let (word, rest) = words.get(at..)?.split_first()?;
        let rest: Vec<String> = rest.iter().map(|word| (*word).to_owned()).collect();
        by_program(&program(word), &rest)
    });
    inner.or_else(|| Some(Risk::new("wrapper", format!("`{name}` starts another command"))))
}

fn interpreters(name: &str, words: &[&str]) -> Option<Risk> {
    if matches!(name, "awk" | "gawk" | "mawk" | "nawk") {
        return Some(Risk::new("inline-code", format!("`{name}` runs a program that can start commands")));
    }
    let (_, letters, long, loads) = INTERPRETERS.iter().find(|row| row.0 == name)?;
    // Options end at the script: what follows belongs to it.
    let options = words.iter().take_while(|word| word.starts_with('-') || long.contains(*word));
    for word in options {
        let flag = word.split_once('=').map_or(*word, |(flag, _)| flag);
        if loads.iter().any(|load| flag == *load || (load.len() == 2 && word.starts_with(load))) {
            return Some(Risk::new("loads-code", format!("`{name} {flag}` loads other code first")));
        }
        if long.contains(&flag) || has_letter(word, letters) {
            return Some(Risk::new("inline-code", format!("`{name} {flag}` runs the text it is given")));
        }
    }
    let module = (name == "python" && words.contains(&"-m")).then(|| words.iter().skip_while(|word| **word != "-m"));
    let mut module = module.into_iter().flatten().skip(1);
    let (module, rest) = (module.next()?, module);
    let rest: Vec<&str> = rest.copied().collect();
    match *module {
        "http.server" => Some(Risk::new("network", "it serves files to the network")),
        module => packages(module, &rest).or_else(|| loading(module, &rest)),
    }
}

fn git(name: &str, words: &[&str]) -> Option<Risk> {
    if name != "git" {
        return None;
    }
    let mut rest = words.iter();
    let subcommand = loop {
        match rest.next() {
            None => return None,
            Some(word) if matches!(*word, "-C" | "--git-dir" | "--work-tree" | "--namespace") => drop(rest.next()),
            Some(word) if *word == "-c" || word.starts_with("--config-env") || word.starts_with("--exec-path") => {
                return Some(Risk::new("git-config", format!("`git {word}` can make git start any program")));
            }
            Some(word) if word.starts_with('-') => {}
            Some(word) => break *word,
        }
    };
    let why = |why: &str| format!("`git {subcommand}` {why}");
    if let Some(flag) = rest.find(|word| GIT_STARTS.iter().any(|start| flag_is(word, start))) {
        return Some(Risk::new(
            "loads-code",
            format!("`git {subcommand} {flag}` starts another program or writes a file"),
        ));
    }
    if GIT_READS.contains(&subcommand) {
        None
    } else if subcommand == "config" {
        Some(Risk::new("git-config", why("can make git start any program later")))
    } else if GIT_NETWORK.contains(&subcommand) {
        Some(Risk::new("network", why("talks to another machine")))
    } else if GIT_LOSES.contains(&subcommand) {
        Some(Risk::new("git-history", why("can lose work that is not committed, or history")))
    } else if GIT_HOOKS.contains(&subcommand) {
        Some(Risk::new("git-hooks", why("runs the repository's hooks or filters")))
    } else {
        Some(Risk::new("git-config", why("may be an alias, which can start any program")))
    }
}

fn packages(name: &str, words: &[&str]) -> Option<Risk> {
    if FETCHERS.contains(&name) {
        return Some(Risk::new("installs", format!("`{name}` fetches and runs code of others")));
    }
    if SYSTEM_PACKAGES.contains(&name) {
        return Some(Risk::new("installs", format!("`{name}` changes the system's packages")));
    }
    let (_, publish, fetch) = PACKAGES.iter().find(|row| row.0 == name)?;
    let subcommand = words.iter().find(|word| !word.starts_with(['-', '+']));
    match subcommand {
        Some(word) if publish.contains(word) => {
            Some(Risk::new("publishes", format!("`{name} {word}` publishes, or changes what is published")))
        }
        Some(word) if fetch.contains(word) => {
            Some(Risk::new("installs", format!("`{name} {word}` fetches code of others, which may run at once")))
        }
        // `yarn` alone installs.
        None if name == "yarn" => Some(Risk::new("installs", "`yarn` fetches code of others, which may run at once")),
        Some(_) | None => None,
    }
}

fn single(name: &str, words: &[&str]) -> Option<Risk> {
    let lists: [(&[&str], &'static str, &str); 8] = [
        (REMOVES, "removes", "removes or overwrites files"),
        (REWRITES, "rewrites", "moves, replaces or reassigns files"),
        (KILLS, "kills", "ends processes or services"),
        (NETWORK, "network", "talks to other machines"),
        (SYSTEMS, "remote-system", "changes systems outside this machine"),
        (CONTAINERS, "containers", "starts containers, which can reach the whole machine"),
        (EDITORS, "wrapper", "is an interactive program that can start commands"),
        (MACHINE, "machine", "ends or rebuilds the machine"),
    ];
    // `mkfs.ext4`
    let listed = if name.starts_with("mkfs.") { "mkfs" } else { name };
    if let Some((_, rule, why)) = lists.iter().find(|(names, _, _)| names.contains(&listed)) {
        return Some(Risk::new(rule, format!("`{name}` {why}")));
    }
    let flags: &[&str] = match name {
        "find" => &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprintf", "-fls"],
        "fd" | "fdfind" => &["-x", "-X", "--exec", "--exec-batch"],
        _ => &[],
    };
    let flag = words.iter().find(|word| flags.iter().any(|flag| flag_is(word, flag)))?;
    let rule = if *flag == "-delete" { "removes" } else { "wrapper" };
    Some(Risk::new(rule, format!("`{name} {flag}` removes files or starts another command for each")))
}

fn loading(name: &str, words: &[&str]) -> Option<Risk> {
    let (_, flags) = LOADING.iter().find(|row| row.0 == name)?;
    // After `--` the words are the tested program's.
    let flag =
        words.iter().take_while(|word| **word != "--").find(|word| flags.iter().any(|flag| flag_is(word, flag)))?;
    Some(Risk::new("loads-code", format!("`{name} {flag}` makes it load or start other code")))
}

/// Settings of build tools that name the programs they start.
fn settings(name: &str, words: &[&str]) -> Option<Risk> {
    let said = |word: &str, why: &str| Some(Risk::new("loads-code", format!("`{name} {word}` {why}")));
    match name {
        "cmake" => {
            let set = words.windows(2).filter_map(|pair| if let ["-D", set] = pair { Some(*set) } else { None });
            let set = set.chain(words.iter().filter_map(|word| word.strip_prefix("-D")));
            let mut names = set.map(|set| set.split([':', '=']).next().unwrap_or(set).to_ascii_uppercase());
            let starts = |name: &String| CMAKE_STARTS.iter().any(|part| name.contains(part));
            names.find(starts).and_then(|set| said(&format!("-D{set}"), "names a program or code that it takes"))
        }
        "make" | "gmake" => {
            let set = words.iter().find(|word| !word.starts_with('-') && word.contains('='));
            set.and_then(|word| said(word, "can change which programs it starts"))
        }
        "cargo" => {
            let target = words.iter().take_while(|word| **word != "--").find(|word| word.ends_with(".json"));
            target.and_then(|word| said(word, "takes a linker and its options from that file"))
        }
        "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" => {
            words.iter().find(|word| word.starts_with('@')).and_then(|word| said(word, "takes options from that file"))
        }
        _ => None,
    }
}

/// `--flag`, `--flag=value`, and for one letter also `-fvalue`.
fn flag_is(word: &str, flag: &str) -> bool {
    let rest = word.strip_prefix(flag);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('=') || (flag.len() == 2 && !flag.starts_with("--")))
}

/// One of these letters in a bundle of short options (`-Bc`, `-lc`, `-ne`).
fn has_letter(word: &str, letters: &str) -> bool {
    word.strip_prefix('-').is_some_and(|bundle| !bundle.starts_with('-') && bundle.contains(|c| letters.contains(c)))
}
