//! Edit distance around the diagonal of the matrix, with the edits made.

const BEAM: usize = 25;
const UNREACHED: u64 = 10_000_000_000_000_000;

/// One edit on the way from the words to the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edit {
    /// The same word.
    Keep,
    /// Another word.
    Substitute,
    /// A word of the target is missing.
    Insert,
    /// A word is not in the target.
    Delete,
}

/// The distance and the edits in order. Only a band of 25 words, or more for very unequal lengths, on either side of the
/// diagonal is searched; ties prefer keeping and substituting, then deleting.
pub(super) fn edit_distance(words: &[&str], target: &[&str]) -> (u64, Vec<Edit>) {
    let width = target.len() + 1;
    let mut table = vec![(UNREACHED, Edit::Keep); (words.len() + 1) * width];
    for (at, cell) in table[..width].iter_mut().enumerate() {
        *cell = (at as u64, Edit::Insert);
    }
    let ratio = if words.is_empty() { 1.0 } else { target.len() as f64 / words.len() as f64 };
    let beam = if (BEAM as f64) < ratio / 2.0 { (ratio / 2.0 + BEAM as f64).ceil() as usize } else { BEAM };
    for i in 1..=words.len() {
        let diagonal = (i as f64 * ratio).floor() as usize;
        let end = if i == words.len() { width } else { width.min(diagonal + beam) };
        for j in diagonal.saturating_sub(beam)..end {
            let above = table[(i - 1) * width + j].0;
            if j == 0 {
                table[i * width] = (above + 1, Edit::Delete);
                continue;
            }
            let same = words[i - 1] == target[j - 1];
            let edit = if same { Edit::Keep } else { Edit::Substitute };
            let substituted = table[(i - 1) * width + j - 1].0 + u64::from(!same);
            let inserted = table[i * width + j - 1].0 + 1;
            for (cost, edit) in [(substituted, edit), (above + 1, Edit::Delete), (inserted, Edit::Insert)] {
                if cost < table[i * width + j].0 {
                    table[i * width + j] = (cost, edit);
                }
            }
        }
    }
    let (mut i, mut j) = (words.len(), target.len());
    let mut trace = Vec::with_capacity(i.max(j));
    while i > 0 || j > 0 {
        let edit = table[i * width + j].1;
        trace.push(edit);
        // No cell on the way is unreached; at an edge only one way is left.
        let (up, left) = (edit != Edit::Insert && i > 0, edit != Edit::Delete && j > 0);
        (i, j) = (i - usize::from(up || j == 0), j - usize::from(left || i == 0));
    }
    trace.reverse();
    (table[table.len() - 1].0, trace)
}
