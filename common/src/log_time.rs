//! The time before each line of a log: UTC, to the second, in every file and wherever standard error is not a terminal.

use std::fmt;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};

/// Bytes of `2026-11-27T02:15:30`.
const TO_THE_SECOND: usize = 19;

/// The time now: `2026-11-27T02:15:30Z`.
pub fn log_time() -> String {
    let mut time = String::new();
    // Writing to a String cannot fail.
    let _ = SystemTime.format_time(&mut Writer::new(&mut time));
    time.truncate(TO_THE_SECOND);
    time + "Z"
}

/// A line with the time before it.
pub fn timed(line: &str) -> String {
    format!("{}  {}", log_time(), untimed(line))
}

/// All lines of a text with the time before each, each with its end.
pub(crate) fn timed_lines(text: &str) -> String {
    text.lines().map(|line| timed(line) + "\n").collect()
}

/// A line without the time that it already begins with.
fn untimed(line: &str) -> &str {
    const FORM: &[u8] = b"0000-00-00T00:00:00Z  ";
    let is_time = |time: &[u8]| {
        time.iter().zip(FORM).all(|(byte, form)| if *form == b'0' { byte.is_ascii_digit() } else { byte == form })
    };
    match line.as_bytes().split_at_checked(FORM.len()) {
        Some((time, _)) if is_time(time) => line.get(FORM.len()..).unwrap_or(line),
        _ => line,
    }
}

/// The time of events.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LogTime;

impl FormatTime for LogTime {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        writer.write_str(&log_time())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_one_time_of_one_form() {
        let line = timed("infer  11,128/20,000");
        assert_eq!(untimed(&line), "infer  11,128/20,000");
        assert_eq!(line.len(), "2026-11-27T02:15:30Z  infer  11,128/20,000".len());
        assert_eq!(untimed(&timed(&line)), "infer  11,128/20,000", "{line}");
        assert_eq!(untimed("2026-11-26 müde, as it is"), "2026-11-26 müde, as it is");
        assert_eq!(timed_lines("a\nb").lines().map(untimed).collect::<Vec<_>>(), ["a", "b"]);
        let mut of_event = String::new();
        LogTime.format_time(&mut Writer::new(&mut of_event)).unwrap();
        assert_eq!((of_event.len(), of_event.ends_with('Z')), (20, true), "{of_event}");
    }
}
