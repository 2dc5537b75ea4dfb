//! Notices as they are sent: as JSON for programs and as a text for people.

use compass_settings::NotifyEvent;
use serde_json::{Value, json};

/// Most of a text that is sent, in bytes; what is longer stands in the run folder. A bot of Lark takes requests of 20 kB.
const MOST_OF_BOT: usize = 16 << 10;
const MOST_TEXT: usize = 256 << 10;

/// Something to tell.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Notice {
    pub event: NotifyEvent,
    /// Name of the run folder.
    pub run: String,
    /// Path of the run folder.
    pub folder: String,
    /// The exit code, where the job is over.
    pub code: Option<u8>,
    /// Recorded and expected samples, where they were counted.
    pub samples: Option<(u64, u64)>,
    /// Reason why the job was cancelled, if it was.
    pub cancelled: Option<String>,
    /// One sentence.
    pub(super) headline: String,
    /// The table, or the reasons.
    pub details: String,
}

impl Notice {
    /// Returns the body that a webhook and a command get.
    pub(super) fn json(&self) -> Value {
        let samples = self.samples.map(|(recorded, expected)| json!({"recorded": recorded, "expected": expected}));
        json!({
            "event": self.event.name(), "run": self.run, "folder": self.folder, "exit_code": self.code,
            "samples": samples, "cancelled": self.cancelled, "text": self.text(MOST_TEXT),
        })
    }

    /// Returns the body that a bot of Lark or Feishu gets: a message of type `text`.
    pub(super) fn lark(&self) -> Value {
        json!({"msg_type": "text", "content": {"text": self.text(MOST_OF_BOT)}})
    }

    fn text(&self, most: usize) -> String {
        let text = format!("{}\n{}", self.headline, self.details);
        let text = text.trim_end();
        if text.len() <= most {
            return text.to_owned();
        }
        let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let whole = text.get(..end).unwrap_or_default();
        // Rows are left whole.
        let rows = whole.rsplit_once('\n').map_or(whole, |(rows, _)| rows);
        format!("{rows}\n... the rest is in {}", self.folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(details: &str) -> Notice {
        Notice {
            event: NotifyEvent::End,
            run: "20260102_030405".into(),
            folder: "/runs/20260102_030405".into(),
            code: Some(0),
            samples: Some((8, 8)),
            cancelled: None,
            headline: "run 20260102_030405 has ended".into(),
            details: details.into(),
        }
    }

    #[test]
    fn programs_get_an_object_and_people_a_text() {
        let notice = notice("dataset  score\nsums     100.00\n");
        let text = "run 20260102_030405 has ended\ndataset  score\nsums     100.00";
        assert_eq!(
            notice.json(),
            json!({
                "event": "end", "run": "20260102_030405", "folder": "/runs/20260102_030405", "exit_code": 0,
                "samples": {"recorded": 8, "expected": 8}, "cancelled": null, "text": text,
            })
        );
        assert_eq!(notice.lark(), json!({"msg_type": "text", "content": {"text": text}}));
    }

    #[test]
    fn a_long_table_is_cut_between_rows() {
        let long = notice(&"müde  100.00\n".repeat(5_000));
        assert!(!long.text(MOST_TEXT).contains("the rest"), "a program gets more than a bot");
        let text = long.text(MOST_OF_BOT);
        assert!(text.len() <= MOST_OF_BOT + 60, "{}", text.len());
        assert!(
            text.ends_with("müde  100.00\n... the rest is in /runs/20260102_030405"),
            "{}",
            &text[text.len() - 80..]
        );
    }
}
