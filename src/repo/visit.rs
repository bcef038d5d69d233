//! Reading one directory's files: what each of them promises decides whether it is read closer, at once, once something
//! is known to run beside it, or once it is known to call something that runs. Here the files of the walk are opened.

use std::io;
use std::sync::{Mutex, PoisonError};

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};

use super::bounded;
use super::buffer::Buffer;
use super::class::{FileClass, Promise, class_in, local_sources, promise};
use super::facts::{FileFacts, FileId, ReadFile};
use super::problem::{Problem, ProblemKind};
use super::read::read_file;
use super::root_module::is_tofu_file;
use super::shown::{resolve, through_links};
use super::text::{Place, Span, is_wide};
use super::walk::{self, Candidate, Found};

/// Bytes of one file that are read at most. Larger configuration is a problem, never a silence.
pub const MAX_FILE: usize = 64 * 1024 * 1024;

/// Reads one directory's files.
pub(super) fn visit(files: &[Candidate<'_>], found: &mut Found<Box<FileFacts>>, callers: &Callers) {
    SPACE.with_borrow_mut(|Space { buffer, context, waiting }| {
        let before = found.kept.len();
        for (number, file) in files.iter().enumerate() {
            match read(file, buffer) {
                Ok(Read::Nothing) => {}
                Ok(Read::Facts(facts)) => found.kept.push((file.id(), Box::new(facts))),
                Ok(Read::Context) => {
                    let start = context.len();
                    context.extend_from_slice(buffer.bytes());
                    waiting.push((number, Span::new(start, context.len())));
                }
                Err(problem) => found.problems.push(problem),
            }
            buffer.shrink();
        }
        // Most directories are modules: nothing runs in them, and nobody asks which versions they take.
        let runs = found.kept.iter().skip(before).any(|(_, facts)| runs(facts));
        for (number, bytes) in waiting.iter() {
            let Some(file) = files.get(*number) else { continue };
            let bytes = bytes.of(context);
            match local_sources(bytes).filter(|_| !runs) {
                Some(sources) => callers.note(file, &sources),
                None => {
                    let id = file.id();
                    let facts = read_file(&id.path, FileClass::Module, bytes);
                    found.kept.extend(facts.map(|facts| (id, Box::new(facts))));
                }
            }
        }
        waiting.clear();
        context.clear();
        context.shrink_to(KEPT_SPACE);
    });
}

/// Module files that matter only where they call a module with a backend, which the walk may come by later.
#[derive(Default)]
pub(super) struct Callers(Mutex<Vec<Caller>>);

struct Caller {
    id: FileId,
    /// What may be sources of local modules.
    sources: Vec<String>,
}

impl Callers {
    /// Notes a file, if it may call a local module.
    fn note(&self, file: &Candidate<'_>, sources: &[&str]) {
        if !sources.is_empty() {
            let sources = sources.iter().map(|source| (*source).to_owned()).collect();
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Caller { id: file.id(), sources });
        }
    }

    /// Reads those that may call a directory in which something runs.
    pub(super) fn read(self, kept: &mut Vec<ReadFile>, dir_links: &[(String, String)]) {
        let callers = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        if callers.is_empty() {
            return;
        }
        let run_in = kept.par_iter().with_min_len(256).filter(|(_, facts)| runs(facts));
        let mut run_in: Vec<&str> = run_in.map(|(id, _)| id.dir()).collect();
        run_in.sort_unstable();
        let matters = |Caller { id, sources }: &Caller| {
            let mut called = sources.iter().filter_map(|source| resolve(id.dir(), source));
            called.any(|dir| run_in.binary_search(&through_links(dir, dir_links).as_str()).is_ok())
        };
        let callers = callers.into_par_iter().with_min_len(64);
        let read: Vec<ReadFile> =
            callers.filter(matters).filter_map(|caller| read_again(caller.id)).collect();
        if !read.is_empty() {
            kept.extend(read);
            walk::put_in_order(kept);
        }
    }
}

fn read_again(id: FileId) -> Option<ReadFile> {
    let facts = match bounded::read(&id.os_path, MAX_FILE) {
        Ok(bytes) => read_file(&id.path, FileClass::Module, &bytes)?,
        Err(error) => FileFacts { problems: vec![unreadable(&id.path, &error)], ..FileFacts::default() },
    };
    Some((id, Box::new(facts)))
}

