//! Where the secrets of a person and of a machine lie.
//!
//! Invariant: only names; nothing is opened. A path that does not exist costs a look and hides nothing. Absent: secrets
//! of the workspace itself (the view hides ignored ones), and what no convention names. A cover stands on the file that
//! was there when the command began; where a tool has a folder of its own, that is covered, because a file that its
//! owner replaces meanwhile would be seen.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Below a home. From the documentation of each tool, and the lists of gitleaks and trufflehog.
const OF_A_PERSON: &[&str] = &[
    // keys, and agents that hold them
    ".ssh",
    ".gnupg",
    ".pki",
    ".age",
    ".config/age",
    ".config/sops",
    ".minisign",
    ".putty",
    ".tsh",
    ".step",
    ".password-store",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".config/op",
    ".config/1Password",
    ".config/Bitwarden",
    ".config/Bitwarden CLI",
    ".config/keepassxc",
    ".vault-token",
    ".Xauthority",
    ".ICEauthority",
    // clouds and clusters
    ".aws",
    ".azure",
    ".config/gcloud",
    ".kube",
    ".oci",
    ".docker",
    ".config/containers",
    ".config/doctl",
    ".config/hcloud",
    ".fly",
    ".config/rclone",
    ".config/configstore",
    ".config/netlify",
    ".local/share/com.vercel.cli",
    ".terraform.d",
    ".terraformrc",
    ".pulumi",
    ".boto",
    ".s3cfg",
    ".databrickscfg",
    ".snowflake",
    ".config/wrangler",
    ".wrangler",
    // forges, registries, databases
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/tea",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pypirc",
    ".config/pip",
    ".pip",
    ".config/pypoetry/auth.toml",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".ansible",
    ".config/openstack",
    ".msmtprc",
    ".config/msmtp",
    ".mbsyncrc",
    ".nuget/NuGet",
    ".config/NuGet",
    ".hex/hex.config",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".config/rubocop/token",
    // models and agents
    ".codex",
    ".claude",
    ".claude.json",
    ".config/claude",
    ".gemini",
    ".config/openai",
    ".config/anthropic",
    ".config/github-copilot",
    ".huggingface",
    ".cache/huggingface/token",
    ".kaggle",
    ".config/planwright",
    // browsers, mail, talk, editors' stores
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/google-chrome-beta",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    ".cache/mozilla",
    ".cache/google-chrome",
    ".cache/chromium",
    ".cache/BraveSoftware",
    ".cache/microsoft-edge",
    ".cache/vivaldi",
    ".config/Slack",
    ".config/discord",
    ".config/Signal",
    ".local/share/TelegramDesktop",
    ".config/Code/User/globalStorage",
    ".config/VSCodium/User/globalStorage",
    ".config/Cursor/User/globalStorage",
    ".var/app",
    "snap/firefox",
    "snap/chromium",
    ".electrum",
    ".bitcoin",
    ".ethereum",
    ".config/solana",
    // histories, in which passwords are typed
    ".bash_history",
    ".zsh_history",
    ".zhistory",
    ".histfile",
    ".sh_history",
    ".local/share/fish",
    ".local/share/atuin",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".sqlite_history",
    ".rediscli_history",
    ".irb_history",
    ".lesshst",
    ".viminfo",
    ".local/share/nvim/shada",
    ".local/state/nvim/shada",
    ".env",
];

/// Readable for root, whose modes the kernel does not mind.
const OF_THE_MACHINE: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh",
    "/etc/krb5.keytab",
    "/etc/wireguard",
    "/etc/NetworkManager/system-connections",
    "/etc/ssl/private",
    "/etc/letsencrypt",
    "/etc/ipsec.secrets",
    "/etc/ipsec.d/private",
    "/etc/ppp",
    "/etc/openvpn",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/docker",
    "/var/lib/docker",
    "/var/lib/containerd",
    "/var/lib/kubelet",
    "/var/lib/private",
    "/var/spool/cron",
    "/var/log",
    "/var/mail",
    "/var/spool/mail",
    "/var/lib/cloud",
    "/var/backups",
    "/boot",
    "/lost+found",
];

