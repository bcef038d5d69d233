//! Text on a terminal that is as wide as it is: tables whose cells break between words and parts of paths, what stands
//! in their place where columns would be too narrow, two records side by side, and lines of prose. Where there is no
//! terminal nothing is broken: whoever reads a file or a pipe wants lines as they are.

use comfy_table::{Attribute, Cell, Color, LineStyle, Table, TableStyle};
use unicode_width::UnicodeWidthStr as _;

use super::palette::Palette;

/// A column is squeezed to this at most, unless all that it holds is shorter.
const LEAST: usize = 16;

/// What a line that goes on is indented by, beyond the line itself: deeper than what stands below it in a list.
const HANGING: usize = 4;

/// One value of a row.
#[derive(Debug, Clone)]
pub(super) struct Item {
    text: String,
    colour: Option<Color>,
}

impl From<String> for Item {
    fn from(text: String) -> Self {
        Self { text, colour: None }
    }
}

impl Item {
    /// A value with a colour of its own.
    pub fn coloured(text: String, colour: Color) -> Self {
        Self { text, colour: Some(colour) }
    }

    /// The value.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Rows below a header; none where the columns would not fit. Values are safe to show already.
pub(super) fn table(
    header: &[&str],
    rows: &[Vec<Item>],
    width: Option<u16>,
    palette: Palette,
) -> Option<String> {
    let names: Vec<String> = header.iter().map(|name| name.to_uppercase()).collect();
    let widths = match width {
        None => vec![usize::MAX; header.len()],
        Some(width) => {
            let column = |n: usize| {
                let name = names.get(n).map(String::as_str);
                name.into_iter().chain(rows.iter().filter_map(move |row| Some(row.get(n)?.text.as_str())))
            };
            // Each column has a blank after it and one before the next.
            let gaps = (2 * header.len()).saturating_sub(1);
            let columns: Vec<Need> = (0..header.len()).map(|n| Need::of(column(n))).collect();
            shared(&columns, usize::from(width).saturating_sub(gaps))?
        }
    };
    let mut table = Table::new();
    // Only what was asked for decides, never the stream that the text may end up in.
    table.force_no_tty();
    if palette.colour {
        table.enforce_styling();
    }
    table.load_style(TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─')));
    table.set_header(names.iter().map(|name| {
        let cell = Cell::new(name);
        if palette.colour { cell.add_attribute(Attribute::Bold) } else { cell }
    }));
    for row in rows {
        table.add_row(row.iter().zip(&widths).map(|(item, width)| {
            let cell = Cell::new(wrapped(&item.text, *width).join("\n"));
            match item.colour {
                Some(colour) if palette.colour => cell.fg(colour),
                _ => cell,
            }
        }));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
    }
    Some(table.lines().map(|line| format!("{}\n", line.trim_end())).collect())
}

/// One thing on lines of its own: its name, and below it what there is to say, each behind its label.
pub(super) fn listed(name: &str, values: &[(&str, String)], width: Option<u16>, palette: Palette) -> String {
    let room = width.map_or(usize::MAX, usize::from);
    let label = values.iter().map(|(label, _)| label.width()).max().unwrap_or_default();
    let mut out = String::new();
    for (n, line) in wrapped(name, room.saturating_sub(HANGING)).iter().enumerate() {
        let indent = if n == 0 { 0 } else { HANGING };
        out.push_str(&format!("{:indent$}{}\n", "", palette.bold(line)));
    }
    for (name, value) in values {
        for (n, line) in wrapped(value, room.saturating_sub(label + 3).max(8)).iter().enumerate() {
            let name = if n == 0 { name } else { "" };
            out.push_str(&format!("  {} {line}\n", palette.dim(&format!("{name:label$}"))));
        }
    }
    out
}

/// Two records: a name, the left value, the right one. Where both don't fit, one stands below the other.
pub(super) fn beside(
    heads: [&str; 2],
    rows: &[(&str, [String; 2])],
    indent: usize,
    width: Option<u16>,
    palette: Palette,
) -> String {
    let names = rows.iter().map(|(name, _)| name.width()).max().unwrap_or_default() + 2;
    let longest = |side: fn(&[String; 2]) -> &String, head: &str| {
        rows.iter().map(|(_, values)| side(values).width()).max().unwrap_or_default().max(head.width())
    };
    let (left, right) = (longest(|[left, _]| left, heads[0]), longest(|[_, right]| right, heads[1]));
    let blank = " ".repeat(indent);
    let mut out = String::new();
    let fits = width.is_none_or(|width| indent + names + left + 2 + right <= usize::from(width));
    if fits {
        let mut line = |name: &str, values: [&str; 2], paint: &dyn Fn(&str) -> String| {
            // By hand: what pads by characters does not know that some take two columns.
            let [first, second] = values;
            let gap = " ".repeat(left.saturating_sub(first.width()) + 2);
            let line = format!("{blank}{name:names$}{first}{gap}{second}");
            out.push_str(&format!("{}\n", paint(line.trim_end())));
        };
        line("", heads, &|text| palette.dim(text));
        for (name, [first, second]) in rows {
            line(name, [first, second], &str::to_owned);
        }
        return out;
    }
    let room = width.map_or(usize::MAX, usize::from).saturating_sub(indent + 2 + names).max(8);
    for (n, head) in heads.iter().enumerate() {
        out.push_str(&format!("{blank}{}\n", palette.dim(head)));
        for (name, values) in rows {
            let value = values.get(n).map(String::as_str).unwrap_or_default();
            // A dash keeps a column's row; alone it says nothing.
            if value.is_empty() || value == "-" {
                continue;
            }
            for (n, line) in wrapped(value, room).iter().enumerate() {
                let name = if n == 0 { name } else { "" };
                out.push_str(&format!("{blank}  {name:names$}{line}\n"));
            }
        }
    }
    out
}

/// Lines of prose, broken between words and going on below their beginning. Commands and excerpts of files stay whole,
/// as does a word that is wider than the terminal: both are there to be copied.
pub(super) fn folded(text: &str, width: Option<u16>) -> String {
    let Some(width) = width.map(usize::from) else { return text.to_owned() };
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for line in text.lines() {
        let body = line.trim_start_matches(' ');
        let excerpt = body.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start().starts_with('|');
        if seen_width(line) <= width || body.starts_with("$ ") || excerpt {
            out.push_str(line);
            out.push('\n');
            continue;
        }
        let indent = line.len() - body.len();
        let hanging = " ".repeat(indent + HANGING);
        let mut at = 0;
        for (n, word) in body.split(' ').enumerate() {
            let wide = seen_width(word);
            if n == 0 {
                out.push_str(line.get(..indent).unwrap_or_default());
                at = indent;
            } else if at + 1 + wide > width {
                out.push('\n');
                out.push_str(&hanging);
                at = hanging.len();
            } else {
                out.push(' ');
                at += 1;
            }
            out.push_str(word);
            at += wide;
        }
        out.push('\n');
    }
    out
}

/// Columns that a text takes, our own colours left out.
fn seen_width(text: &str) -> usize {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().width();
    // `ESC [ … m`: values never hold an escape, so that each is ours.
    first + parts.map(|part| part.split_once('m').map_or(0, |(_, rest)| rest.width())).sum::<usize>()
}

/// What a column needs: to hold everything in one line, to hold nearly everything in one line, and to break no word.
#[derive(Debug, Clone, Copy)]
struct Need {
    whole: usize,
    usual: usize,
    least: usize,
}

impl Need {
    fn of<'a>(values: impl Iterator<Item = &'a str>) -> Self {
        let mut widths = Vec::new();
        let mut least = 0;
        for value in values {
            let words = pieces(value).map(|piece| piece.trim_end().width());
            least = words.max().unwrap_or_default().max(least);
            widths.push(value.width());
        }
        widths.sort_unstable();
        // One value in ten may take more lines than the others: it is not worth making all of them narrow.
        let usual = widths.get((widths.len() * 9).div_ceil(10).saturating_sub(1)).copied();
        Self { whole: widths.last().copied().unwrap_or_default(), usual: usual.unwrap_or_default(), least }
    }
}

/// The widths of columns that share `room`; none when one would have to break a word, or be squeezed to a few letters.
/// Rows get no taller than they must, and then as few columns as can be are broken.
fn shared(columns: &[Need], room: usize) -> Option<Vec<usize>> {
    let widths_for = |lines: usize| -> Vec<usize> {
        let width = |need: &Need| need.least.max(need.usual.min(LEAST)).max(need.usual.div_ceil(lines));
        columns.iter().map(width).collect()
    };
    let tallest = columns.iter().map(|need| need.usual).max().unwrap_or_default().max(1);
    let (mut widths, mut left) = (1..=tallest).find_map(|lines| {
        let widths = widths_for(lines);
        let left = room.checked_sub(widths.iter().sum())?;
        Some((widths, left))
    })?;
    for wanted in [|need: &Need| need.usual, |need: &Need| need.whole] {
        let mut by_lack: Vec<(&mut usize, usize)> =
            widths.iter_mut().zip(columns).map(|(width, need)| (width, wanted(need))).collect();
        by_lack.sort_by_key(|(width, wanted)| wanted.saturating_sub(**width));
        for (width, wanted) in by_lack {
            let more = wanted.saturating_sub(*width).min(left);
            *width += more;
            left -= more;
        }
    }
    Some(widths)
}

/// The lines of a value in a column of `width`: broken after a blank or a part of a path, and elsewhere only where one
/// word alone is wider than the column.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    if text.width() <= width {
        return vec![text.to_owned()];
    }
    let mut lines = vec![String::new()];
    for piece in pieces(text) {
        let mut rest = piece;
        let is_full = |line: &String| !line.is_empty() && line.width() + piece.trim_end().width() > width;
        if lines.last().is_some_and(is_full) {
            lines.push(String::new());
        }
        while rest.trim_end().width() > width {
            let mut cut = 0;
            let mut taken = 0;
            for c in rest.chars() {
                taken += c.to_string().width();
                if taken > width && cut > 0 {
                    break;
                }
                cut += c.len_utf8();
            }
            let (head, tail) = rest.split_at(cut);
            if let Some(line) = lines.last_mut() {
                line.push_str(head);
            }
            lines.push(String::new());
            rest = tail;
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(rest);
        }
    }
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    lines.retain(|line| !line.is_empty());
    lines
}

