//! What several fuzz targets need.

use lockshift::repo::class::class_of;
use lockshift::repo::facts::FileFacts;
use lockshift::repo::read::read_file;

/// Reads bytes under a name that the first byte chooses, and holds every place and span to the file.
pub fn read_as_one_of(names: &[&str], data: &[u8]) {
    let Some((choice, bytes)) = data.split_first() else { return };
    let Some(path) = names.get(usize::from(*choice) % names.len()) else { return };
    let name = path.rsplit('/').next().unwrap_or(path);
    if let Some(facts) = read_file(path, class_of(path, name), bytes) {
        places_are_in_the_file(&facts, bytes);
    }
}

/// An editor must be able to go to every place, and an edit to cut at every span.
pub fn places_are_in_the_file(facts: &FileFacts, bytes: &[u8]) {
    let lines = 1 + bytes.iter().filter(|byte| **byte == b'\n').count();
    let blocks = facts.module.iter().flat_map(|module| module.backends.iter().map(|block| &block.source));
    for source in blocks.chain(&facts.sources) {
        assert!((1..=lines).contains(&source.place.line), "{:?} of {lines} lines", source.place);
        for span in [source.span, source.body] {
            assert!(span.start <= span.end && span.end <= bytes.len(), "{span:?} of {}", bytes.len());
        }
        for setting in &source.settings {
            for span in [setting.span, setting.name_span, setting.value_span] {
                assert!(span.start <= span.end && span.end <= bytes.len(), "{} {span:?}", setting.name);
            }
        }
    }
    for problem in &facts.problems {
        assert!((1..=lines).contains(&problem.place.line), "{:?} of {lines} lines", problem.place);
    }
}
