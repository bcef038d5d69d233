//! A line on stderr that says how far long work is. Quiet for short ones, and where stderr is no terminal.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget};

use crate::repo::walk::Progress;
use crate::report::words::visible;

/// Work that takes less than this says nothing.
const LONG: Duration = Duration::from_millis(700);

/// The line, once it is worth showing.
pub(super) struct Line {
    began: Instant,
    quiet: bool,
    bar: OnceLock<ProgressBar>,
}

impl Line {
    /// A line that shows itself after a while; never when `quiet`.
    pub fn new(quiet: bool) -> Self {
        Self { began: Instant::now(), quiet, bar: OnceLock::new() }
    }

    /// Takes the line away.
    pub fn finish(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

impl Line {
    /// Shows how far the work is, once it has taken long enough to be worth it.
    pub fn say(&self, text: &str) {
        if self.quiet || self.began.elapsed() < LONG {
            return;
        }
        // indicatif draws nothing where stderr is no terminal.
        let bar = self.bar.get_or_init(|| ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()));
        bar.set_message(visible(text).into_owned());
        bar.tick();
    }
}

impl Progress for Line {
    fn files(&self, seen: u64) {
        self.say(&format!("{seen} files"));
    }
}
