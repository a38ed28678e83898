//! Why there is no profile.

use crate::capture::CaptureError;
use crate::find::NotFound;
use mage_evidence::Invalid;
use mage_evidence::store::StoreError;

/// Why there is no profile.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An option or a report holds what it may not.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// A file could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No Nsight Systems that works.
    #[error(transparent)]
    NotFound(#[from] NotFound),
    /// One capture went wrong.
    #[error("{case}: {source}")]
    Capture {
        /// `<operation>-<implementation>-<index>`.
        case: String,
        /// What went wrong.
        source: Box<CaptureError>,
    },
    /// Stopped from outside; nothing was published.
    #[error("interrupted; nothing was published")]
    Interrupted,
}
