//! The part of a text that math-verify parses: of the first patterns that match, the match that ends last
//! (`extract_target_from_pred` with `first_match`).

use super::boxes::{Boxes, contents};
use super::patterns::{Groups, LINKS, NUMBER, Search};
use compass_postprocess::Undecided;

/// A match by its place.
struct Match<'t> {
    start: usize,
    end: usize,
    kind: Groups,
    groups: compass_postprocess::Groups<'t>,
}

/// Returns what is parsed of `text`; `None` where no pattern matches.
///
/// # Errors
/// A pattern takes too many steps.
pub(super) fn extract(text: &str, searches: &[Search]) -> Result<Option<String>, Undecided> {
    let lower = text.to_ascii_lowercase();
    // A form whose word is missing is not searched for.
    let is_possible = |search: &&Search| match (search.groups, search.priority) {
        (Groups::Box, _) => true,
        (_, 0 | 50) if !lower.contains("\\boxed{") => lower.contains("final answer"),
        (_, 100 | 200) => lower.contains("answer"),
        _ => true,
    };
    let possible: Vec<&Search> = searches.iter().filter(is_possible).collect();
    for searches in possible.chunk_by(|one, other| one.priority == other.priority) {
        let mut last: Option<Match<'_>> = None;
        for Search { groups: kind, pattern, .. } in searches {
            for (range, groups) in pattern.matches(text)? {
                let found = Match { start: range.start, end: range.end, kind: *kind, groups };
                let is_later = last
                    .as_ref()
                    .is_none_or(|last| found.end > last.end || found.end == last.end && found.start < last.start);
                if is_later {
                    last = Some(found);
                }
            }
        }
        if let Some(found) = last {
            return Ok(Some(found.parsed()));
        }
    }
    Ok(None)
}

impl Match<'_> {
    fn parsed(&self) -> String {
        let group = |at: usize| self.groups.get(at).copied().flatten();
        match self.kind {
            Groups::Box => contents(group(1).unwrap_or_default(), Boxes::Last),
            Groups::Chain(width) => {
                let links = (0..LINKS).filter_map(|link| {
                    let (first, sign) = (link * width + 1, (link + 1) * width);
                    let content = (first..sign).find_map(group)?;
                    Some(with_percent(contents(content, Boxes::All), group(sign)))
                });
                links.collect::<Vec<_>>().join(", ")
            }
            Groups::Calculation => group(1).unwrap_or_default().to_owned(),
            Groups::Number => number(&self.groups[1..]),
            Groups::CalculationOrNumber => match group(1) {
                Some(calculation) => calculation.to_owned(),
                None => number(&self.groups[2..]),
            },
        }
    }
}

/// A number of the groups of one: its digits without separators, its decimals behind a point.
fn number(groups: &[Option<&str>]) -> String {
    let Some((sign, digits)) = groups.get(..NUMBER).and_then(<[_]>::split_last) else { return String::new() };
    let [first, first_decimals, second, second_decimals, decimals, whole] = digits else { return String::new() };
    let integer = [first, second, whole].into_iter().copied().flatten().next().unwrap_or_default();
    let decimals =
        [first_decimals, second_decimals, decimals].into_iter().copied().flatten().next().unwrap_or_default();
    let integer: String = integer.chars().filter(|digit| !matches!(digit, ',' | ' ')).collect();
    with_percent(format!("{integer}{}", decimals.replace(',', ".")), *sign)
}

fn with_percent(text: String, sign: Option<&str>) -> String {
    if sign.is_some() { text + "\\%" } else { text }
}
