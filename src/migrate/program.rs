//! The one place that starts programs and waits for them, and that ends the waiting: a program that says nothing more
//! (a repository can make `git` wait for ever) is ended with all that it started, and so is one that a signal to us
//! finds at work.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::interrupts::{self, Held};

/// How long an answer may take where nobody said otherwise. Searching a long history takes its time.
const USUAL_LIMIT: Duration = Duration::from_secs(120);

/// The same when another program was too late before.
const SECOND_LIMIT: Duration = Duration::from_secs(10);

/// For what is cleared away when all else has ended: somebody waits for the prompt.
const CLEANING_LIMIT: Duration = Duration::from_secs(30);

/// How often signals are looked for.
const TICK: Duration = Duration::from_millis(50);

/// How long a program has for taking its own lock files away.
const GRACE: Duration = Duration::from_secs(2);

static LIMIT: OnceLock<Duration> = OnceLock::new();

/// Sets how long an answer may take. Only the first time counts.
pub fn set_limit(limit: Duration) {
    let _ = LIMIT.set(limit);
}

/// A program did not answer in time. It will not be the last of this run, so the others have less.
static WAS_LATE: AtomicBool = AtomicBool::new(false);

fn usual_limit() -> Duration {
    let limit = LIMIT.get().copied().unwrap_or(USUAL_LIMIT);
    if WAS_LATE.load(Ordering::Relaxed) { limit.min(SECOND_LIMIT) } else { limit }
}

fn late(limit: Duration) -> NoAnswer {
    WAS_LATE.store(true, Ordering::Relaxed);
    NoAnswer::Late(limit)
}

/// On whose behalf a program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// It answers a question of ours: within a time, and nobody else has to do with it.
    Ours,
    /// It does what the user's own command would: hooks run as long as they run, and may ask at the terminal.
    Users,
    /// It clears away after us: signals don't stop it.
    Cleaning,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoAnswer {
    /// It could not be started, or not be waited for.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It took too long.
    #[error("no answer within {} s", .0.as_secs_f32())]
    Late(Duration),
    /// A signal to us came first.
    #[error("the run was interrupted")]
    Interrupted,
}

/// Runs a command with bytes on its stdin, which is closed otherwise, to its end or ours.
pub(super) fn output_of(
    command: &mut Command,
    stdin: Option<&[u8]>,
    whose: Whose,
) -> Result<Output, NoAnswer> {
    let began = Instant::now();
    let ran = run(command, stdin, whose, began);
    let ended = |output: &Output| output.status.to_string();
    tracing::info!(
        command = in_short(command),
        ended = ran.as_ref().map_or_else(ToString::to_string, ended),
        milliseconds = began.elapsed().as_millis(),
        "ran a program"
    );
    ran
}

