//! From lm-eval's task files to the filter.

use super::{Filter, MultiChoice, Selector};
use crate::arguments::Arguments;
use crate::{NameError, Pattern};
use serde_json::{Map, Value};

impl Filter {
    /// lm-eval's names of the filters.
    pub const NAMES: [&'static str; 11] = [
        "regex",
        "multi_choice_regex",
        "regex_pos",
        "format_span",
        "remove_whitespace",
        "lowercase",
        "uppercase",
        "map",
        "majority_vote",
        "take_first",
        "take_first_k",
    ];

    /// The filter that a step `{ function = "...", ... }` of a pipeline names; `parameters` are its other keys, with
    /// lm-eval's names and defaults.
    pub fn named(function: &str, parameters: &Map<String, Value>) -> Result<Self, NameError> {
        let arguments = Arguments { name: function, parameters };
        match function {
            "regex" => {
                arguments.only(&["regex_pattern", "group_select", "fallback"])?;
                Ok(Self::Regex(arguments.selector()?))
            }
            "multi_choice_regex" => {
                let flags = ["ignore_case", "ignore_punctuation", "regexes_to_ignore"];
                arguments.only(&[&["regex_pattern", "group_select", "fallback"], flags.as_slice()].concat())?;
                let ignored = arguments.texts("regexes_to_ignore", &[])?.into_iter().map(Pattern::new);
                Ok(Self::MultiChoiceRegex(MultiChoice {
                    selector: arguments.selector()?,
                    ignore_case: arguments.flag("ignore_case", false)?,
                    ignore_punctuation: arguments.flag("ignore_punctuation", false)?,
                    regexes_to_ignore: ignored.collect::<Result<_, _>>()?,
                }))
            }
            "regex_pos" => {
                // The pattern is a parameter that the original never uses.
                arguments.only(&["regex_pattern", "group_select", "fallback"])?;
                Ok(Self::RegexPos { fallback: arguments.texts("fallback", &["invalid"])? })
            }
            "map" => {
                arguments.only(&["mapping_dict", "default_value"])?;
                let mapping = match parameters.get("mapping_dict") {
                    None => Map::new(),
                    Some(Value::Object(mapping)) => mapping.clone(),
                    Some(_) => return Err(arguments.wrong_type("mapping_dict", "a table")),
                };
                let default = parameters.get("default_value").cloned().unwrap_or_default();
                Ok(Self::Map { mapping, default })
            }
            "take_first_k" => {
                arguments.only(&["k"])?;
                let missing = NameError::Missing { name: function.into(), key: "k", example: "8" };
                let k = parameters.get("k").ok_or(missing)?.as_u64().and_then(|k| usize::try_from(k).ok());
                k.map(|k| Self::TakeFirstK { k }).ok_or_else(|| arguments.wrong_type("k", "a number from 0"))
            }
            "format_span" => arguments.only(&[]).map(|()| Self::FormatSpan),
            "remove_whitespace" => arguments.only(&[]).map(|()| Self::RemoveWhitespace),
            "lowercase" => arguments.only(&[]).map(|()| Self::Lowercase),
            "uppercase" => arguments.only(&[]).map(|()| Self::Uppercase),
            "majority_vote" => arguments.only(&[]).map(|()| Self::MajorityVote),
            "take_first" => arguments.only(&[]).map(|()| Self::TakeFirst),
            _ => Err(NameError::UnknownFilter(function.into())),
        }
    }
}

impl Arguments<'_> {
    fn selector(&self) -> Result<Selector, NameError> {
        let group_select = match self.parameters.get("group_select") {
            None => 0,
            Some(value) => value.as_i64().ok_or_else(|| self.wrong_type("group_select", "a whole number"))?,
        };
        Ok(Selector {
            pattern: Pattern::new(self.text_or("regex_pattern", r"#### (\-?[0-9\.\,]+)")?)?,
            group_select,
            fallback: self.text_or("fallback", "[invalid]")?,
        })
    }

    fn text_or(&self, key: &str, default: &str) -> Result<String, NameError> {
        match self.parameters.get(key) {
            None => Ok(default.into()),
            Some(Value::String(text)) => Ok(text.clone()),
            Some(_) => Err(self.wrong_type(key, "a text")),
        }
    }

    fn texts(&self, key: &str, default: &[&str]) -> Result<Vec<String>, NameError> {
        let wrong = || self.wrong_type(key, "a list of texts");
        match self.parameters.get(key) {
            None => Ok(default.iter().map(|text| (*text).to_owned()).collect()),
            Some(Value::Array(items)) => {
                items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
            }
            Some(_) => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FilterError, apply_filters};
    use serde_json::json;

    fn named(function: &str, parameters: Value) -> Result<Filter, NameError> {
        Filter::named(function, parameters.as_object().unwrap())
    }

    #[test]
    fn every_name_is_served_and_survives_the_plan() {
        for function in Filter::NAMES {
            let parameters = if function == "take_first_k" { json!({"k": 2}) } else { json!({}) };
            let filter = named(function, parameters).unwrap();
            let text = serde_json::to_string(&filter).unwrap();
            assert_eq!(serde_json::from_str::<Filter>(&text).unwrap(), filter, "{text}");
        }
        assert_eq!(named("none", json!({})), Err(NameError::UnknownFilter("none".into())));
    }

    #[test]
    fn what_lm_eval_stops_at_fails_the_sample() {
        let run = |function: &str, parameters, responses: &[&str]| {
            apply_filters(&[named(function, parameters).unwrap()], responses, &[]).unwrap_err()
        };
        assert_eq!(run("take_first", json!({}), &[]), FilterError::Empty);
        assert_eq!(run("majority_vote", json!({}), &[]), FilterError::Empty);
        assert_eq!(run("take_first_k", json!({"k": 3}), &["a"]), FilterError::TooFew { needed: 3, found: 1 });
        let selected = json!({"regex_pattern": "a", "group_select": -3});
        assert_eq!(run("regex", selected, &["aa"]), FilterError::NoSuchMatch { index: -3, found: 2 });
        let mapped = named("map", json!({"mapping_dict": {"a": 1}})).unwrap();
        let steps = [mapped, Filter::TakeFirst, Filter::Lowercase];
        assert_eq!(apply_filters(&steps, &["a"], &[]), Err(FilterError::NotResponses("1".into())));
    }
}
