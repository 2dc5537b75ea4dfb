//! Patterns of the names of checkpoints in a folder: globs with `*`, `?` and `[...]`, several of them between `|`.

use std::fmt;

/// Usual names of checkpoints by trainers.
pub const USUAL: &str = "step_*|iter_*|checkpoint-*|global_step*";

/// Reason why a text is not a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("the pattern `{pattern}` has an empty alternative; write names between `|`, as in `{USUAL}`")]
    Empty { pattern: String },
    #[error("`[` is not closed in the pattern `{pattern}` (character {column}); write `[[]` for the character itself")]
    Unclosed { pattern: String, column: usize },
    #[error("`{from}-{to}` in the pattern `{pattern}` ends before it begins (character {column})")]
    Backwards { pattern: String, from: char, to: char, column: usize },
    #[error(
        "the pattern `{pattern}` names a folder below (character {column}); patterns are of names in the folder itself: write \
         `path = \"${{checkpoint}}/...\"` in the configuration where weights lie deeper"
    )]
    Slash { pattern: String, column: usize },
}

/// A pattern of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    alternatives: Vec<Vec<Token>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Literal(char),
    One,
    Any,
    Set { negated: bool, ranges: Vec<(char, char)> },
}

impl Token {
    fn takes(&self, c: char) -> bool {
        match self {
            Self::Literal(literal) => *literal == c,
            Self::One => true,
            Self::Any => false,
            Self::Set { negated, ranges } => ranges.iter().any(|&(from, to)| (from..=to).contains(&c)) != *negated,
        }
    }
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// What is wrong with it and where.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let mut alternatives = vec![Vec::new()];
        let characters: Vec<char> = text.chars().collect();
        let pattern = || text.to_owned();
        let mut at = 0;
        while let Some(&c) = characters.get(at) {
            let column = at + 1;
            at += 1;
            let token = match c {
                '|' => {
                    alternatives.push(Vec::new());
                    continue;
                }
                '/' => return Err(PatternError::Slash { pattern: pattern(), column }),
                '*' => Token::Any,
                '?' => Token::One,
                '[' => {
                    let inner = characters.get(at..).unwrap_or_default();
                    // The first character of a set may be `]`.
                    let skipped = usize::from(matches!(inner.first(), Some('!' | '^')));
                    let end = inner.iter().skip(skipped + 1).position(|c| *c == ']').map(|end| end + skipped + 1);
                    let end = end.ok_or_else(|| PatternError::Unclosed { pattern: pattern(), column })?;
                    let members = inner.get(skipped..end).unwrap_or_default();
                    let ranges = ranges(members).map_err(|(from, to)| PatternError::Backwards {
                        pattern: pattern(),
                        from,
                        to,
                        column,
                    })?;
                    at += end + 1;
                    Token::Set { negated: skipped == 1, ranges }
                }
                c => Token::Literal(c),
            };
            if let Some(last) = alternatives.last_mut() {
                last.push(token);
            }
        }
        if alternatives.iter().any(Vec::is_empty) {
            return Err(PatternError::Empty { pattern: pattern() });
        }
        Ok(Self { text: pattern(), alternatives })
    }

    /// Returns whether a name matches. Names that begin with a dot never do, unless the pattern does.
    pub fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        let is_hidden = name.first() == Some(&'.');
        let may = |tokens: &&Vec<Token>| !is_hidden || tokens.first() == Some(&Token::Literal('.'));
        self.alternatives.iter().filter(may).any(|tokens| matches(tokens, &name))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn ranges(members: &[char]) -> Result<Vec<(char, char)>, (char, char)> {
    let mut ranges = Vec::new();
    let mut at = 0;
    while let Some(&from) = members.get(at) {
        let to = match (members.get(at + 1), members.get(at + 2)) {
            (Some('-'), Some(&to)) => to,
            _ => from,
        };
        at += if matches!((members.get(at + 1), members.get(at + 2)), (Some('-'), Some(_))) { 3 } else { 1 };
        if to < from {
            return Err((from, to));
        }
        ranges.push((from, to));
    }
    Ok(ranges)
}

/// Goes back to the last `*` where the rest does not fit: linear in practice, never exponential.
fn matches(tokens: &[Token], name: &[char]) -> bool {
    let (mut token, mut at, mut star) = (0, 0, None);
    while let Some(&c) = name.get(at) {
        match tokens.get(token) {
            Some(Token::Any) => {
                star = Some((token, at));
                token += 1;
            }
            Some(one) if one.takes(c) => {
                token += 1;
                at += 1;
            }
            _ => match star {
                Some((of, from)) => {
                    star = Some((of, from + 1));
                    (token, at) = (of + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    tokens.get(token..).unwrap_or_default().iter().all(|token| *token == Token::Any)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_names_are_meant_and_others_are_not() {
        let usual = Pattern::parse(USUAL).unwrap();
        for name in ["step_1", "iter_0001000", "checkpoint-500", "global_step1000"] {
            assert!(usual.matches(name), "{name}");
        }
        for name in ["tmp-checkpoint-500", "step", ".step_1", "logs", "latest", ""] {
            assert!(!usual.matches(name), "{name}");
        }
        let sets = Pattern::parse("[a-c]?[!0-9]*x|[]]").unwrap();
        assert!(sets.matches("bzqabcx") && sets.matches("]") && !sets.matches("bz1x") && !sets.matches("dzqx"));
        assert!(Pattern::parse(".*").unwrap().matches(".hidden"));
        assert!(!Pattern::parse("*a*a*a*a*b").unwrap().matches(&"a".repeat(200)));
    }

    #[test]
    fn what_is_not_a_pattern_is_told_with_its_place() {
        let told = |text: &str| Pattern::parse(text).unwrap_err().to_string();
        assert_eq!(
            told("step_[0-9"),
            "`[` is not closed in the pattern `step_[0-9` (character 6); write `[[]` for the character itself"
        );
        assert!(told("a||b").starts_with("the pattern `a||b` has an empty alternative"));
        assert!(told("").contains("empty alternative"));
        assert!(told("[9-0]*").contains("`9-0` in the pattern `[9-0]*` ends before it begins (character 1)"));
        assert!(told("a/b").contains("write `path = \"${checkpoint}/...\"`"), "{}", told("a/b"));
    }
}