fn run(
    command: &mut Command,
    stdin: Option<&[u8]>,
    whose: Whose,
    began: Instant,
) -> Result<Output, NoAnswer> {
    // What is in a group of its own hears no Ctrl-C: we stay until it has ended.
    let held = interrupts::hold()?;
    if whose != Whose::Cleaning && interrupts::heard() {
        return Err(NoAnswer::Interrupted);
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.stdin(if stdin.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut program = Program::start(command, whose, held)?;
    let limit = match whose {
        Whose::Ours => Some(usual_limit()),
        Whose::Users => None,
        Whose::Cleaning => Some(CLEANING_LIMIT),
    };
    let mut stops = || match limit {
        Some(limit) if began.elapsed() >= limit => Err(late(limit)),
        _ if whose != Whose::Cleaning && interrupts::heard() => Err(NoAnswer::Interrupted),
        _ => Ok(()),
    };
    let answer = program.answer(stdin, &mut stops);
    if answer.is_err() {
        program.end();
    }
    answer
}

/// A program at work.
struct Program {
    child: Child,
    has_own_group: bool,
    /// It was ended and waited for: its number may be another one's by now.
    is_over: bool,
    /// The last to go: see [`run`].
    _held: Held,
}

impl Program {
    fn start(command: &mut Command, whose: Whose, held: Held) -> io::Result<Self> {
        // Outside of the terminal's own group nothing can be typed, a passphrase for one.
        let has_own_group = whose != Whose::Users || !has_terminal();
        #[cfg(unix)]
        if has_own_group {
            std::os::unix::process::CommandExt::process_group(command, 0);
        }
        Ok(Self { child: command.spawn()?, has_own_group, is_over: false, _held: held })
    }

    /// Waits for the end of its output and its own. Whoever still holds the pipes then, in a group elsewhere, is not
    /// waited for longer than `stops` allows.
    fn answer(
        &mut self,
        stdin: Option<&[u8]>,
        stops: &mut dyn FnMut() -> Result<(), NoAnswer>,
    ) -> Result<Output, NoAnswer> {
        if let (Some(bytes), Some(mut pipe)) = (stdin.map(<[u8]>::to_vec), self.child.stdin.take()) {
            // A program that stops reading says why by itself.
            thread::Builder::new().spawn(move || pipe.write_all(&bytes))?;
        }
        let (tell, told) = mpsc::channel();
        let mut waiting = 0;
        if let Some(pipe) = self.child.stdout.take() {
            waiting += drain(pipe, &tell, true)?;
        }
        if let Some(pipe) = self.child.stderr.take() {
            waiting += drain(pipe, &tell, false)?;
        }
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        while waiting > 0 {
            match told.recv_timeout(TICK) {
                Ok((is_stdout, bytes)) => {
                    *(if is_stdout { &mut stdout } else { &mut stderr }) = bytes?;
                    waiting -= 1;
                }
                Err(RecvTimeoutError::Timeout) => stops()?,
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Output { status, stdout, stderr });
            }
            stops()?;
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Ends it and whatever it started: kindly first, so that it takes its lock files away.
    fn end(&mut self) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        #[cfg(unix)]
        {
            use rustix::process::{Pid, Signal};
            let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
            let send = |signal| {
                if let Some(pid) = pid {
                    let _ = match self.has_own_group {
                        true => rustix::process::kill_process_group(pid, signal),
                        false => rustix::process::kill_process(pid, signal),
                    };
                }
            };
            send(Signal::TERM);
            let began = Instant::now();
            while began.elapsed() < GRACE && !pid.is_none_or(has_ended) {
                thread::sleep(Duration::from_millis(5));
            }
            // Not waited for yet, so the number is still its own. Others of its group may have stayed.
            send(Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads a pipe to its end, aside.
fn drain(
    mut pipe: impl Read + Send + 'static,
    tell: &mpsc::Sender<(bool, io::Result<Vec<u8>>)>,
    is_stdout: bool,
) -> io::Result<usize> {
    let tell = tell.clone();
    thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.read_to_end(&mut bytes).map(|_| bytes);
        // Nobody may wait for it any more.
        let _ = tell.send((is_stdout, read));
    })?;
    Ok(1)
}

/// Whether it has ended; it stays to be waited for.
#[cfg(unix)]
fn has_ended(pid: rustix::process::Pid) -> bool {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::Pid(pid), options), Ok(None))
}

/// Whether somebody could type something.
fn has_terminal() -> bool {
    cfg!(unix) && std::fs::File::open("/dev/tty").is_ok()
}

/// A program that answers one question after the other, each within a time.
pub(super) struct Answering {
    /// Where to ask.
    pub asks: ChildStdin,
    /// Where the answers come from.
    pub answers: io::BufReader<ChildStdout>,
    watch: Arc<Mutex<Watch>>,
}

/// What a watchman knows of a program.
struct Watch {
    program: Option<Program>,
    /// Since when it owes an answer.
    asked: Option<Instant>,
    /// Why it was ended.
    why: Option<NoAnswer>,
}

impl Answering {
    /// Starts it, with somebody to watch it.
    pub fn start(command: &mut Command) -> Result<Self, NoAnswer> {
        let held = interrupts::hold()?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut program = Program::start(command, Whose::Ours, held)?;
        let (asks, answers) = (program.child.stdin.take(), program.child.stdout.take());
        let watch = Arc::new(Mutex::new(Watch { program: Some(program), asked: None, why: None }));
        let (Some(asks), Some(answers)) = (asks, answers) else {
            return Err(io::Error::other("it has no pipes").into());
        };
        let watched = Arc::clone(&watch);
        thread::Builder::new().spawn(move || {
            while lock(&watched).goes_on() {
                thread::sleep(TICK);
            }
        })?;
        Ok(Self { asks, answers: io::BufReader::new(answers), watch })
    }

    /// One question and its answer. What the pipes say of a program that was ended is not the reason for it.
    pub fn ask<T>(&mut self, question: impl FnOnce(&mut Self) -> io::Result<T>) -> Result<T, NoAnswer> {
        lock(&self.watch).asked = Some(Instant::now());
        let answer = question(self);
        let mut watch = lock(&self.watch);
        watch.asked = None;
        answer.map_err(|error| watch.why.take().unwrap_or(NoAnswer::Io(error)))
    }
}

impl Watch {
    /// Looks once. Whether to look again.
    fn goes_on(&mut self) -> bool {
        let (Some(program), Some(asked)) = (&mut self.program, self.asked) else {
            return self.program.is_some();
        };
        self.why = match usual_limit() {
            limit if asked.elapsed() >= limit => Some(late(limit)),
            _ if interrupts::heard() => Some(NoAnswer::Interrupted),
            _ => return true,
        };
        program.end();
        false
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        // It only reads; there is nothing that it could leave half done.
        if let Some(mut program) = lock(&self.watch).program.take() {
            program.end();
        }
    }
}

fn lock(watch: &Mutex<Watch>) -> std::sync::MutexGuard<'_, Watch> {
    watch.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A command as a log shows it: without the settings that all of ours have (`-c`), long words (a pull request's text)
/// cut.
fn in_short(command: &Command) -> String {
    let mut words = Vec::new();
    let mut all = std::iter::once(command.get_program()).chain(command.get_args());
    while let Some(word) = all.next() {
        if word == "-c" {
            all.next();
            continue;
        }
        let word = word.to_string_lossy();
        let kept: String = word.chars().take(80).collect();
        words.push(if kept.len() < word.len() { format!("{kept}…") } else { kept });
    }
    words.join(" ")
}
