//! The floor of a scan: walk, and read every file that a scan reads; parse nothing. A benchmark compares `lockshift
//! scan` with this on the same tree.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use lockshift::repo::class::{FileClass, class_of};
use lockshift::repo::walk::{self, Candidate, Silent, WalkOptions};

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let options = WalkOptions { paths, ..WalkOptions::default() };
    let bytes = AtomicU64::new(0);
    let visit = |file: &Candidate<'_>| {
        let name = file.name();
        if class_of(&walk::join(file.dir(), &name), &name) != FileClass::Skip {
            BUFFER.with_borrow_mut(|buffer| {
                if file.read(buffer, usize::MAX).is_ok() {
                    bytes.fetch_add(buffer.len() as u64, Ordering::Relaxed);
                }
            });
        }
        Ok(None::<()>)
    };
    let walked = walk::walk(&options, &|_| false, &Silent, &visit)?;
    eprintln!("{} files, {} bytes", walked.files, bytes.into_inner());
    Ok(())
}
