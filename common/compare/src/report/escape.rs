//! Texts of models and data sets on a terminal, in Markdown, HTML and XML: only ever text.
//!
//! Control characters, ANSI's escape among them, and marks that turn the direction of writing or hide are shown as their code
//! points: `\u{202e}`.

/// Characters that change how others are shown, or are not seen: controls, directions, joiners, tags, and the ends of lines that
/// are no line feed.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A text for a line on a terminal.
pub fn plain_text(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => plain.push_str("\\n"),
            '\t' => plain.push_str("\\t"),
            c if is_unseen(c) => plain.push_str(&c.escape_unicode().to_string()),
            c => plain.push(c),
        }
    }
    plain
}

/// A text within an element or an attribute of HTML. Line feeds stay.
pub fn html_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(c),
            c if is_unseen(c) => escaped.push_str(&c.escape_unicode().to_string()),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Returns the part of a text that XML may hold, escaped.
pub(super) fn xml_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in plain_text(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A text within a cell or a line of Markdown.
pub fn markdown_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in plain_text(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            // A web address would become a link by itself.
            ':' => escaped.push_str("&#58;"),
            '@' => escaped.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '#' | '+' | '-' | '!' | '|' | '~' | '=' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_texts_are_text() {
        let hostile = "<script>alert('x')</script>\u{1b}[31m\u{202e}|a\r\n`b` ![x](http://e) &lt;";
        let html = html_text(hostile);
        assert!(!html.contains(['<', '>', '"', '\'', '\u{1b}', '\u{202e}', '\r']), "{html}");
        assert!(html.contains("&lt;script&gt;") && html.contains("&amp;lt;") && html.contains("\\u{202e}"));
        let plain = plain_text(hostile);
        assert!(!plain.contains(['\u{1b}', '\u{202e}', '\n', '\r']), "{plain}");
        let markdown = markdown_text(hostile);
        assert!(markdown.contains("\\|a") && !markdown.contains('<') && !markdown.contains("http:"), "{markdown}");
        assert!(markdown.contains("\\!\\[x\\]\\("), "{markdown}");
    }
}
