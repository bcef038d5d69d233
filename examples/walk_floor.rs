//! The floor of a scan: the same walk over the same files, every byte read, nothing looked at. `scripts/bench_scan`
//! divides the scan's time by this one's.

use std::error::Error;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use lockshift::repo::buffer::Buffer;
use lockshift::repo::class::{FileClass, class_in};
use lockshift::repo::walk::{Candidate, Found, Silent, WalkOptions, walk};

/// Larger files than this are not read whole by a scan either.
const LIMIT: usize = 64 * 1024 * 1024;

fn main() -> Result<(), Box<dyn Error>> {
    let paths = std::env::args_os().skip(1).map(Into::into).collect();
    let options = WalkOptions { paths, ..WalkOptions::default() };
    let bytes = AtomicU64::new(0);
    let read = |files: &[Candidate<'_>], _: &mut Found<()>| {
        thread_local! {
            static BUFFER: std::cell::RefCell<Buffer> = std::cell::RefCell::new(Buffer::default());
        }
        BUFFER.with_borrow_mut(|buffer| {
            for file in files.iter().filter(|file| class_in(file.dir(), &file.name()) != FileClass::Skip) {
                // A file that can't be read costs nothing; the scan is where that matters.
                let _ = file.read(buffer, LIMIT);
                bytes.fetch_add(buffer.bytes().len() as u64, Ordering::Relaxed);
            }
        });
    };
    let walked = walk(&options, &|_| false, &Silent, &read)?;
    writeln!(std::io::stdout(), "{} files, {} bytes read", walked.files, bytes.load(Ordering::Relaxed))?;
    Ok(())
}
