//! From the name and the parameters in a configuration to the postprocessor.

use super::arguments::Arguments;
use super::*;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Postprocessors without parameters, by their short names; the first name of each is the one shown.
const PLAIN: [(&str, Postprocessor); 52] = [
    ("general", Postprocessor::General),
    ("general_cn", Postprocessor::GeneralCn),
    ("first_capital", Postprocessor::FirstCapital),
    ("first_capital_multi", Postprocessor::FirstCapitalMulti),
    ("last_capital", Postprocessor::LastCapital),
    ("multiple_select", Postprocessor::MultipleSelect),
    ("gpqa_simple_eval", Postprocessor::GpqaSimpleEval),
    ("first_number", Postprocessor::FirstNumber),
    ("infinitebench_first_number", Postprocessor::FirstUnsignedNumber),
    ("gsm8k", Postprocessor::Gsm8k),
    ("gsm8k_dataset", Postprocessor::Gsm8kDataset),
    ("math", Postprocessor::Math),
    ("math_v2", Postprocessor::MathV2),
    ("math_boxed", Postprocessor::MathBoxed),
    ("math_intern", Postprocessor::MathIntern),
    ("agieval_math", Postprocessor::AgievalMath),
    ("humaneval", Postprocessor::Humaneval),
    ("humaneval_v2", Postprocessor::HumanevalV2),
    ("humaneval_v3", Postprocessor::HumanevalV3),
    ("humaneval_internal_v1", Postprocessor::HumanevalInternalV1),
    ("humaneval_gpt", Postprocessor::HumanevalInternalV1),
    ("humaneval_internal_v2", Postprocessor::HumanevalInternalV2),
    ("mbpp", Postprocessor::Mbpp),
    ("mbpp_v2", Postprocessor::MbppV2),
    ("bbh_mcq", Postprocessor::BbhMcq),
    ("charm_reason", Postprocessor::BbhMcq),
    ("bbh_freeform", Postprocessor::BbhFreeform),
    ("bbeh_mcq", Postprocessor::BbehMcq),
    ("bbeh_freeform", Postprocessor::BbehFreeform),
    ("needlebench", Postprocessor::Needlebench),
    ("needlebench_dataset", Postprocessor::Needlebench),
    ("strategyqa", Postprocessor::Strategyqa),
    ("strategyqa_pred", Postprocessor::Strategyqa),
    ("strategyqa_dataset", Postprocessor::StrategyqaDataset),
    ("theoremqa", Postprocessor::Theoremqa),
    ("theoremqa_v2", Postprocessor::TheoremqaV2),
    ("xsum", Postprocessor::Xsum),
    ("flores", Postprocessor::Flores),
    ("flores_chinese", Postprocessor::FloresChinese),
    ("lcsts", Postprocessor::Lcsts),
    ("record", Postprocessor::Record),
    ("cmrc", Postprocessor::Cmrc),
    ("drcd", Postprocessor::Cmrc),
    ("longbench", Postprocessor::Longbench),
    ("triviaqa", Postprocessor::Longbench), // OpenCompass's function of that name is LongBench's
    ("trec", Postprocessor::Longbench),
    ("lsht", Postprocessor::Longbench),
    ("samsum", Postprocessor::Longbench),
    ("crowspairs", Postprocessor::Crowspairs),
    ("triviaqa_answer", Postprocessor::TriviaqaAnswer),
    ("nq_answer", Postprocessor::NqAnswer),
    ("lambada_answer", Postprocessor::LambadaAnswer),
];

/// Postprocessors with parameters.
const WITH_PARAMETERS: [&str; 11] = [
    "answer",
    "first_option",
    "last_option",
    "match_answer_pattern",
    "xml_tag",
    "think_pred",
    "extract_non_reasoning_content",
    "rm_<think>_before_eval",
    "general_eval",
    "mathbench",
    "mgsm",
];