/// A text in pieces that stay together: words, parts of paths, parts of ARNs, each with what ends it.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive([' ', '/', ':', '='])
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Palette = Palette { colour: false };

    fn rows(values: &[&[&str]]) -> Vec<Vec<Item>> {
        values.iter().map(|row| row.iter().map(|value| Item::from((*value).to_owned())).collect()).collect()
    }

    #[test]
    fn values_break_after_a_part_of_a_path_and_never_inside_a_word() {
        let path = "teams/payments-platform/environments/production";
        assert_eq!(wrapped(path, 24), ["teams/payments-platform/", "environments/production"]);
        assert_eq!(wrapped("admits older (>= 1.5)", 12), ["admits older", "(>= 1.5)"]);
        assert_eq!(
            wrapped("arn:aws:dynamodb:eu-west-1:111122223333:table/locks", 28),
            ["arn:aws:dynamodb:eu-west-1:", "111122223333:table/locks"]
        );
        // One word alone is wider than the column: there is no other way.
        assert_eq!(wrapped("abcdefghij/k", 4), ["abcd", "efgh", "ij/k"]);
        assert_eq!(wrapped("状態状態", 4), ["状態", "状態"]);
        assert_eq!(wrapped("", 4), [""]);
    }

    #[test]
    fn columns_fit_or_there_is_no_table() {
        let key = "teams/payments/terraform.tfstate";
        let values = rows(&[&["envs/production/network", "dual", key], &["a", "dynamodb", "-"]]);
        let header = ["root", "mode", "key"];
        let lines = |width| {
            table(&header, &values, width, PLAIN)
                .map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        };
        let whole = lines(None).unwrap();
        assert_eq!(whole[2], "envs/production/network  dual      teams/payments/terraform.tfstate");
        assert_eq!(lines(Some(200)).unwrap(), whole);
        assert_eq!(
            lines(Some(60)).unwrap(),
            [
                "ROOT                     MODE      KEY",
                &"─".repeat(53),
                "envs/production/network  dual      teams/payments/",
                "                                   terraform.tfstate",
                "a                        dynamodb  -",
            ]
        );
        assert_eq!(lines(Some(45)), None);
    }

    #[test]
    fn one_long_value_does_not_make_the_other_columns_narrow() {
        let long = ["a/b"; 40].join(" ");
        let mut values: Vec<Vec<&str>> =
            (0..20).map(|_| vec!["environments/production", "main.tf"]).collect();
        values.push(vec!["environments/staging", &long]);
        let values: Vec<&[&str]> = values.iter().map(Vec::as_slice).collect();
        let out = table(&["root", "files"], &rows(&values), Some(60), PLAIN).unwrap();
        assert_eq!(out.matches("environments/production  main.tf\n").count(), 20, "{out}");
    }

    #[test]
    fn what_has_no_room_in_columns_stands_below_its_name() {
        let values = [("mode", "dual".to_owned()), ("key", "teams/payments/terraform.tfstate".to_owned())];
        assert_eq!(
            listed("envs/production", &values, Some(30), PLAIN),
            "envs/production\n  mode dual\n  key  teams/payments/\n       terraform.tfstate\n"
        );
    }

    #[test]
    fn two_records_stand_side_by_side_where_there_is_room() {
        let rows =
            [("id", ["fd7c2461".to_owned(), "-".to_owned()]), ("who", ["ci".to_owned(), "ada".to_owned()])];
        let shown = |width| beside(["S3", "DynamoDB"], &rows, 2, width, PLAIN);
        let aside = "       S3        DynamoDB\n  id   fd7c2461  -\n  who  ci        ada\n";
        assert_eq!(shown(None), aside);
        assert_eq!(shown(Some(25)), aside);
        assert_eq!(shown(Some(24)), "  S3\n    id   fd7c2461\n    who  ci\n  DynamoDB\n    who  ada\n");
    }

    #[test]
    fn prose_is_folded_and_what_is_to_be_copied_is_not() {
        let text = "  high: one two three\n    $ a command that is long\n   3 | an excerpt that is long\n";
        assert_eq!(folded(text, None), text);
        assert_eq!(
            folded(text, Some(16)),
            "  high: one two\n      three\n    $ a command that is long\n   3 | an excerpt that is long\n"
        );
        // Colours take no room, and a long word stays whole.
        let bold = "\u{1b}[1mhigh\u{1b}[0m one";
        assert_eq!(folded(bold, Some(8)), format!("{bold}\n"));
        assert_eq!(folded("a bcdefghijklmnop q", Some(8)), "a\n    bcdefghijklmnop\n    q\n");
    }
}
