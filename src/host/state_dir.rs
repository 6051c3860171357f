//! Where a workspace's state lies: one private folder per root, outside of it (invariant 12).
//!
//! Invariant: the folder belongs to this user and to this root, and nobody else can enter it. Absent: finding the state
//! home and the root; both are handed in.

use crate::domain::ids::ContentHash;
use crate::domain::task::action::{Refusal, RefusalKind};
use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The longest path of a Unix socket in bytes: Linux has room for 108 with the closing NUL, macOS for 104.
const SOCKET_PATH: usize = 103;

/// The state folder of one root.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StateDir {
    folder: PathBuf,
    root: PathBuf,
    name: String,
}

impl StateDir {
    /// The folder of a root, made if it is not there. `root` is canonical.
    ///
    /// # Errors
    /// The folder cannot be made, belongs to another user, or was made for another root.
    pub fn for_root(state_home: &Path, root: &Path) -> Result<Self, Refusal> {
        let hash = ContentHash::of(root.as_os_str().as_bytes());
        // The root's own name is for a person who lists the state home; the hash alone tells roots apart.
        let own: String = root
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
            .take(40)
            .collect();
        let name = if own.is_empty() { hash.short().to_owned() } else { format!("{}-{own}", hash.short()) };
        let folder = state_home.join(&name);
        let refusal = |error: &dyn std::fmt::Display| Refusal {
            kind: RefusalKind::Broken,
            message: format!("the state folder {} cannot be used: {error}", folder.display()),
            next: "set PLANWRIGHT_STATE_DIR to a folder of your own that can be written".to_owned(),
        };
        private_folder(&folder).map_err(|error| refusal(&error))?;
        let note = folder.join("root");
        match std::fs::read(&note) {
            Ok(text) if text == root.as_os_str().as_bytes() => {}
            Ok(text) if !text.is_empty() => {
                return Err(refusal(&format!("it belongs to {}", String::from_utf8_lossy(&text))));
            }
            Ok(_) | Err(_) => std::fs::write(&note, root.as_os_str().as_bytes()).map_err(|error| refusal(&error))?,
        }
        Ok(Self { folder, root: root.to_owned(), name })
    }

    /// The folder itself.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The root it belongs to.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The database.
    pub fn database(&self) -> PathBuf {
        self.folder.join("journal.db")
    }

    /// The folder of large payloads.
    pub fn blobs(&self) -> PathBuf {
        self.folder.join("blobs")
    }

    /// The file whose lock makes a process the host.
    pub fn lock(&self) -> PathBuf {
        self.folder.join("host.lock")
    }

    /// Where the host's socket goes: in the folder, or where its path would be too long, in a private folder below
    /// `runtime` (`XDG_RUNTIME_DIR`) or, last, `temp`.
    ///
    /// # Errors
    /// No private folder can be made.
    pub(super) fn socket(&self, runtime: Option<&Path>, temp: &Path) -> io::Result<PathBuf> {
        let own = self.folder.join("host.sock");
        if own.as_os_str().len() <= SOCKET_PATH {
            return Ok(own);
        }
        let hash = self.name.get(..12).unwrap_or(&self.name);
        let private = format!("planwright-{}", rustix::process::getuid().as_raw());
        for base in runtime.into_iter().chain([temp]) {
            let folder = base.join(&private);
            let socket = folder.join(format!("{hash}.sock"));
            if socket.as_os_str().len() <= SOCKET_PATH && private_folder(&folder).is_ok() {
                return Ok(socket);
            }
        }
        Err(io::Error::new(io::ErrorKind::InvalidFilename, "no folder with a short path can hold the host's socket"))
    }
}

/// Makes a folder that only this user can enter, or checks that it is one. A link is not followed: in a shared temp
/// folder it may be another user's.
fn private_folder(folder: &Path) -> io::Result<()> {
    if let Some(parent) = folder.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let is = std::fs::symlink_metadata(folder)?;
    if !is.is_dir() || is.uid() != rustix::process::getuid().as_raw() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is not a folder of this user"));
    }
    if is.mode() & 0o077 != 0 {
        std::fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    }
    Ok(())
}
