//! Why there is no profile.

use crate::capture::CaptureError;
use crate::counters::CounterError;
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
    /// No Nsight Compute that works.
    #[error("hardware counters are not available here: {0}")]
    NotAvailable(String),
    /// The counters of one case could not be read.
    #[error("{case}: {source}")]
    Counters {
        /// `<operation>-<implementation>`, or the limits.
        case: String,
        /// What went wrong.
        source: Box<CounterError>,
    },
    /// Stopped from outside; nothing was published.
    #[error("interrupted; nothing was published")]
    Interrupted,
}

/// Whether this error is that of a machine without a profiler that works. It looks at no source.
pub fn is_no_profiler(error: &(dyn std::error::Error + 'static)) -> bool {
    error.is::<NotFound>()
        || matches!(
            error.downcast_ref::<Error>(),
            Some(Error::NotFound(_) | Error::NotAvailable(_))
        )
}