/// Whether a directory with this file is one that Terraform, OpenTofu or Terragrunt is run in.
pub(super) fn runs(facts: &FileFacts) -> bool {
    facts.terragrunt.is_some() || facts.module.as_ref().is_some_and(|module| !module.backends.is_empty())
}

/// What one file says.
#[expect(
    clippy::large_enum_variant,
    reason = "one at a time, and moved once: a box would only be one more allocation"
)]
enum Read {
    Nothing,
    Facts(FileFacts),
    /// Nothing that matters by itself; its bytes are in the buffer.
    Context,
}

fn read(file: &Candidate<'_>, buffer: &mut Buffer) -> Result<Read, Problem> {
    let name = file.name();
    let class = class_in(file.dir(), &name);
    if class == FileClass::Skip {
        return Ok(Read::Nothing);
    }
    let path = || walk::join(file.dir(), &name);
    let whole = file.read(buffer, MAX_FILE).map_err(|error| unreadable(&path(), &error))?;
    let bytes = buffer.bytes();
    tracing::debug!(file = path(), bytes = bytes.len(), "read");
    // For OpenTofu a `.tofu` file stands in the place of the `.tf` file of the same name, whatever it says.
    let promise = if is_tofu_file(&name) { Promise::Facts } else { promise(class, bytes) };
    if !whole && (class.is_configuration() || promise != Promise::Nothing) {
        return Err(too_large(&path()));
    }
    let is_text = !bytes.starts_with(b"\0") && !is_wide(bytes);
    let read = match promise {
        Promise::Context if is_text && bytes.len() <= KEPT_SPACE => Read::Context,
        // Nothing is allocated for a file that does not matter: most do not.
        Promise::Nothing if is_text => Read::Nothing,
        _ => read_file(&path(), class, bytes).map_or(Read::Nothing, Read::Facts),
    };
    Ok(match read {
        // A flat file that says nothing by itself is kept until it is known whether a call names it.
        Read::Nothing if class == FileClass::Flat => Read::Facts(FileFacts::default()),
        read => read,
    })
}

/// What one thread reads into.
#[derive(Default)]
struct Space {
    buffer: Buffer,
    /// Files of one directory that wait for whether something runs there, one after the other.
    context: Vec<u8>,
    /// Which of the directory's files these are, and where each stands.
    waiting: Vec<(usize, Span)>,
}

/// More than this is given back after a directory.
const KEPT_SPACE: usize = 1024 * 1024;

thread_local! {
    static SPACE: std::cell::RefCell<Space> = {
        take_space_at_once();
        std::cell::RefCell::new(Space::default())
    };
}

/// What is kept of files is many small texts. glibc's allocator gives every thread but the first one its own space and
/// lets it grow by a page at a time, one call of the system each; space that it had once it keeps. The first block is
/// mapped by itself, which teaches the allocator that blocks of this size are usual; the second one comes from the
/// thread's own space. Nothing is written to it, so it takes no memory; other allocators pass over this.
fn take_space_at_once() {
    const SPACE: usize = 16 * 1024 * 1024;
    for _ in 0..2 {
        let mut space: Vec<u8> = Vec::new();
        // Where there is no such space, none is needed.
        let _ = space.try_reserve_exact(SPACE);
        std::hint::black_box(space);
    }
}

pub(super) fn unreadable(path: &str, error: &io::Error) -> Problem {
    Problem {
        kind: ProblemKind::Unreadable,
        place: Place { file: path.to_owned(), line: 1, column: 1 },
        message: format!("could not be read ({error}); what it sets is not known"),
        excerpt: None,
    }
}

pub(super) fn too_large(path: &str) -> Problem {
    Problem {
        kind: ProblemKind::TooLarge,
        place: Place { file: path.to_owned(), line: 1, column: 1 },
        message: format!(
            "is larger than {} MiB and could hold settings; check it by hand or exclude it",
            MAX_FILE / (1024 * 1024)
        ),
        excerpt: None,
    }
}
