//! Marks of the families of models that think, as their chat templates and the parsers of vLLM and SGLang have them.

use super::marks::{AnswerMarks, Marks};

/// A family of models by the marks that they share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    /// Name in a configuration.
    pub name: &'static str,
    starts: &'static [&'static str],
    ends: &'static [&'static str],
    answer: Option<(&'static str, &'static str)>,
}

const fn family(name: &'static str, start: &'static [&'static str], end: &'static [&'static str]) -> Family {
    Family { name, starts: start, ends: end, answer: None }
}

/// The families that are known.
pub static FAMILIES: [Family; 13] = [
    // DeepSeek, Qwen, GLM, Nemotron, MiMo, Step, MiniMax-M2, Kimi K2, QwQ.
    family("think", &["<think>"], &["</think>"]),
    // OLMo 3, ERNIE 4.5.
    Family { answer: Some(("<response>", "</response>")), ..family("think-response", &["<think>"], &["</think>"]) },
    // Hunyuan A13B.
    Family { answer: Some(("<answer>", "</answer>")), ..family("think-answer", &["<think>"], &["</think>"]) },
    // Magistral, Mistral Small 4.
    family("mistral", &["[THINK]"], &["[/THINK]"]),
    // gpt-oss.
    family("harmony", &["<|channel|>analysis<|message|>"], &["<|end|><|start|>assistant<|channel|>final<|message|>"]),
    // Gemma 4.
    family("gemma", &["<|channel>thought\n"], &["<channel|>"]),
    // Seed-OSS.
    family("seed", &["<seed:think>"], &["</seed:think>"]),
    // MiniMax-M3.
    family("minimax", &["<mm:think>"], &["</mm:think>"]),
    // Kimi 1.5.
    family("kimi", &["◁think▷"], &["◁/think▷"]),
    // Kimi K3.
    family("kimi-k3", &["<|open|>think<|sep|>"], &["<|close|>think<|sep|>"]),
    // Command A with reasoning.
    Family {
        answer: Some(("<|START_TEXT|>", "<|END_TEXT|>")),
        ..family("command", &["<|START_THINKING|>"], &["<|END_THINKING|>"])
    },
    Family {
        answer: Some(("<|START_RESPONSE|>", "<|END_RESPONSE|>")),
        ..family("command-response", &["<|START_THINKING|>"], &["<|END_THINKING|>"])
    },
    // Granite 3.2.
    family(
        "granite",
        &["Here is my thought process:", "Here's my thought process:"],
        &["Here is my response:", "Here's my response:"],
    ),
];

impl Family {
    /// Returns the family of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        FAMILIES.iter().find(|family| family.name == name)
    }

    /// Returns the family whose marks stand in the source of a chat template: the end of thinking, or its start, and the mark
    /// of the answer where the family has one.
    pub fn in_source(source: &str) -> Option<&'static Self> {
        // Templates write line breaks in their texts as `\n`.
        let has = |mark: &str| source.contains(mark.trim_end());
        let matches = |family: &&Self| {
            let thinks = family.starts.iter().chain(family.ends).any(|mark| has(mark));
            thinks && family.answer.is_none_or(|(open, _)| has(open))
        };
        // A family with marks of the answer says more than one without.
        FAMILIES.iter().filter(matches).max_by_key(|family| (family.answer.is_some(), family.ends.len()))
    }

    /// Returns its marks.
    pub fn marks(&self) -> Marks {
        let owned = |marks: &[&str]| marks.iter().map(|mark| (*mark).to_owned()).collect();
        let answer = self.answer.map(|(open, close)| AnswerMarks { open: open.to_owned(), close: close.to_owned() });
        Marks { starts: owned(self.starts), ends: owned(self.ends), answer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_names_its_family() {
        let name = |source: &str| Family::in_source(source).map(|family| family.name);
        assert_eq!(name("{{ '<|im_start|>assistant\\n<think>\\n' }}"), Some("think"));
        assert_eq!(name("{{ content.split('</think>')[-1] }}"), Some("think"));
        assert_eq!(name("<think> </think> <response>"), Some("think-response"));
        assert_eq!(name("<think> </think> <answer>"), Some("think-answer"));
        assert_eq!(name("{{ '<|channel>thought\\n' }}"), Some("gemma"));
        assert_eq!(name("<|START_THINKING|> <|START_RESPONSE|>"), Some("command-response"));
        assert_eq!(name("{{ messages[0].content }}"), None);
        for family in &FAMILIES {
            assert_eq!(Family::named(family.name), Some(family));
        }
    }
}
