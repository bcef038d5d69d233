//! Ctrl-C and cancelled jobs: outside of a write they end the program as ever; inside one they wait until it is known
//! what was done.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Listens for as long as the program runs.
#[derive(Debug, Clone)]
pub struct Interrupts {
    /// An interrupt ends the program right now.
    may_end: Arc<AtomicBool>,
    /// One came.
    heard: Arc<AtomicBool>,
}

impl Interrupts {
    /// Begins to listen. Until [`Interrupts::holding`], an interrupt ends the program.
    ///
    /// # Errors
    /// Where the system allows no handler.
    pub fn listen() -> std::io::Result<Self> {
        let listening =
            Self { may_end: Arc::new(AtomicBool::new(true)), heard: Arc::new(AtomicBool::new(false)) };
        #[cfg(unix)]
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&listening.heard))?;
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&listening.may_end))?;
        }
        Ok(listening)
    }

    /// Does something that must not be cut in half.
    pub fn holding<T>(&self, work: impl FnOnce() -> T) -> T {
        self.may_end.store(false, Ordering::SeqCst);
        let done = work();
        self.may_end.store(true, Ordering::SeqCst);
        done
    }

    /// Whether one came while something was held: nothing new should be begun.
    pub fn heard(&self) -> bool {
        self.heard.load(Ordering::SeqCst)
    }
}
