//! Python's `'%s of %d' % (a, b)` in the source of a template: minijinja's `%` takes numbers alone and cannot be taught others, so
//! that the operator becomes a filter, `'%s of %d'|python_percent((a, b), true)`.
//!
//! Only a literal on the left is seen as a text. There the two are equal: a filter binds tighter than `%`, and nothing that binds
//! as tight stands before the literal. `fmt % a` stays as it is, and fails by name where `fmt` is a text. A tuple must be seen in
//! the source, too, since minijinja knows lists alone.

use std::borrow::Cow;

/// Deepest nesting of brackets that is read.
const MOST_NESTING: usize = 100;

/// Name of the filter; its arguments are the value, and whether it is a tuple.
pub(super) const FILTER: &str = "python_percent";

/// The source with operators as filters; a source that cannot be read stays as it is.
pub fn with_percent_filters(source: &str) -> Cow<'_, str> {
    let is_operator = |(at, _): (usize, &str)| {
        let before = source[..at].trim_end();
        before.ends_with(['\'', '"']) && !source[at + 1..].starts_with('}')
    };
    match source.match_indices('%').any(is_operator) {
        true => rewritten(source).map_or(Cow::Borrowed(source), Cow::Owned),
        false => Cow::Borrowed(source),
    }
}

fn rewritten(source: &str) -> Option<String> {
    let mut out = String::with_capacity(source.len() + 64);
    let mut rest = source;
    while let Some(start) = ["{{", "{%", "{#"].iter().filter_map(|mark| rest.find(mark)).min() {
        let (text, tag) = rest.split_at(start);
        out.push_str(text);
        let end = match &tag[..2] {
            "{#" => tag.find("#}")? + 2,
            mark => 2 + code_length(&tag[2..], if mark == "{{" { "}}" } else { "%}" })? + 2,
        };
        let (tag, after) = tag.split_at(end);
        if tag.starts_with("{#") {
            out.push_str(tag);
        } else {
            out.push_str(&tag[..2]);
            expressions(&mut out, &tag[2..end - 2], MOST_NESTING)?;
            out.push_str(&tag[end - 2..]);
        }
        rest = after;
        if tag.starts_with("{%") && tag[2..end - 2].trim_matches(['-', '+', ' ', '\t', '\n']) == "raw" {
            let end = rest.find("endraw")?;
            out.push_str(&rest[..end]);
            rest = &rest[end..];
            let end = rest.find("%}")? + 2;
            out.push_str(&rest[..end]);
            rest = &rest[end..];
        }
    }
    out.push_str(rest);
    Some(out)
}

/// Bytes of code before `end`, which ends it outside of strings and braces.
fn code_length(code: &str, end: &str) -> Option<usize> {
    let mut at = 0;
    while at < code.len() {
        if code[at..].starts_with(end) {
            return Some(at);
        }
        at += token_length(&code[at..])?;
    }
    None
}

/// Bytes of the token at the beginning of `code`: a string, a name or number, all that stands in brackets, or an operator.
fn token_length(code: &str) -> Option<usize> {
    length_within(code, MOST_NESTING)
}

