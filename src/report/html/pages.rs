//! Rules' pages inside the page: Markdown to HTML with nothing in it but text, code, lists and headings. Raw HTML in a
//! page is shown as text; a link stays one only where it leads to another rule in this very page.

use std::collections::BTreeSet;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::escape::{id, prose, text};
use crate::report::RuleText;

/// The pages of the rules that are named here, each behind its id.
pub(super) fn render(rules: &[RuleText<'_>], named: &BTreeSet<&str>) -> String {
    let mut out = String::new();
    for rule in rules.iter().filter(|rule| named.contains(rule.id)) {
        // The anchor is inside, so that a link to it opens the page.
        out.push_str(&format!(
            "<details class=\"page\"><summary><code>{}</code> {}</summary><div id=\"{}\" tabindex=\"-1\">{}</div></details>\n",
            text(rule.id),
            prose(rule.summary),
            id("rule", rule.id),
            html(rule.page, named)
        ));
    }
    out
}

/// A link to a rule's page, where there is one.
pub(super) fn link(rule: &str, has_page: bool) -> String {
    if has_page {
        format!("<a href=\"#{}\"><code>{}</code></a>", id("rule", rule), text(rule))
    } else {
        format!("<code>{}</code>", text(rule))
    }
}

fn html(markdown: &str, named: &BTreeSet<&str>) -> String {
    let mut out = String::new();
    // Its first heading is the rule's id, which stands above it already.
    let mut skipping = false;
    let mut linked = Vec::new();
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { level: HeadingLevel::H1, .. }) => skipping = true,
            Event::End(TagEnd::Heading(HeadingLevel::H1)) => skipping = false,
            _ if skipping => {}
            Event::Start(Tag::Link { dest_url, .. }) => {
                let rule = dest_url.strip_suffix(".md").filter(|rule| named.contains(rule));
                linked.push(rule.is_some());
                if let Some(rule) = rule {
                    out.push_str(&format!("<a href=\"#{}\">", id("rule", rule)));
                }
            }
            Event::End(TagEnd::Link) => {
                out.push_str(if linked.pop() == Some(true) { "</a>" } else { "" });
            }
            Event::Start(tag) => out.push_str(open(&tag)),
            Event::End(tag) => out.push_str(close(tag)),
            Event::Text(part) | Event::Html(part) | Event::InlineHtml(part) => {
                // Line breaks are the page's own; what else could hide in a line is made visible.
                let lines: Vec<String> = part.split('\n').map(text).collect();
                out.push_str(&lines.join("\n"));
            }
            Event::Code(part) => out.push_str(&format!("<code>{}</code>", text(&part))),
            Event::SoftBreak | Event::HardBreak => out.push('\n'),
            Event::Rule => out.push_str("<hr>"),
            _ => {}
        }
    }
    out
}

fn open(tag: &Tag<'_>) -> &'static str {
    match tag {
        Tag::Paragraph => "<p>",
        Tag::Heading { .. } => "<h3>",
        Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented) => "<pre tabindex=\"0\"><code>",
        Tag::List(None) => "<ul>",
        Tag::List(Some(_)) => "<ol>",
        Tag::Item => "<li>",
        Tag::Emphasis => "<em>",
        Tag::Strong => "<strong>",
        Tag::BlockQuote(_) => "<blockquote>",
        Tag::Table(_) => "<table>",
        Tag::TableHead | Tag::TableRow => "<tr>",
        Tag::TableCell => "<td>",
        _ => "",
    }
}

fn close(tag: TagEnd) -> &'static str {
    match tag {
        TagEnd::Paragraph => "</p>\n",
        TagEnd::Heading(_) => "</h3>\n",
        TagEnd::CodeBlock => "</code></pre>\n",
        TagEnd::List(false) => "</ul>\n",
        TagEnd::List(true) => "</ol>\n",
        TagEnd::Item => "</li>\n",
        TagEnd::Emphasis => "</em>",
        TagEnd::Strong => "</strong>",
        TagEnd::BlockQuote(_) => "</blockquote>\n",
        TagEnd::Table => "</table>\n",
        TagEnd::TableHead | TagEnd::TableRow => "</tr>\n",
        TagEnd::TableCell => "</td>",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Severity;

    #[test]
    fn a_page_is_text_code_lists_and_links_within_the_page() {
        let page = "# a-rule\n\nSee [the other](b-rule.md), [docs](../x.md) and [evil](javascript:alert(1)).\n\n\
                    ## Fix\n```hcl\nuse_lockfile = true # <b>\n```\n- `one`\n- <script>x</script>\n";
        let named = BTreeSet::from(["a-rule", "b-rule"]);
        let out = html(page, &named);
        assert_eq!(
            out,
            "<p>See <a href=\"#rule-b-rule\">the other</a>, docs and evil.</p>\n<h3>Fix</h3>\n\
             <pre tabindex=\"0\"><code>use_lockfile = true # &lt;b&gt;\n</code></pre>\n\
             <ul>\n<li><code>one</code></li>\n<li>&lt;script&gt;x&lt;/script&gt;\n</li>\n</ul>\n"
                .replace("<ul>\n", "<ul>")
        );
    }

    #[test]
    fn only_pages_of_named_rules_are_there() {
        let rule = |id| RuleText { id, severity: Severity::Low, summary: "s <", page: "# x\n\ntext\n" };
        let out = render(&[rule("a"), rule("b")], &BTreeSet::from(["b", "unknown"]));
        assert!(
            out.starts_with(
                "<details class=\"page\"><summary><code>b</code> s &lt;</summary><div id=\"rule-b\""
            ),
            "{out}"
        );
        assert_eq!(out.matches("<details").count(), 1);
        assert_eq!(link("b", true), "<a href=\"#rule-b\"><code>b</code></a>");
        assert_eq!(link("<", false), "<code>&lt;</code>");
    }
}
