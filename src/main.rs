//! Arguments in, exit code out. Everything else is in the library.

use std::process::ExitCode;

/// musl's own allocator makes threads wait for each other.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    lockshift::cli::run(std::env::args_os())
}
