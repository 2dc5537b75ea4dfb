//! Finds `{name}` in templates.

/// A stretch of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Atom<'a> {
    /// One character of text.
    Char(char),
    /// A placeholder that names one of the columns, braces included.
    Column(&'a str),
    /// The ice token.
    Ice(&'a str),
}

impl Atom<'_> {
    /// Bytes in the template.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Char(c) => c.len_utf8(),
            Self::Column(text) | Self::Ice(text) => text.len(),
        }
    }
}

/// The template as characters, placeholders of known columns and ice tokens.
pub(super) fn atoms<'a>(template: &'a str, columns: &[&str], ice_token: &str) -> Vec<Atom<'a>> {
    let mut atoms = Vec::new();
    let mut rest = template;
    while let Some(c) = rest.chars().next() {
        let atom = if !ice_token.is_empty() && rest.starts_with(ice_token) {
            Atom::Ice(&rest[..ice_token.len()])
        } else {
            match name_at(rest) {
                Some(name) if columns.contains(&name) => Atom::Column(&rest[..name.len() + 2]),
                _ => Atom::Char(c),
            }
        };
        rest = &rest[atom.len()..];
        atoms.push(atom);
    }
    atoms
}

/// Returns the text between the braces when `text` begins with a placeholder of any column name without braces in it.
fn name_at(text: &str) -> Option<&str> {
    let (name, _) = text.strip_prefix('{')?.split_once('}')?;
    (!name.is_empty() && !name.contains('{')).then_some(name)
}

/// Every `{name}` of the template with the character before it.
pub(super) fn names(template: &str) -> Vec<(Option<char>, &str)> {
    let starts = template.match_indices('{');
    starts.filter_map(|(at, _)| Some((template[..at].chars().next_back(), name_at(&template[at..])?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_columns_are_one_atom() {
        let found = atoms("a{q}{x}</E>", &["q"], "</E>");
        let chars = ['{', 'x', '}'].map(Atom::Char);
        assert_eq!(found[..2], [Atom::Char('a'), Atom::Column("{q}")]);
        assert_eq!(found[2..5], chars);
        assert_eq!(found[5..], [Atom::Ice("</E>")]);
        assert_eq!(names("a{q} {x y}{{z}}{}"), [(Some('a'), "q"), (Some(' '), "x y"), (Some('{'), "z")]);
    }
}
