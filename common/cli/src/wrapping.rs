//! Text within the width of a terminal: lines are broken between words, and a word that is longer than a line behind a mark.

use unicode_width::UnicodeWidthStr;

/// Characters behind which a word may be broken.
const MARKS: [char; 6] = ['/', '_', '-', '.', ',', ':'];

/// Narrower than this no line is made.
const NARROWEST: usize = 20;

/// Lines of one line of text, none wider than `width`. Those after the first are set in by `indent` more than the first is.
pub fn wrapped(line: &str, width: usize, indent: usize) -> Vec<String> {
    let width = width.max(NARROWEST);
    if line.width() <= width {
        return vec![line.to_owned()];
    }
    let begins_at = (line.len() - line.trim_start_matches(' ').len()).min(width / 2);
    let further = (begins_at + indent).min(width / 2);
    let mut lines = vec![" ".repeat(begins_at)];
    let mut is_empty = true;
    for word in line.split(' ').filter(|word| !word.is_empty()) {
        for (at, piece) in pieces(word, width - further).into_iter().enumerate() {
            let gap = usize::from(!is_empty && at == 0);
            let used = lines.last().map_or(0, |line| line.width());
            // A piece of a word that is broken is never on the line of the piece before it.
            if !is_empty && (at > 0 || used + gap + piece.width() > width) {
                lines.push(" ".repeat(further));
                is_empty = true;
            }
            let Some(line) = lines.last_mut() else { continue };
            if !is_empty {
                line.push(' ');
            }
            line.push_str(&piece);
            is_empty = false;
        }
    }
    lines
}

/// A text of several lines, each ended by a newline, within `width`; `None` leaves it as it is.
pub fn wrapped_text(text: &str, width: Option<usize>, indent: usize) -> String {
    let Some(width) = width else { return text.to_owned() };
    text.lines().flat_map(|line| wrapped(line, width, indent)).map(|line| line + "\n").collect()
}

/// Returns whether every line of a text fits.
pub fn fits(text: &str, width: Option<usize>) -> bool {
    width.is_none_or(|width| text.lines().all(|line| line.width() <= width))
}

/// A word in pieces that are no wider than `room`.
fn pieces(word: &str, room: usize) -> Vec<String> {
    if word.width() <= room {
        return vec![word.to_owned()];
    }
    let mut pieces = vec![String::new()];
    for part in word.split_inclusive(MARKS) {
        let Some(piece) = pieces.last_mut() else { continue };
        if piece.width() + part.width() <= room {
            piece.push_str(part);
            continue;
        }
        pieces.push(String::new());
        for letter in part.chars() {
            let Some(piece) = pieces.last_mut() else { continue };
            if piece.width() + letter.encode_utf8(&mut [0; 4]).width() > room {
                pieces.push(letter.into());
            } else {
                piece.push(letter);
            }
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_go_to_the_next_line_and_long_ones_are_broken_behind_a_mark() {
        assert_eq!(wrapped("as it is", 80, 4), ["as it is"]);
        assert_eq!(
            wrapped("  one two three four five six", 20, 2),
            ["  one two three four", "    five six"],
            "set in as the first line is, and by the indent"
        );
        assert_eq!(wrapped("see /scratch/people/me/outputs", 20, 2), ["see /scratch/people/", "  me/outputs"]);
        assert_eq!(wrapped_text("a\nb b\n", None, 2), "a\nb b\n");
        assert!(fits("a long line\nb", Some(11)) && !fits("a long line\nb", Some(10)));
    }

    proptest! {
        #[test]
        fn no_line_is_wider_and_no_letter_is_lost(text in " {0,6}[a-z/_中 ]{0,200}", width in 20_usize..100) {
            let lines = wrapped(&text, width, 4);
            prop_assert!(lines.iter().all(|line| line.width() <= width), "{lines:?}");
            let letters = |text: &str| text.chars().filter(|letter| *letter != ' ').collect::<String>();
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
        }
    }
}
