//! A unified diff that `git apply` takes, whatever the bytes and the names are. Pure: names and bytes in, bytes out.
//! What a name is relative to is decided by the caller.

use std::path::Path;

use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

/// Lines of context around a change, as `git diff` has them.
const CONTEXT: usize = 3;

/// The diff of one file; empty when nothing changes. `name` is relative to where the diff will be applied, `/`
/// between its parts. File modes are not mentioned, so they stay.
pub fn unified(name: &[u8], before: &[u8], after: &[u8]) -> Vec<u8> {
    if before == after {
        return Vec::new();
    }
    let (old, new) = (lines(before), lines(after));
    let mut out = Vec::new();
    header(&mut out, name);
    for ops in group_diff_ops(capture_diff_slices(Algorithm::Myers, &old, &new), CONTEXT) {
        hunk(&mut out, &ops, &old, &new);
    }
    out
}

/// Lines as git sees them: they end with `\n` and with nothing else, so a carriage return is part of its line.
fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

fn header(out: &mut Vec<u8>, name: &[u8]) {
    let (a, b) = (quoted(b"a/", name), quoted(b"b/", name));
    // git ends a name with blanks in it with a tab, so that no reader takes a part of it for a time stamp.
    let end: &[u8] = if name.contains(&b' ') && !a.starts_with(b"\"") { b"\t\n" } else { b"\n" };
    for part in [b"diff --git ".as_slice(), &a, b" ", &b, b"\n--- ", &a, end, b"+++ ", &b, end] {
        out.extend_from_slice(part);
    }
}

/// A name as git writes it with `core.quotePath` on: any byte that is not plain ASCII turns the whole into a C string.
fn quoted(prefix: &[u8], name: &[u8]) -> Vec<u8> {
    let plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    let mut out = Vec::with_capacity(prefix.len() + name.len() + 2);
    if name.iter().all(plain) {
        out.extend_from_slice(prefix);
        out.extend_from_slice(name);
        return out;
    }
    out.push(b'"');
    out.extend_from_slice(prefix);
    for byte in name {
        match byte {
            0x07 => out.extend_from_slice(b"\\a"),
            0x08 => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            0x0b => out.extend_from_slice(b"\\v"),
            0x0c => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            byte if plain(byte) => out.push(*byte),
            byte => out.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
        }
    }
    out.push(b'"');
    out
}

fn hunk(out: &mut Vec<u8>, ops: &[DiffOp], old: &[&[u8]], new: &[&[u8]]) {
    let (Some(first), Some(last)) = (ops.first(), ops.last()) else { return };
    let of_old = range(first.old_range().start, last.old_range().end);
    let of_new = range(first.new_range().start, last.new_range().end);
    out.extend_from_slice(format!("@@ -{of_old} +{of_new} @@\n").as_bytes());
    for op in ops {
        let gone = if matches!(op, DiffOp::Equal { .. }) { b' ' } else { b'-' };
        for text in old.get(op.old_range()).unwrap_or_default() {
            line(out, gone, text);
        }
        if gone == b'-' {
            for text in new.get(op.new_range()).unwrap_or_default() {
                line(out, b'+', text);
            }
        }
    }
}

/// `start,count` as unified diffs count: from 1, a count of 1 left out, an empty range named by the line before it.
fn range(start: usize, end: usize) -> String {
    match end - start {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        count => format!("{},{count}", start + 1),
    }
}

fn line(out: &mut Vec<u8>, sign: u8, text: &[u8]) {
    out.push(sign);
    out.extend_from_slice(text);
    if !text.ends_with(b"\n") {
        out.extend_from_slice(b"\n\\ No newline at end of file\n");
    }
}

/// The bytes of a relative path with `/` between its parts, as git names files.
pub fn name_of(path: &Path) -> Vec<u8> {
    let mut out = Vec::new();
    for part in path.components() {
        if !out.is_empty() {
            out.push(b'/');
        }
        out.extend_from_slice(&bytes_of(part.as_os_str()));
    }
    out
}

#[cfg(unix)]
fn bytes_of(text: &std::ffi::OsStr) -> Vec<u8> {
    std::os::unix::ffi::OsStrExt::as_bytes(text).to_vec()
}