impl Postprocessor {
    /// Every short name.
    pub fn names() -> impl Iterator<Item = &'static str> {
        PLAIN.iter().map(|(name, _)| *name).chain(WITH_PARAMETERS)
    }

    /// The postprocessor that `written` names: a short name, OpenCompass's registered name (`first-capital`,
    /// `specific-xml-tag`), its function (`first_capital_postprocess`) or that function's path. `parameters` are the
    /// function's keyword arguments.
    pub fn named(written: &str, parameters: &Map<String, Value>) -> Result<Self, NameError> {
        let name = short(written);
        let arguments = Arguments { name: &name, parameters };
        if let Some((_, plain)) = PLAIN.iter().find(|(known, _)| *known == name) {
            arguments.only(&[])?;
            return Ok(plain.clone());
        }
        match name.as_str() {
            "answer" => Ok(Self::Answer(arguments.answer_kind()?)),
            "first_option" => {
                arguments.only(&["options", "cushion"])?;
                let options = Letters::new(arguments.text("options", "\"ABCD\"")?)?;
                Ok(Self::FirstOption(FirstOption::new(options, arguments.flag("cushion", true)?)))
            }
            "last_option" => {
                arguments.only(&["options"])?;
                Ok(Self::LastOption(Letters::new(arguments.text("options", "\"ABCD\"")?)?))
            }
            "match_answer_pattern" => {
                arguments.only(&["answer_pattern"])?;
                let pattern = arguments.text("answer_pattern", "'(?i)answer\\s*:\\s*([A-D])'")?;
                Ok(Self::MatchAnswerPattern(Pattern::with_group(pattern)?))
            }
            "math_judement_preprocess" => {
                arguments.only(&[])?;
                Ok(Self::MatchAnswerPattern(Pattern::with_group(r"(?i)ANSWER\s*:\s*([^\n]+)")?))
            }
            "xml_tag" | "specific_xml_tag" => {
                arguments.only(&["tag"])?;
                Ok(Self::XmlTag(Tag::new(arguments.text("tag", "\"<answer>\"")?)?))
            }
            "think_pred" => {
                arguments.only(&["re_pattern"])?;
                let pattern = arguments.text("re_pattern", "'</think>(.*)'")?;
                Ok(Self::ThinkPred(Pattern::with_group(pattern)?))
            }
            "extract_non_reasoning_content" | "rm_<think>_before_eval" => {
                arguments.only(&["think_start_token", "think_end_token"])?;
                let default = ThinkTokens::default();
                let token = |key, default| arguments.optional_text(key).map(|token| token.unwrap_or(default));
                let start = token("think_start_token", default.start)?;
                let end = token("think_end_token", default.end)?;
                Ok(Self::ExtractNonReasoningContent(ThinkTokens { start, end }))
            }
            "general_eval" | "general_eval_wrapper" => {
                let Some(inner) = arguments.optional_text("postprocess")? else {
                    arguments.only(&[])?;
                    return Ok(Self::GeneralEval(None));
                };
                let mut rest = parameters.clone();
                rest.shift_remove("postprocess");
                Ok(Self::GeneralEval(Some(Box::new(Self::named(&inner, &rest)?))))
            }
            "mathbench" => {
                arguments.only(&["name"])?;
                Ok(Self::Mathbench { chinese: arguments.text("name", "\"cloze_en\"")?.contains("_cn") })
            }
            "mgsm" => {
                arguments.only(&["lang"])?;
                let language = arguments.text("lang", "\"en\"")?;
                let answer = MGSM_ANSWERS.iter().find(|(code, _)| *code == language);
                answer.map(|(_, answer)| Self::Mgsm { answer: (*answer).into() }).ok_or(NameError::Language(language))
            }
            _ => Err(NameError::Unknown(written.into())),
        }
    }
}

impl Arguments<'_> {
    /// A text that is not empty; `None` where it is left out.
    fn optional_text(&self, key: &str) -> Result<Option<String>, NameError> {
        match self.parameters.get(key) {
            None => Ok(None),
            Some(Value::String(text)) if !text.is_empty() => Ok(Some(text.clone())),
            Some(_) => Err(self.wrong_type(key, "a text that is not empty")),
        }
    }

    /// The kind of answers that `kind` and, of a choice, `options` name.
    fn answer_kind(&self) -> Result<AnswerKind, NameError> {
        self.only(&["kind", "options"])?;
        let kind = self.text("kind", "\"number\"")?;
        let plain = match kind.as_str() {
            "choice" => {
                let options = Letters::new(self.text("options", "\"ABCD\", kind = \"choice\"")?)?;
                let mut seen = BTreeSet::new();
                let repeated = options.as_str().chars().find(|letter| !seen.insert(*letter));
                return repeated
                    .map_or(Ok(AnswerKind::Choice { options }), |letter| Err(NameError::RepeatedOption(letter)));
            }
            "number" => AnswerKind::Number,
            "math" => AnswerKind::Math,
            "text" => AnswerKind::Text,
            _ => return Err(NameError::AnswerKind(kind)),
        };
        if self.parameters.contains_key("options") { Err(NameError::OptionsWithoutChoice(kind)) } else { Ok(plain) }
    }

    fn text(&self, key: &'static str, example: &'static str) -> Result<String, NameError> {
        let missing = || NameError::Missing { name: self.name.into(), key, example };
        self.optional_text(key)?.ok_or_else(missing)
    }
}

