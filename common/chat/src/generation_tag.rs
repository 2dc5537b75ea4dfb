//! `{% generation %}` blocks: they mark an assistant's text for training masks, and have no effect on the text.

/// Replaces the two tags by ones without effect that keep their whitespace control.
pub(super) fn strip(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(start) = rest.find("{%") {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let Some(end) = rest.find("%}") else { break };
        let (tag, after) = rest.split_at(end + 2);
        let inner = &tag[2..tag.len() - 2];
        let marks = ['-', '+'];
        let left = inner.strip_prefix(marks).map_or("", |_| &inner[..1]);
        let right = inner.strip_suffix(marks).map_or("", |_| &inner[inner.len() - 1..]);
        match inner.trim_matches(marks).trim() {
            "generation" => out.push_str(&format!("{{%{left} if true {right}%}}")),
            "endgeneration" => out.push_str(&format!("{{%{left} endif {right}%}}")),
            _ => out.push_str(tag),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::strip;

    #[test]
    fn only_the_two_tags_change() {
        let source = "{% for m in messages %}{%- generation -%}a{% endgeneration %}{% endfor %} {% generation";
        let expected = "{% for m in messages %}{%- if true -%}a{% endif %}{% endfor %} {% generation";
        assert_eq!(strip(source), expected);
    }
}
