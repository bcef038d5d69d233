//! Text for a POSIX shell: words that the commands which we print are made of, and which characters no terminal should
//! get. Pure.

use std::fmt::Write as _;

/// A word for a shell: plain where it can be, in single quotes, or in `$'…'` where it holds characters that a terminal
/// would obey or that turn the text's direction.
pub fn word(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=@,+%".contains(&byte);
    // A leading `=` means something to some shells.
    if !text.is_empty() && text.bytes().all(plain) && !text.starts_with('=') {
        return text.to_owned();
    }
    if !text.contains(is_unsafe) {
        return format!("'{}'", text.replace('\'', "'\\''"));
    }
    let mut out = "$'".to_owned();
    for c in text.chars() {
        match c {
            '\\' | '\'' => out.extend(['\\', c]),
            c if is_unsafe(c) => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    // Octal ends after three digits; hexadecimal would run on into the next letter.
                    let _ = write!(out, "\\{byte:03o}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// Whether a character could move a terminal's cursor, hide text or turn its direction.
/// C0 and C1 controls drive terminals; bidirectional and zero-width characters make a line look like another.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        for (text, quoted) in [
            ("envs/prod", "envs/prod"),
            ("", "''"),
            ("a b", "'a b'"),
            ("~x", "'~x'"),
            ("=x", "'=x'"),
            ("key=v;rm", "'key=v;rm'"),
            ("{\"a\":1}", "'{\"a\":1}'"),
            ("it's", "'it'\\''s'"),
            ("$(rm -rf /)", "'$(rm -rf /)'"),
            ("\"e-tag\"", "'\"e-tag\"'"),
            ("a\u{1b}[31m'b\\c", "$'a\\033[31m\\'b\\\\c'"),
            ("x\ny", "$'x\\012y'"),
            ("r\u{202e}l", "$'r\\342\\200\\256l'"),
        ] {
            assert_eq!(word(text), quoted);
        }
    }

    #[test]
    #[cfg(unix)]
    fn bash_reads_back_what_was_quoted() {
        for text in ["plain", "a b'c\"d\\e", "\u{1b}[0m\t\n'x", "grün $HOME `id` !!", "\u{202e}9"] {
            let script = format!("printf %s {}", word(text));
            let out = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(out.stdout).unwrap(), text);
        }
    }
}
