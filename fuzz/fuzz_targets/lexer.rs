//! The block finder over any bytes: spans lie in the region, in order, and in each other as blocks do.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lockshift::repo::syntax::lexer::{Body, body, comments, depth, object, unquote};
use lockshift::repo::text::Span;

/// How far down blocks are opened; the lexer itself has no limit.
const LEVELS: usize = 4;

fn inside(inner: Span, outer: Span) {
    assert!(
        outer.start <= inner.start && inner.start <= inner.end && inner.end <= outer.end,
        "{inner:?} {outer:?}"
    );
}

fn holds(bytes: &[u8], found: &Body, within: Span, level: usize) {
    let mut last = within.start;
    for attribute in &found.attributes {
        inside(attribute.span, within);
        inside(attribute.name_span, attribute.span);
        inside(attribute.value_span, attribute.span);
        assert!(attribute.name_span.end <= attribute.value_span.start, "{attribute:?}");
        assert!(last <= attribute.span.start, "{attribute:?} begins before {last}");
        last = attribute.span.end;
        let value = attribute.value_span.of(bytes);
        if level < LEVELS && value.len() >= 2 && value.starts_with(b"{") && value.ends_with(b"}") {
            let inner = Span::new(attribute.value_span.start + 1, attribute.value_span.end - 1);
            holds(bytes, &object(bytes, inner), inner, level + 1);
        }
    }
    let mut last = within.start;
    for block in &found.blocks {
        inside(block.span, within);
        inside(block.keyword_span, block.span);
        inside(block.body, block.span);
        assert!(last <= block.span.start, "{block:?} begins before {last}");
        last = block.span.end;
        if level < LEVELS {
            holds(bytes, &body(bytes, block.body), block.body, level + 1);
        }
    }
    if let Some(error) = &found.error {
        assert!(error.offset <= bytes.len(), "{error:?}");
    }
}

fuzz_target!(|data: &[u8]| {
    let whole = Span::new(0, data.len());
    holds(data, &body(data, whole), whole, 0);
    holds(data, &object(data, whole), whole, 0);
    assert!(depth(data, whole) <= data.len());
    let mut last = 0;
    for comment in comments(data, whole) {
        inside(comment, whole);
        assert!(last <= comment.start);
        last = comment.end;
    }
    unquote(data);
});
