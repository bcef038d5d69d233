//! Text for a POSIX shell: words that the commands which we print are made of, and which characters no terminal should
//! get. Pure.

use std::fmt::Write as _;

/// A word for any POSIX shell: plain where it can be, in single quotes, or put together by `printf` where it holds
/// characters that a terminal would obey or that turn the text's direction.
pub fn word(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=@,+%".contains(&byte);
    // A leading `=` means something to some shells.
    if !text.is_empty() && text.bytes().all(plain) && !text.starts_with('=') {
        return text.to_owned();
    }
    if !text.contains(is_unsafe) {
        return format!("'{}'", text.replace('\'', "'\\''"));
    }
    // What a command prints loses its line breaks at the end: these stand as they are, in quotes.
    let printed = text.trim_end_matches('\n');
    let breaks = text.get(printed.len()..).unwrap_or_default();
    let mut out = String::new();
    if !printed.is_empty() {
        out.push_str("\"$(printf '");
        for (at, c) in printed.char_indices() {
            match c {
                '\\' | '%' => out.extend([c, c]),
                // Octal ends after three digits; hexadecimal would run on into the next letter. A leading `-` would be
                // an option.
                c if is_unsafe(c) || c == '\'' || (at == 0 && c == '-') => {
                    let mut bytes = [0; 4];
                    for byte in c.encode_utf8(&mut bytes).bytes() {
                        let _ = write!(out, "\\{byte:03o}");
                    }
                }
                c => out.push(c),
            }
        }
        out.push_str("')\"");
    }
    if !breaks.is_empty() {
        out.push_str(&format!("'{breaks}'"));
    }
    out
}

/// Whether a character could move a terminal's cursor, hide text, look like nothing, or turn the text's direction.
/// C0 and C1 controls drive terminals; what has no width or no ink makes a text look like another one. Source: Unicode's
/// `Default_Ignorable_Code_Point`, with the line separators and what annotates between lines.
pub fn is_unsafe(c: char) -> bool {
    if c < '\u{ad}' {
        return c.is_control();
    }
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffc}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
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
            ("a\u{1b}[31m'b\\c", "\"$(printf 'a\\033[31m\\047b\\\\c')\""),
            ("x\ny%", "\"$(printf 'x\\012y%%')\""),
            ("-\tx\n", "\"$(printf '\\055\\011x')\"'\n'"),
            ("r\u{202e}l", "\"$(printf 'r\\342\\200\\256l')\""),
        ] {
            assert_eq!(word(text), quoted);
        }
    }

    #[test]
    #[cfg(unix)]
    fn any_shell_reads_back_what_was_quoted() {
        let is_there = |shell: &&&str| std::process::Command::new(shell).args(["-c", ":"]).output().is_ok();
        for shell in ["sh", "dash", "bash"].iter().filter(is_there) {
            for text in [
                "plain",
                "a b'c\"d\\e",
                "\u{1b}[0m\t\n'x",
                "grün $HOME `id` !!",
                "\u{202e}9",
                "-n\u{7f}",
                "100%\u{1b}s\\n \"$HOME\" `id` $(id)",
                "\n",
                "a\u{e0041}\n\n",
                "\u{ad}0",
            ] {
                let script = format!("printf %s {}", word(text));
                let out = std::process::Command::new(shell).args(["-c", &script]).output().unwrap();
                assert_eq!(String::from_utf8(out.stdout).unwrap(), text, "{shell}: {script}");
            }
        }
    }

    #[test]
    fn what_hides_or_turns_text_is_unsafe_and_letters_are_not() {
        for c in [
            '\0',
            '\u{1b}',
            '\u{7f}',
            '\u{9b}',
            '\u{ad}',
            '\u{34f}',
            '\u{61c}',
            '\u{115f}',
            '\u{1160}',
            '\u{17b4}',
            '\u{180e}',
            '\u{200b}',
            '\u{200f}',
            '\u{2028}',
            '\u{202e}',
            '\u{2060}',
            '\u{2064}',
            '\u{2069}',
            '\u{3164}',
            '\u{fe00}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{ffa0}',
            '\u{fff9}',
            '\u{fffc}',
            '\u{1d173}',
            '\u{e0001}',
            '\u{e007f}',
            '\u{e0100}',
            '\u{e01ef}',
        ] {
            assert!(is_unsafe(c), "{:x}", u32::from(c));
        }
        for c in [' ', '~', '\u{a0}', 'ü', 'ค', 'ሀ', '한', '状', '\u{fffd}', '😀', '→', '…'] {
            assert!(!is_unsafe(c), "{c}");
        }
    }
}
