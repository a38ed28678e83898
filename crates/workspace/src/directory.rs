//! A directory that is complete or absent: filled under a temporary name, renamed at the end.

use mage_evidence::error::Invalid;
use mage_evidence::store::{StoreError, io_error};
use std::path::{Path, PathBuf};

/// A directory being filled as `<name>.partial`; [`NewDirectory::publish`] gives it its name.
///
/// Dropped without that, it stays as it is: what was complete is kept and nothing is published.
#[derive(Debug)]
pub struct NewDirectory {
    name: PathBuf,
    partial: PathBuf,
}

impl NewDirectory {
    /// Starts a new directory.
    ///
    /// # Errors
    /// [`StoreError`] where `name` exists, where an earlier attempt was left, or where the system
    /// refuses.
    pub fn create(name: &Path) -> Result<Self, StoreError> {
        Self::check_free(name)?;
        let partial = partial(name);
        if let Some(parent) = name.parent() {
            std::fs::create_dir_all(parent).map_err(io_error("create the directory", parent))?;
        }
        std::fs::create_dir(&partial).map_err(io_error("create the directory", &partial))?;
        Ok(Self {
            name: name.to_path_buf(),
            partial,
        })
    }

    /// Refuses a name that is taken, or that an earlier attempt was left under.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] saying what to do.
    pub fn check_free(name: &Path) -> Result<(), StoreError> {
        if name.exists() {
            return Err(
                Invalid::new("", "a directory of an earlier run", "a new name")
                    .help("choose another --namespace or --output, or move it away")
                    .in_file(name)
                    .into(),
            );
        }
        let partial = partial(name);
        if partial.exists() {
            return Err(Invalid::new(
                "",
                "what an interrupted run left, or a run that is going on",
                "no such directory",
            )
            .help("if no run is going on, look at what it holds, then remove it")
            .in_file(&partial)
            .into());
        }
        Ok(())
    }

    /// Where to write until it is published.
    pub fn path(&self) -> &Path {
        &self.partial
    }

    /// Gives the directory its name.
    ///
    /// # Errors
    /// [`StoreError`] where the name was taken meanwhile or the system refuses.
    pub fn publish(self) -> Result<PathBuf, StoreError> {
        if self.name.exists() {
            return Err(
                Invalid::new("", "a directory that appeared meanwhile", "a new name")
                    .help(format!("the finished run is in {}", self.partial.display()))
                    .in_file(&self.name)
                    .into(),
            );
        }
        std::fs::rename(&self.partial, &self.name).map_err(io_error("rename to", &self.name))?;
        Ok(self.name)
    }
}

fn partial(name: &Path) -> PathBuf {
    let mut partial = name.as_os_str().to_owned();
    partial.push(".partial");
    PathBuf::from(partial)
}

/// Removes a directory started with [`NewDirectory::create`], after a failure that leaves nothing worth
/// keeping.
///
/// # Errors
/// [`StoreError`] where the system refuses.
pub fn discard(directory: NewDirectory) -> Result<(), StoreError> {
    std::fs::remove_dir_all(&directory.partial).map_err(io_error("remove", &directory.partial))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_appears_whole_and_once() {
        let parent = tempfile::tempdir().unwrap();
        let name = parent.path().join("run");
        let new = NewDirectory::create(&name).unwrap();
        std::fs::write(new.path().join("a"), "1").unwrap();
        assert!(!name.exists());
        let second = NewDirectory::create(&name).unwrap_err().to_string();
        assert!(second.contains("run.partial"), "{second}");
        assert_eq!(new.publish().unwrap(), name);
        assert!(name.join("a").exists());
        let third = NewDirectory::create(&name).unwrap_err().to_string();
        assert!(third.contains("--namespace"), "{third}");
    }

    #[test]
    fn discarding_leaves_nothing() {
        let parent = tempfile::tempdir().unwrap();
        let new = NewDirectory::create(&parent.path().join("deep/run")).unwrap();
        let partial = new.path().to_path_buf();
        discard(new).unwrap();
        assert!(!partial.exists());
    }
}
