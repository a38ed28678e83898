//! Standard output that a reader may leave before its end, as `head` does.

use std::fmt;
use std::io::{ErrorKind, Write as _};

/// Writes to standard output. A reader that went away is no failure: what is left goes nowhere, and the program goes on to
/// its end and its exit status. Any other error ends it with 1.
pub fn print(text: fmt::Arguments<'_>) {
    match std::io::stdout().lock().write_fmt(text) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        Err(error) => {
            eprintln!("standard output: cannot write: {error}");
            std::process::exit(i32::from(crate::exit::FAILED));
        }
    }
}

/// [`std::print`] through [`print`].
#[macro_export]
macro_rules! out {
    ($($text:tt)*) => { $crate::output::print(format_args!($($text)*)) };
}

/// [`std::println`] through [`print`].
#[macro_export]
macro_rules! outln {
    ($($text:tt)*) => { $crate::output::print(format_args!("{}\n", format_args!($($text)*))) };
}