#[cfg(not(unix))]
fn bytes_of(text: &std::ffi::OsStr) -> Vec<u8> {
    // Elsewhere git's names are UTF-8, too.
    text.to_string_lossy().into_owned().into_bytes()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::io::Write;
    use std::process::{Command, Stdio};

    use proptest::prelude::*;

    use super::*;

    /// What `git apply` makes of `before`; panics when it refuses.
    fn applied(name: &[u8], before: &[u8], diff: &[u8]) -> Vec<u8> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(os(name));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, before).unwrap();
        for args in [&["apply", "--check", "-"][..], &["apply", "-"]] {
            let mut child = Command::new("git")
                .arg("-C")
                .arg(dir.path())
                .args(args)
                .env("GIT_CEILING_DIRECTORIES", dir.path().parent().unwrap())
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .stdin(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            child.stdin.take().unwrap().write_all(diff).unwrap();
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(diff));
        }
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "another file appeared");
        fs::read(&path).unwrap()
    }

    #[cfg(unix)]
    fn os(name: &[u8]) -> &OsStr {
        std::os::unix::ffi::OsStrExt::from_bytes(name)
    }

    #[test]
    fn a_hunk_in_full() {
        let before = b"1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let after = b"1\n2\n3\n4\nx\n5\n6\n7\n8\n9\n";
        assert_eq!(
            String::from_utf8(unified(b"envs/a b.tf", before, after)).unwrap(),
            "diff --git a/envs/a b.tf b/envs/a b.tf\n--- a/envs/a b.tf\t\n+++ b/envs/a b.tf\t\n\
             @@ -2,6 +2,7 @@\n 2\n 3\n 4\n+x\n 5\n 6\n 7\n"
        );
        assert_eq!(unified(b"x", b"same", b"same"), b"");
    }

    #[test]
    #[cfg(unix)]
    fn git_applies_odd_bytes_to_odd_names() {
        let names: [&[u8]; 10] = [
            b"main.tf",
            b"a b/c d.tf",
            b" lead and trail ",
            "stra\u{df}e/状態.tf".as_bytes(),
            b"tab\there/new\nline.tf",
            b"quote\"back\\slash.tf",
            b"latin\xe9.tf",
            b"b/a/b/a.tf",
            b"x b/x",
            b"\x01\x7f\x0b.tf",
        ];
        let texts: [(&[u8], &[u8]); 9] = [
            (b"a\nb\n", b"a\nc\n"),
            (b"a\nb", b"a\nb\nc"),
            (b"a\nb", b"a\nb\n"),
            (b"a\nb\n", b"a\nb"),
            (b"a\r\nb\r\n", b"a\r\nx\r\nb\r\n"),
            (b"a\rb\r\nc", b"a\rb\r\nd"),
            (b"\xff\xfe\n\xe9 = 1\n", b"\xff\xfe\n\xe9 = 2\n"),
            (b"\xef\xbb\xbfa = 1\nb\0\n", b"\xef\xbb\xbfa = 2\nb\0\n"),
            (b"only", b"other"),
        ];
        for name in names {
            for (before, after) in texts {
                let diff = unified(name, before, after);
                assert_eq!(applied(name, before, &diff), after, "{:?}", String::from_utf8_lossy(name));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        #[cfg(unix)]
        fn git_makes_after_of_before(
            old in proptest::collection::vec(0_u8..6, 1..40),
            new in proptest::collection::vec(0_u8..6, 1..40),
            ends in 0_u8..4,
        ) {
            let words: [&[u8]; 6] = [b"a\n", b"\n", b"-- b\r\n", b"+ c\n", b"@@ -1 +1 @@\n", b"\\ \xff\n"];
            let text = |picks: &[u8], end: bool| {
                let mut out: Vec<u8> = picks.iter().flat_map(|pick| words[usize::from(*pick)]).copied().collect();
                if !end {
                    out.pop();
                }
                out
            };
            let (before, after) = (text(&old, ends & 1 == 0), text(&new, ends & 2 == 0));
            // git deletes a file that becomes empty; configuration never does.
            prop_assume!(!before.is_empty() && !after.is_empty() && before != after);
            let diff = unified(b"d/main.tf", &before, &after);
            prop_assert_eq!(applied(b"d/main.tf", &before, &diff), after);
        }
    }
}