fn length_within(code: &str, levels: usize) -> Option<usize> {
    let first = code.chars().next()?;
    match first {
        '\'' | '"' => {
            let mut chars = code.char_indices().skip(1);
            while let Some((at, c)) = chars.next() {
                match c {
                    '\\' => drop(chars.next()),
                    c if c == first => return Some(at + 1),
                    _ => {}
                }
            }
            None
        }
        '(' | '[' | '{' => {
            let mut at = 1;
            loop {
                match code[at..].chars().next()? {
                    ')' | ']' | '}' => return Some(at + 1),
                    _ => at += length_within(&code[at..], levels.checked_sub(1)?)?,
                }
            }
        }
        c if is_of_name(c) => Some(code.find(|c| !is_of_name(c)).unwrap_or(code.len())),
        '*' if code.starts_with("**") => Some(2),
        c => Some(c.len_utf8()),
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Writes `code` with its operators as filters.
fn expressions(out: &mut String, code: &str, levels: usize) -> Option<()> {
    let below = levels.checked_sub(1)?;
    let (mut at, mut before) = (0, "");
    while at < code.len() {
        let token = &code[at..at + token_length(&code[at..])?];
        at += token.len();
        match token.chars().next()? {
            '(' | '[' | '{' => {
                out.push_str(&token[..1]);
                expressions(out, &token[1..token.len() - 1], below)?;
                out.push_str(&token[token.len() - 1..]);
            }
            '\'' | '"' if !["*", "/", "%", "**"].contains(&before) && !before.starts_with(['\'', '"']) => {
                out.push_str(token);
                while let Some(operator) = code[at..].trim_start().strip_prefix('%') {
                    let length = operand_length(operator)?;
                    let operand = operator[..length].trim();
                    out.push_str(&format!("|{FILTER}("));
                    expressions(out, operand, below)?;
                    out.push_str(if is_tuple(operand) { ", true)" } else { ")" });
                    at = code.len() - operator.len() + length;
                }
            }
            _ => out.push_str(token),
        }
        before = if token.trim().is_empty() { before } else { token };
    }
    Some(())
}

/// Bytes of what `%` takes on its right: operands of `**`, each with its signs, attributes, subscripts, calls and filters. `None` if it
/// is not known to end here.
fn operand_length(code: &str) -> Option<usize> {
    let mut rest = code.trim_start();
    loop {
        rest = rest.trim_start_matches(['-', '+', ' ']);
        let first = &rest[..token_length(rest)?];
        if !first.starts_with(['\'', '"', '(', '[', '{']) && !first.starts_with(is_of_name) {
            return None;
        }
        rest = &rest[first.len()..];
        if first.starts_with(|c: char| c.is_ascii_digit()) && first.ends_with(['e', 'E']) {
            return None;
        }
        loop {
            let next = rest.trim_start();
            rest = match next.chars().next() {
                Some('(' | '[') => &next[token_length(next)?..],
                Some('.' | '|') => {
                    let name = next[1..].trim_start();
                    &name[token_length(name)?..]
                }
                _ => break,
            };
        }
        let next = rest.trim_start();
        match next.strip_prefix("**") {
            Some(after) => rest = after.trim_start(),
            // A test would be the operand's.
            None if next.strip_prefix("is").is_some_and(|after| !after.starts_with(is_of_name)) => return None,
            None if next.starts_with(['\'', '"']) => return None,
            None => return Some(code.len() - rest.len()),
        }
    }
}

/// Returns true for parentheses that hold nothing, or a comma that no other brackets hold.
fn is_tuple(operand: &str) -> bool {
    let Some(inner) = operand.strip_prefix('(').filter(|_| token_length(operand) == Some(operand.len())) else {
        return false;
    };
    let (mut at, inner) = (0, &inner[..inner.len() - 1]);
    while let Some(length) = inner.get(at..).and_then(token_length) {
        if inner[at..].starts_with(',') {
            return true;
        }
        at += length;
    }
    inner.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::with_percent_filters;

    #[test]
    fn operators_become_filters() {
        for (source, expected) in [
            ("{{ '%s' % a }}", "{{ '%s'|python_percent(a) }}"),
            ("{{ '%s %s' % (a, b) }}", "{{ '%s %s'|python_percent((a, b), true) }}"),
            ("{{ \"%s\"%(a) ~ 'b' }}", "{{ \"%s\"|python_percent((a)) ~ 'b' }}"),
            ("{{ '%s'%(a,)+'b' }}", "{{ '%s'|python_percent((a,), true)+'b' }}"),
            ("{%- set x = '%d' % m['a'].b(1)|int -%}", "{%- set x = '%d'|python_percent(m['a'].b(1)|int) -%}"),
            ("{{ '%%%s' % a % b }}", "{{ '%%%s'|python_percent(a)|python_percent(b) }}"),
            (
                "{{ f('%s' % '%d' % 1, k='%s' % -x ** 2 * 3) }}",
                "{{ f('%s'|python_percent('%d')|python_percent(1), k='%s'|python_percent(-x ** 2) * 3) }}",
            ),
            ("{{ {'a': '%s' % {'b': {}}} }}", "{{ {'a': '%s'|python_percent({'b': {}})} }}"),
            (
                "{{ '%s' % (a, '%s' % b) if x else '' }}",
                "{{ '%s'|python_percent((a, '%s'|python_percent(b)), true) if x else '' }}",
            ),
        ] {
            assert_eq!(with_percent_filters(source), expected, "{source}");
            assert_eq!(with_percent_filters(expected), expected, "{source}");
        }
    }

    #[test]
    fn all_else_stays() {
        for source in [
            "'a' % b {{ c }}",
            "{% set a = 'x' %}{% if a == \"b\"%}'%s' % c{% endif %}",
            "{# '%s' % a #}{% raw %}{{ '%s' % a }}{% endraw %}",
            "{{ '\\' % a' }}{{ \"'%s' % b\" }}{{ a % 2 }}{{ 'x'|length % 2 }}",
            "{{ a * '%s' % b }}{{ '%s' % 1e-5 }}{{ '%s' % a is string }}",
            "{{ '%s' % ",
            "{{ '%s' % }}",
            "{{ '%s' % (a }}",
            &format!("{{{{ {}'%s' % a", "(".repeat(200_000)),
            &format!("{{{{ '%s' % {}1{} }}}}", "(".repeat(200_000), ")".repeat(200_000)),
        ] {
            assert_eq!(with_percent_filters(source), source);
        }
    }
}
