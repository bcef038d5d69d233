//! Files that people hand over: saved snapshots (judged, too), evidence, baselines, `lockshift.toml`, CODEOWNERS.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lockshift::audit::accept::Baseline;
use lockshift::audit::expected::Expected;
use lockshift::audit::judge::{JudgeOptions, judge};
use lockshift::audit::snapshot::Snapshot;
use lockshift::config::Config;
use lockshift::migrate::evidence::Evidence;
use lockshift::repo::owners::Owners;

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = data.split_first() else { return };
    match choice % 4 {
        0 => {
            let Ok(text) = std::str::from_utf8(bytes) else { return };
            let Ok(snapshot) = Snapshot::from_json(text) else { return };
            let audit = judge(&snapshot, &Expected::default(), &JudgeOptions::default());
            assert_eq!(audit, judge(&snapshot, &Expected::default(), &JudgeOptions::default()));
            let written = snapshot.to_json().expect("what was read can be written");
            assert_eq!(Snapshot::from_json(&written).expect("what was written can be read"), snapshot);
        }
        1 => {
            let _ = Config::parse("lockshift.toml", &String::from_utf8_lossy(bytes));
        }
        2 => {
            let _ = Baseline::parse(bytes);
            if let Ok(evidence) = Evidence::parse(bytes) {
                evidence.stale(1_800_000_000);
                evidence.short(14);
            }
        }
        _ => {
            Owners::parse(&String::from_utf8_lossy(bytes)).owners_of_dir("a/b");
        }
    }
});
