//! What runs now and what is left, on standard error.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;

/// A progress bar on a terminal; elsewhere one line a step.
pub struct Progress {
    bar: Option<ProgressBar>,
    total: u64,
    done: u64,
}

impl Progress {
    /// Progress over `total` steps.
    pub fn new(total: u64) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template(
                "{bar:30} {pos}/{len}  {msg}  [{elapsed_precise}, {eta} left]",
            );
            let bar = ProgressBar::new(total);
            match style {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        Self {
            bar,
            total,
            done: 0,
        }
    }

    /// Says what runs now.
    pub fn step(&mut self, what: &str) {
        match &self.bar {
            Some(bar) => {
                bar.set_position(self.done);
                bar.set_message(what.to_string());
            }
            None => eprintln!("[{}/{}] {what}", self.done + 1, self.total),
        }
        self.done += 1;
    }

    /// Takes the bar away.
    pub fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