/// `opencompass.datasets.humaneval_postprocess_v2` as `humaneval_v2`.
fn short(written: &str) -> String {
    let function = written.rsplit('.').next().unwrap_or_default().to_lowercase().replace('-', "_");
    function.replace("_postprocessor", "").replace("_postprocess", "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn named(name: &str, parameters: Value) -> Result<Postprocessor, NameError> {
        Postprocessor::named(name, parameters.as_object().unwrap())
    }

    #[test]
    fn opencompass_spellings() {
        for (written, expected) in [
            ("general_postprocess", Postprocessor::General),
            ("first-capital", Postprocessor::FirstCapital),
            ("first_capital_postprocess_multi", Postprocessor::FirstCapitalMulti),
            ("opencompass.datasets.humaneval_postprocess_v2", Postprocessor::HumanevalV2),
            ("humaneval_internal_v2_postprocess", Postprocessor::HumanevalInternalV2),
            ("TheoremQA_postprocess_v2", Postprocessor::TheoremqaV2),
            ("flores-chinese", Postprocessor::FloresChinese),
            ("Xsum", Postprocessor::Xsum),
            ("ReCoRD_postprocess", Postprocessor::Record),
            ("GPQA_Simple_Eval_postprocess", Postprocessor::GpqaSimpleEval),
            ("bbh-mcq", Postprocessor::BbhMcq),
        ] {
            assert_eq!(named(written, json!({})), Ok(expected), "{written}");
        }
        let tag = named("specific-xml-tag", json!({"tag": "<conclude>"})).unwrap();
        assert_eq!(tag, named("xml_tag_postprocessor", json!({"tag": "<conclude>"})).unwrap());
        assert_eq!(tag.apply("<conclude> x </conclude>").unwrap(), "x");
        let wrapped = named("general_eval_wrapper_postprocess", json!({"postprocess": "gsm8k"})).unwrap();
        assert_eq!(wrapped.apply(r#""it is 4\n""#).unwrap(), "4");
    }

    #[test]
    fn every_name_is_served() {
        let parameters = |name: &str| match name {
            "answer" => json!({"kind": "choice", "options": "AB"}),
            "first_option" | "last_option" => json!({"options": "AB"}),
            "match_answer_pattern" => json!({"answer_pattern": "(a)"}),
            "think_pred" => json!({"re_pattern": "(a)"}),
            "xml_tag" => json!({"tag": "<a>"}),
            "mathbench" => json!({"name": "cloze_cn"}),
            "mgsm" => json!({"lang": "th"}),
            _ => json!({}),
        };
        for name in Postprocessor::names() {
            let kind = named(name, parameters(name)).unwrap();
            let text = serde_json::to_string(&kind).unwrap();
            assert_eq!(serde_json::from_str::<Postprocessor>(&text).unwrap(), kind, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (name, parameters, message) in [
            ("nonsense", json!({}), "unknown postprocessor `nonsense`"),
            ("general", json!({"options": "AB"}), "`general` has no parameter `options`"),
            ("last_option", json!({"options": 5}), "`options` of `last_option` is a text that is not empty"),
            ("last_option", json!({"options": "A]"}), "options are letters or digits such as \"ABCD\", not `A]`"),
            ("first_option", json!({"options": "AB", "cushion": 1}), "`cushion` of `first_option` is true or false"),
            ("answer", json!({}), "`answer` needs `kind`, as in `{ type = \"answer\", kind = \"number\" }`"),
            ("answer", json!({"kind": "numbr"}), "`answer` has no kind `numbr`"),
            ("answer", json!({"kind": "choice", "options": "ABA"}), "option `A` stands twice in `options`"),
            (
                "answer",
                json!({"kind": "choice", "options": "A-D"}),
                "options are letters or digits such as \"ABCD\", not `A-D`",
            ),
            ("answer", json!({"kind": "text", "options": "AB"}), "answers of kind `text` have no `options`"),
            ("xml_tag", json!({"tag": "a"}), "`a` is not a tag: write it with its brackets, as in \"<answer>\""),
            (
                "mgsm",
                json!({"lang": "xx"}),
                "MGSM has no language `xx`; it has bn, de, en, es, fr, ja, ru, sw, te, th, zh",
            ),
            ("xml_tag", json!({}), "`xml_tag` needs `tag`, as in `{ type = \"xml_tag\", tag = \"<answer>\" }`"),
            (
                "match_answer_pattern",
                json!({"answer_pattern": "a"}),
                "`a` has no group: put what shall be extracted in parentheses",
            ),
        ] {
            assert_eq!(named(name, parameters).unwrap_err().to_string(), message);
        }
    }
}
