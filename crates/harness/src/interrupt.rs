//! An interrupt ends a run between two steps, so that what is complete stays complete.

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The run was interrupted.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// From here on SIGINT and SIGTERM are noted and the run ends at its next step; a second one ends the
/// process at once.
///
/// # Errors
/// Where a handler is installed already.
pub fn install() -> anyhow::Result<()> {
    ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::SeqCst) {
            std::process::exit(i32::from(mage_workspace::exit::INTERRUPTED));
        }
        eprintln!("interrupted: ending after this step");
    })?;
    Ok(())
}

/// # Errors
/// [`Interrupted`] once an interrupt was noted.
pub fn check() -> Result<(), Interrupted> {
    if INTERRUPTED.load(Ordering::SeqCst) {
        return Err(Interrupted);
    }
    Ok(())
}