/// Variables that name a secret's place.
const NAMED: &[&str] = &[
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AZURE_CONFIG_DIR",
    "CLOUDSDK_CONFIG",
    "DOCKER_CONFIG",
    "GNUPGHOME",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "HISTFILE",
    "KUBECONFIG",
    "NETRC",
    "NPM_CONFIG_USERCONFIG",
    "PASSWORD_STORE_DIR",
    "PGPASSFILE",
    "PIP_CONFIG_FILE",
    "SSH_AUTH_SOCK",
    "XAUTHORITY",
];

/// All of them, for a user with this environment. The home is looked up in the table of users as well as in `HOME`,
/// which may lead elsewhere.
pub fn secrets(env: impl Iterator<Item = (OsString, OsString)>) -> Vec<PathBuf> {
    let mut homes = Vec::new();
    let mut found: Vec<PathBuf> = OF_THE_MACHINE.iter().map(PathBuf::from).collect();
    for (name, value) in env {
        match name.to_str() {
            Some("HOME") => homes.push(PathBuf::from(value)),
            Some("CARGO_HOME") => {
                found.extend(["credentials", "credentials.toml"].map(|file| Path::new(&value).join(file)));
            }
            Some("XDG_CONFIG_HOME") => found.extend(moved(".config/", &value)),
            Some("XDG_DATA_HOME") => found.extend(moved(".local/share/", &value)),
            Some("XDG_STATE_HOME") => found.extend(moved(".local/state/", &value)),
            Some("XDG_CACHE_HOME") => found.extend(moved(".cache/", &value)),
            Some(name) if NAMED.contains(&name) => found.extend(std::env::split_paths(&value)),
            Some(_) | None => {}
        }
    }
    homes.extend(home_of(&std::fs::read_to_string("/etc/passwd").unwrap_or_default()));
    for home in homes {
        found.extend(OF_A_PERSON.iter().map(|path| home.join(path)));
    }
    found.retain(|path| path.is_absolute() && path.parent().is_some());
    found.sort();
    found.dedup();
    found
}

/// What lies below this folder of a home, where that was moved.
fn moved(folder: &str, to: &OsStr) -> impl Iterator<Item = PathBuf> {
    OF_A_PERSON.iter().filter_map(move |path| Some(Path::new(to).join(path.strip_prefix(folder)?)))
}

#[cfg(unix)]
fn home_of(users: &str) -> Option<PathBuf> {
    let own = rustix::process::geteuid().as_raw().to_string();
    let row = users.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|row| row.get(2) == Some(&&*own))?;
    row.get(5).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_named_by_home_by_configuration_and_by_variable() {
        let env = [
            ("HOME", "/home/ada"),
            ("XDG_CONFIG_HOME", "/conf"),
            ("XDG_DATA_HOME", "/data"),
            ("XDG_STATE_HOME", "/state"),
            ("XDG_CACHE_HOME", "/cache"),
            ("CARGO_HOME", "/cargo"),
            ("KUBECONFIG", "/k/one:/k/two"),
            ("SSH_AUTH_SOCK", "relative"),
            ("PATH", "/usr/bin"),
        ];
        let found = secrets(env.into_iter().map(|(name, value)| (name.into(), value.into())));
        for path in [
            "/home/ada/.ssh",
            "/home/ada/.config/gcloud",
            "/home/ada/.bash_history",
            "/conf/gcloud",
            "/data/atuin",
            "/state/nvim/shada",
            "/cache/mozilla",
            "/etc/letsencrypt",
            "/cargo/credentials.toml",
            "/k/one",
            "/k/two",
            "/etc/shadow",
        ] {
            assert!(found.contains(&PathBuf::from(path)), "{path}");
        }
        assert!(found.iter().all(|path| path.is_absolute() && path != Path::new("/usr/bin")), "{found:?}");
    }

    #[cfg(unix)]
    #[test]
    fn a_home_is_looked_up_where_users_are_listed() {
        let own = rustix::process::geteuid().as_raw();
        let users = format!("x:x:{}:0::/other:/bin/sh\nada:x:{own}:0:Ada:/home/ada:/bin/sh\n", own + 1);
        assert_eq!(home_of(&users), Some("/home/ada".into()));
        assert_eq!(home_of("x:x:notanumber\n"), None);
    }
}
