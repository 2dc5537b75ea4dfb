//! Longest common subsequences.

/// The length of the longest common subsequence.
pub fn lcs_length<T: PartialEq>(left: &[T], right: &[T]) -> usize {
    let mut row = vec![0; right.len() + 1];
    for a in left {
        let mut diagonal = 0;
        for (j, b) in right.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = if a == b { diagonal + 1 } else { above.max(row[j]) };
            diagonal = above;
        }
    }
    row[right.len()]
}

/// The way to walk back where both ways keep the length: peers differ, and with them which of several longest they find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tie {
    /// Shorten the left side.
    Left,
    /// Shorten the right side.
    Right,
}

/// The places in `left` of one longest common subsequence, ascending.
pub(super) fn lcs_places<T: PartialEq>(left: &[T], right: &[T], tie: Tie) -> Vec<usize> {
    let width = right.len() + 1;
    let mut table = vec![0u32; (left.len() + 1) * width];
    for (i, a) in left.iter().enumerate() {
        for (j, b) in right.iter().enumerate() {
            table[(i + 1) * width + j + 1] = if a == b {
                table[i * width + j] + 1
            } else {
                table[i * width + j + 1].max(table[(i + 1) * width + j])
            };
        }
    }
    let (mut i, mut j) = (left.len(), right.len());
    let mut places = Vec::new();
    while i > 0 && j > 0 {
        let (shorter_left, shorter_right) = (table[(i - 1) * width + j], table[i * width + j - 1]);
        if left[i - 1] == right[j - 1] {
            places.push(i - 1);
            (i, j) = (i - 1, j - 1);
        } else if shorter_left > shorter_right || (shorter_left == shorter_right && tie == Tie::Left) {
            i -= 1;
        } else {
            j -= 1;
        }
    }
    places.reverse();
    places
}
