//! Templates of row expressions: text with `{path}` in it.

use crate::read::fields;
use crate::report::check::Check;
use crate::syntax::tree::Node;
use compass_settings::Piece;

/// The pieces of the template in `node`; braces that do not match are reported.
pub(crate) fn read(check: &mut Check, key: &str, node: &Node) -> Option<Vec<Piece>> {
    let text = fields::text(check, key, node)?;
    match parse(text) {
        Ok(pieces) => Some(pieces),
        Err(why) => {
            let help = "a column stands in braces, as in `{question}`; a brace itself is written twice, `{{` or `}}`";
            check.error(node.span, format!("`{key}` cannot be read: {why}"), Some(help.into()));
            None
        }
    }
}

fn parse(text: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        plain.push_str(before);
        let after = &from[1..];
        let brace = &from[..1];
        if let Some(after) = after.strip_prefix(brace) {
            plain.push_str(brace);
            rest = after;
            continue;
        }
        if brace == "}" {
            return Err("`}` without `{`".into());
        }
        let Some((path, after)) = after.split_once('}') else { return Err("`{` without `}`".into()) };
        if path.trim().is_empty() || path.contains('{') {
            return Err(format!("`{{{path}}}` names no column"));
        }
        if !plain.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
        }
        pieces.push(Piece::Path(path.trim().into()));
        rest = after;
    }
    plain.push_str(rest);
    if !plain.is_empty() {
        pieces.push(Piece::Text(plain));
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces() {
        let (text, path) = (|text: &str| Piece::Text(text.into()), |path: &str| Piece::Path(path.into()));
        assert_eq!(parse("").unwrap(), []);
        assert_eq!(parse("{a} and {b.0}!").unwrap(), [path("a"), text(" and "), path("b.0"), text("!")]);
        assert_eq!(parse("\\boxed{{{x}}}").unwrap(), [text("\\boxed{"), path("x"), text("}")]);
        for bad in ["{", "a}", "{}", "{a", "{a{b}}"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
