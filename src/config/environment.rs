//! The process environment as a value, and the folders that follow from it.
//!
//! Invariant: the environment is read in `of_process` and nowhere else; a folder that planwright makes by itself under
//! the temp directory is private to the user or refused. Absent: making the ordinary folders, which is their users'
//! business.

use super::{Arguments, ConfigFault, ConfigProblem, Origin, Valued};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Variables by name. A value that is not UTF-8 keeps its bytes (a path may be such).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Environment(BTreeMap<String, OsString>);

/// Where things are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dirs {
    /// The user's configuration file; it need not exist.
    pub config_file: Valued<PathBuf>,
    /// Databases and locks.
    pub state: Valued<PathBuf>,
    /// Copies and indexes: may be deleted at any time.
    pub cache: Valued<PathBuf>,
    /// There is no home: this private folder under the temp directory stands in for it. `doctor` says so.
    pub private: Option<PathBuf>,
}

impl Environment {
    /// This process's. A missing `HOME` is looked up as the system knows it.
    pub fn of_process() -> Self {
        let mut variables: BTreeMap<String, OsString> =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect();
        if variables.get("HOME").is_none_or(|home| home.is_empty())
            && let Ok(home) = etcetera::home_dir()
        {
            variables.insert("HOME".to_owned(), home.into_os_string());
        }
        Self(variables)
    }

    /// As a test wants it.
    pub fn of<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect())
    }

    /// A variable's text. Empty is as good as unset, as everywhere in the base directory rules.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.to_str().filter(|value| !value.is_empty())
    }

    fn path(&self, name: &str) -> Option<&Path> {
        self.0.get(name).filter(|value| !value.is_empty()).map(Path::new)
    }

    /// Folders by the XDG base directory rules, on each system alike: `PLANWRIGHT_*`, else `XDG_*`, else below home.
    pub(super) fn dirs(&self, arguments: &Arguments) -> Result<Dirs, ConfigFault> {
        let mut private = None;
        let state = self.dir("PLANWRIGHT_STATE_DIR", "XDG_STATE_HOME", ".local/state", "state", &mut private)?;
        let cache = self.dir("PLANWRIGHT_CACHE_DIR", "XDG_CACHE_HOME", ".cache", "cache", &mut private)?;
        let config_file = match &arguments.config {
            Some(path) => Valued { value: path.clone(), origin: Origin::Argument("--config".to_owned()) },
            None => match self.path("PLANWRIGHT_CONFIG") {
                Some(path) => {
                    Valued { value: path.to_owned(), origin: Origin::Environment("PLANWRIGHT_CONFIG".to_owned()) }
                }
                None => {
                    let dir = self.dir("", "XDG_CONFIG_HOME", ".config", "config", &mut private)?;
                    Valued::default(dir.value.join("config.toml"))
                }
            },
        };
        Ok(Dirs { config_file, state, cache, private })
    }

    fn dir(
        &self,
        own: &str,
        xdg: &str,
        below_home: &str,
        below_private: &str,
        private: &mut Option<PathBuf>,
    ) -> Result<Valued<PathBuf>, ConfigFault> {
        if let Some(path) = self.path(own) {
            let origin = Origin::Environment(own.to_owned());
            if !path.is_absolute() {
                let message = format!("`{}` depends on the working directory", path.display());
                let next = "write an absolute path".to_owned();
                return Err(ConfigProblem { at: Some(origin), message, next }.into());
            }
            return Ok(Valued { value: path.to_owned(), origin });
        }
        // The rules say: a relative path is invalid and ignored.
        if let Some(path) = self.path(xdg).filter(|path| path.is_absolute()) {
            return Ok(Valued { value: path.join("planwright"), origin: Origin::Environment(xdg.to_owned()) });
        }
        // Accounts of services have a home that does not exist.
        if let Some(home) = self.path("HOME").filter(|home| home.is_absolute() && home.is_dir()) {
            return Ok(Valued::default(home.join(below_home).join("planwright")));
        }
        let base = match private {
            Some(base) => base.clone(),
            None => private.insert(private_dir(self.path("TMPDIR").unwrap_or(Path::new("/tmp")))?).clone(),
        };
        Ok(Valued::default(base.join(below_private)))
    }
}

/// A folder that nobody else can read or has prepared for us.
fn private_dir(temp: &Path) -> Result<PathBuf, ConfigFault> {
    let path = temp.join(private_name());
    let refuse = |why: String| {
        let message = format!("there is no home directory, and {} cannot stand in for it: {why}", path.display());
        let next = "set HOME, or PLANWRIGHT_CONFIG, PLANWRIGHT_STATE_DIR and PLANWRIGHT_CACHE_DIR".to_owned();
        ConfigFault::from(ConfigProblem { at: None, message, next })
    };
    match make_private(&path) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(refuse(error.to_string())),
    }
    let found = std::fs::symlink_metadata(&path).map_err(|error| refuse(error.to_string()))?;
    if !found.is_dir() {
        return Err(refuse("it is no folder".to_owned()));
    }
    is_private(&found).map_err(|why| refuse(why.to_owned()))?;
    Ok(path)
}

#[cfg(unix)]
fn private_name() -> String {
    format!("planwright-{}", rustix::process::geteuid().as_raw())
}

#[cfg(unix)]
fn make_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().mode(0o700).create(path)
}

#[cfg(unix)]
fn is_private(found: &std::fs::Metadata) -> Result<(), &'static str> {
    use std::os::unix::fs::MetadataExt;
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err("it belongs to somebody else");
    }
    if found.mode() & 0o077 != 0 {
        return Err("others can look into it (its mode is not 0700)");
    }
    Ok(())
}

#[cfg(not(unix))]
fn private_name() -> String {
    "planwright".to_owned()
}

// The temp directory is the user's own there.
#[cfg(not(unix))]
fn make_private(path: &Path) -> std::io::Result<()> {
    std::fs::create_dir(path)
}

#[cfg(not(unix))]
fn is_private(_: &std::fs::Metadata) -> Result<(), &'static str> {
    Ok(())
}
