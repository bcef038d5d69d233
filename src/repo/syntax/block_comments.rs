//! Comments over many lines, in the ways of scripts and program code: what is looked for in the raw text of a file does
//! not count there.

use crate::repo::text::{Span, Text};

use super::language::Language;
use super::shell::{Budget, begins_name, heredoc_body, heredoc_word};

/// Every comment of `text` that can take many lines, by position. One that nothing closes is none.
pub(super) fn block_comments(text: Text<'_>, language: Language) -> Vec<Span> {
    let bytes = text.bytes();
    let mut budget = Budget::new(bytes.len());
    let mut comments = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let line = text.line_span(at);
        let content = line.of(bytes);
        let blank = content.len() - content.trim_ascii_start().len();
        let begins = |mark: &[u8]| content.get(blank..).is_some_and(|rest| rest.starts_with(mark));
        let start = line.start + blank;
        let end = match language {
            Language::PowerShell if begins(b"<#") => budget.find(bytes, start + 2, bytes.len(), b"#>"),
            Language::Code(style) if style.hash && is_document(bytes, line.start) => {
                document_end(bytes, line.start, bytes.len(), &mut budget)
            }
            Language::Code(style) if style.slashes && begins(b"/*") => {
                budget.find(bytes, start + 2, bytes.len(), b"*/")
            }
            Language::Shell | Language::Yaml => unread_heredoc(content)
                .and_then(|mark| heredoc_body(bytes, line.end, bytes.len(), &mark, &mut budget))
                .map(|(_, after)| after),
            _ => None,
        };
        if let Some(end) = end {
            comments.push(Span::new(start, end));
        }
        at = end.unwrap_or(line.end).max(line.end);
    }
    comments
}

/// Whether one of these spans, which are sorted and lie apart, holds the byte.
pub(super) fn holds(spans: &[Span], at: usize) -> bool {
    let before = spans.partition_point(|span| span.start <= at);
    before.checked_sub(1).and_then(|last| spans.get(last)).is_some_and(|span| span.end > at)
}

/// Whether Ruby's `=begin` or Perl's `=pod` and the like begin a comment here: only at a line's begin do they.
pub(super) fn is_document(bytes: &[u8], at: usize) -> bool {
    let begins_line = at == 0 || bytes.get(at - 1) == Some(&b'\n');
    let Some(rest) = bytes.get(at + 1..).filter(|_| begins_line && bytes.get(at) == Some(&b'=')) else {
        return false;
    };
    let len = rest.iter().take(16).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let word = rest.get(..len).unwrap_or_default();
    matches!(word, b"begin" | b"pod" | b"head1" | b"head2" | b"head3" | b"over" | b"encoding" | b"for")
}

/// One past the last line of the comment that [`is_document`] sees. Ruby's ends with `=end`, Perl's with `=cut`.
pub(super) fn document_end(bytes: &[u8], at: usize, end: usize, budget: &mut Budget) -> Option<usize> {
    let ruby = bytes.get(at..)?.starts_with(b"=begin");
    let close = budget.find(bytes, at, end, if ruby { b"\n=end" } else { b"\n=cut" })?;
    let rest = bytes.get(close..end)?;
    Some(close + memchr::memchr(b'\n', rest).unwrap_or(rest.len()))
}

/// The marker of a heredoc that is given to `:` or `true`: nothing reads it.
fn unread_heredoc(line: &[u8]) -> Option<String> {
    let line = line.trim_ascii();
    let rest = line.strip_prefix(b":").or_else(|| line.strip_prefix(b"true"))?.trim_ascii_start();
    let rest = rest.strip_prefix(b"<<").filter(|rest| !rest.starts_with(b"<"))?;
    let (_, mark) = heredoc_word(rest);
    begins_name(mark).then(|| String::from_utf8_lossy(mark).into_owned())
}

#[cfg(test)]
mod tests {
    use super::super::language::language;
    use super::*;
    use proptest::prelude::*;

    fn comments<'t>(file: &str, text: &'t str) -> Vec<&'t str> {
        let spans = block_comments(Text::new(text.as_bytes()), language(file).unwrap());
        spans.iter().map(|span| &text[span.start..span.end]).collect()
    }

    #[test]
    fn every_language_has_its_own() {
        assert_eq!(comments("a.rb", "x\n=begin\na\n=end\ny\n"), ["=begin\na\n=end"]);
        assert_eq!(comments("a.pl", "x\n=pod\na\n=cut\ny\n"), ["=pod\na\n=cut"]);
        assert_eq!(comments("a.ps1", "x\n  <# a\nb #>\ny\n"), ["<# a\nb #>"]);
        assert_eq!(comments("a.js", "x\n  /*\nb\n*/\ny\n"), ["/*\nb\n*/"]);
        assert_eq!(comments("a.sh", "x\n: <<'X'\na\nX\ny\n"), [": <<'X'\na\nX"]);
        assert_eq!(comments("a.yml", "run: |\n  true <<X\n  a\n  X\n"), ["true <<X\n  a\n  X"]);
    }

    #[test]
    fn what_nothing_closes_and_what_is_read_is_none() {
        assert_eq!(comments("a.rb", "=begin\na\n"), [""; 0]);
        assert_eq!(comments("a.rb", " =begin\na\n=end\n"), [""; 0]);
        assert_eq!(comments("a.ps1", "<# a\n"), [""; 0]);
        assert_eq!(comments("a.sh", "cat > x <<'X'\na\nX\n: <<<X\nX\n"), [""; 0]);
        assert_eq!(comments("a.py", "a = 1\n/*\n*/\n"), [""; 0]);
    }

    #[test]
    fn a_place_is_in_one_of_them_or_in_none() {
        let spans = [Span::new(2, 4), Span::new(6, 7)];
        let inside: Vec<usize> = (0..9).filter(|at| holds(&spans, *at)).collect();
        assert_eq!(inside, [2, 3, 6]);
    }

    proptest! {
        #[test]
        fn any_text_has_comments_in_order(text in "[=a-z<#>/*: \n']{0,80}(=begin\n|\n=end|: <<X\nX)?[ -~\n]{0,40}") {
            for file in ["a.rb", "a.ps1", "a.js", "a.sh"] {
                let spans = block_comments(Text::new(text.as_bytes()), language(file).unwrap());
                prop_assert!(spans.windows(2).all(|pair| pair[0].end <= pair[1].start));
            }
        }
    }
}
