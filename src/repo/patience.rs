//! For tests of hostile text: how long the processor was busy with it. A square in the work shows as minutes; a machine
//! that is busy with something else does not show at all.

use std::time::Duration;

/// Processor time that this thread has taken so far. Elsewhere than on Linux none: there such a test only ends late.
pub(crate) fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or_default())
}

#[test]
fn work_takes_processor_time_and_waiting_takes_none() {
    let begun = processor_time();
    std::thread::sleep(Duration::from_millis(20));
    let waited = processor_time() - begun;
    let work: u64 = (0..20_000_000_u64).fold(0, |all, next| std::hint::black_box(all ^ next));
    std::hint::black_box(work);
    let worked = processor_time() - begun - waited;
    assert!(!cfg!(target_os = "linux") || worked > waited, "{worked:?} and {waited:?}");
}
