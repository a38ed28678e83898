//! A directory that is complete or absent: filled under a temporary name, renamed at the end.

use mage_evidence::error::Invalid;
use mage_evidence::store::{self, StoreError, io_error};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A directory being filled as `<name>.partial`; [`NewDirectory::publish`] gives it its name. It is locked as long as
/// this value lives; a process that is killed leaves no lock behind.
///
/// Dropped without being published, it stays as it is: what was complete is kept and nothing is published.
#[derive(Debug)]
pub struct NewDirectory {
    name: PathBuf,
    partial: PathBuf,
    _lock: File,
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
        Self::locked(name, partial)
    }

    /// Goes on with the directory that an earlier attempt left.
    ///
    /// # Errors
    /// As [`NewDirectory::check_resumable`].
    pub fn resume(name: &Path) -> Result<Self, StoreError> {
        Self::check_resumable(name)?;
        let this = Self::locked(name, partial(name))?;
        // Another run may have published it before the lock was had.
        Self::check_resumable_locked(name)?;
        Ok(this)
    }

    /// Starts a new directory in the place of what an interrupted attempt left, if it left any: that is removed.
    ///
    /// # Errors
    /// As [`NewDirectory::create`], and where somebody works on what is there.
    pub fn replace(name: &Path) -> Result<Self, StoreError> {
        if partial(name).exists() && !name.exists() {
            discard(Self::locked(name, partial(name))?)?;
        }
        Self::create(name)
    }

    fn locked(name: &Path, partial: PathBuf) -> Result<Self, StoreError> {
        let file = File::open(&partial).map_err(io_error("open", &partial))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self {
                name: name.to_path_buf(),
                partial,
                _lock: file,
            }),
            Err(Errno::WOULDBLOCK) => Err(going_on(&partial).into()),
            Err(error) => Err(io_error("lock", &partial)(error.into())),
        }
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
            // That nobody holds the lock is what the question was about.
            drop(Self::locked(name, partial.clone())?);
            return Err(Invalid::new(
                "",
                "what an interrupted run left",
                "no such directory",
            )
            .help("go on with it with --resume, or start again with --replace, whichever the program has; or look at what it holds and remove it")
            .in_file(&partial)
            .into());
        }
        Ok(())
    }

    /// Refuses a name under which no attempt was left that nobody works on.
    ///
    /// # Errors
    /// [`StoreError`] saying what to do.
    pub fn check_resumable(name: &Path) -> Result<(), StoreError> {
        Self::check_resumable_locked(name)?;
        drop(Self::locked(name, partial(name))?);
        Ok(())
    }

    fn check_resumable_locked(name: &Path) -> Result<(), StoreError> {
        let (found, help) = if name.exists() {
            ("a run that is complete", "nothing is left to be done")
        } else if !partial(name).is_dir() {
            ("no such directory", "start without --resume")
        } else {
            return Ok(());
        };
        let expected = "what an interrupted run left";
        let file = match name.exists() {
            true => name.to_path_buf(),
            false => partial(name),
        };
        Err(Invalid::new("", found, expected)
            .help(help)
            .in_file(&file)
            .into())
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

fn going_on(partial: &Path) -> Invalid {
    Invalid::new(
        "",
        "a run that is going on",
        "no other run into this directory",
    )
    .help("wait until it has ended, or choose another --namespace or --output")
    .in_file(partial)
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

/// Removes the temporary files that writes left in `directory` when they were cut short.
///
/// # Errors
/// Names a file that is neither one of those nor `known`; nothing of anybody else's is removed.
pub fn remove_cut_writes(directory: &Path, known: &[&str]) -> Result<(), StoreError> {
    for entry in std::fs::read_dir(directory).map_err(io_error("list", directory))? {
        let entry = entry.map_err(io_error("list", directory))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if known.contains(&name.as_str()) {
            continue;
        }
        let path = entry.path();
        if !name.starts_with(store::TEMPORARY) {
            return Err(
                Invalid::new("", "a file that no run of this plan leaves", "none")
                    .help("look at what it is, then remove the directory and start again")
                    .in_file(&path)
                    .into(),
            );
        }
        std::fs::remove_file(&path).map_err(io_error("remove", &path))?;
    }
    Ok(())
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

    #[test]
    fn one_run_at_a_time_works_on_a_directory() {
        let parent = tempfile::tempdir().unwrap();
        let name = parent.path().join("run");
        let none = NewDirectory::resume(&name).unwrap_err().to_string();
        assert!(none.contains("start without --resume"), "{none}");
        let first = NewDirectory::create(&name).unwrap();
        for attempt in [
            NewDirectory::create(&name),
            NewDirectory::resume(&name),
            NewDirectory::check_free(&name).map(|()| unreachable!()),
        ] {
            let error = attempt.unwrap_err().to_string();
            assert!(error.contains("a run that is going on"), "{error}");
        }
        drop(first);
        let left = NewDirectory::create(&name).unwrap_err().to_string();
        assert!(left.contains("what an interrupted run left") && left.contains("--resume"));
        let resumed = NewDirectory::resume(&name).unwrap();
        assert!(NewDirectory::resume(&name).is_err());
        resumed.publish().unwrap();
        let complete = NewDirectory::resume(&name).unwrap_err().to_string();
        assert!(complete.contains("a run that is complete"), "{complete}");
    }

    #[test]
    fn what_an_interrupted_attempt_left_is_replaced_and_nothing_else_is() {
        let parent = tempfile::tempdir().unwrap();
        let name = parent.path().join("run");
        let first = NewDirectory::replace(&name).unwrap();
        std::fs::write(first.path().join("a"), "1").unwrap();
        let busy = NewDirectory::replace(&name).unwrap_err().to_string();
        assert!(busy.contains("a run that is going on"), "{busy}");
        assert!(first.path().join("a").exists());
        drop(first);
        let second = NewDirectory::replace(&name).unwrap();
        assert!(!second.path().join("a").exists());
        std::fs::write(second.path().join("b"), "1").unwrap();
        second.publish().unwrap();
        let complete = NewDirectory::replace(&name).unwrap_err().to_string();
        assert!(complete.contains("an earlier run"), "{complete}");
        assert!(name.join("b").exists());
    }

    #[test]
    fn a_place_where_nothing_can_be_made_is_named() {
        let parent = tempfile::tempdir().unwrap();
        let file = parent.path().join("file");
        std::fs::write(&file, "").unwrap();
        let error = NewDirectory::create(&file.join("run"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("file: cannot create the directory"),
            "{error}"
        );
    }
}
