//! Ctrl-C, cancelled jobs, closed terminals: as ever they end the program at once, but not while something is held that
//! must not be cut in half, or must not stay behind. Then they wait until it is let go of.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What the whole program knows of its signals.
#[derive(Debug, Default)]
struct State {
    /// A signal ends the program right now.
    may_end: Arc<AtomicBool>,
    /// The number of one that came; 0 for none.
    heard: Arc<AtomicUsize>,
    /// How many hold.
    held: Mutex<usize>,
}

static STATE: OnceLock<Result<State, String>> = OnceLock::new();

/// Begins to listen, for as long as the program runs. Whatever nobody holds against still ends it.
///
/// # Errors
/// Where the system allows no handler.
pub fn listen() -> io::Result<()> {
    state().map(drop)
}

fn state() -> io::Result<&'static State> {
    let begin = || State::listening().map_err(|error| format!("signals can't be handled: {error}"));
    STATE.get_or_init(begin).as_ref().map_err(|why| io::Error::other(why.clone()))
}

impl State {
    fn listening() -> io::Result<Self> {
        let state = Self { may_end: Arc::new(AtomicBool::new(true)), ..Self::default() };
        #[cfg(unix)]
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP]
        {
            // `nohup` means it: who was started to pass over a signal goes on doing so.
            if is_ignored(signal) {
                continue;
            }
            let number = usize::try_from(signal).unwrap_or_default();
            signal_hook::flag::register_usize(signal, Arc::clone(&state.heard), number)?;
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&state.may_end))?;
        }
        Ok(state)
    }

    /// Whether it was the last that held.
    fn let_go(&self) -> bool {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        *held = held.saturating_sub(1);
        if *held == 0 {
            self.may_end.store(true, Ordering::SeqCst);
        }
        *held == 0
    }
}

/// As long as one of these is there, a signal waits. When the last goes, one that came ends the program as if it had
/// come then.
#[derive(Debug)]
pub struct Held {
    state: &'static State,
    ends: bool,
}

/// Makes signals wait.
///
/// # Errors
/// Where the system allows no handler: then nothing should be begun that must not be cut in half.
pub fn hold() -> io::Result<Held> {
    let state = state()?;
    let mut held = state.held.lock().unwrap_or_else(PoisonError::into_inner);
    *held += 1;
    state.may_end.store(false, Ordering::SeqCst);
    drop(held);
    Ok(Held { state, ends: true })
}

impl Held {
    /// Lets go without ending the program: who asks [`heard`] afterwards says first what was done.
    pub fn and_go_on(mut self) {
        self.ends = false;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let was_last = self.state.let_go();
        #[cfg(unix)]
        if let (true, true, Ok(signal @ 1..)) =
            (was_last, self.ends, i32::try_from(self.state.heard.load(Ordering::SeqCst)))
        {
            // Whoever started us sees that it was the signal.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
        #[cfg(not(unix))]
        let _ = was_last;
    }
}

/// Whether a signal came while something was held: nothing new should be begun.
pub fn heard() -> bool {
    matches!(STATE.get(), Some(Ok(state)) if state.heard.load(Ordering::SeqCst) != 0)
}

#[cfg(target_os = "linux")]
fn is_ignored(signal: i32) -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores(&status, signal))
}

/// Nothing there says it without unsafe code.
#[cfg(all(unix, not(target_os = "linux")))]
fn is_ignored(_signal: i32) -> bool {
    false
}

/// What a process's `status` says of a signal: `SigIgn` has a bit for each, the first for number 1.
#[cfg(target_os = "linux")]
fn ignores(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    u32::try_from(signal - 1).is_ok_and(|bit| mask.checked_shr(bit).unwrap_or_default() & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_wait_until_the_last_lets_go() {
        let state = state().unwrap();
        let (first, second) = (hold().unwrap(), hold().unwrap());
        assert!(!state.may_end.load(Ordering::SeqCst));
        drop(first);
        assert!(!state.may_end.load(Ordering::SeqCst));
        second.and_go_on();
        // Other tests of this program may hold at the same time.
        assert_eq!(state.may_end.load(Ordering::SeqCst), *state.held.lock().unwrap() == 0);
        assert!(!heard());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_mask_of_ignored_signals_is_read_from_its_first_bit() {
        let status =
            "Name:\tx\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000004001\nSigCgt:\tffffffffffffffff\n";
        assert_eq!(
            [1, 2, 14, 15, 16].map(|signal| ignores(status, signal)),
            [true, false, false, true, false]
        );
        assert!(!ignores("", 2));
    }
}
