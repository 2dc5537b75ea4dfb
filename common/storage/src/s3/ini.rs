//! INI files by the rules of Python's `configparser`, which petreloss.conf is read with: `[DEFAULT]` holds for every
//! section, keys are in lower case, `#` and `;` begin a comment line, `=` or `:` ends a key, a line that is indented
//! continues the value before.

use std::collections::BTreeMap;

/// A value, and the line that it stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IniValue {
    pub(super) text: String,
    pub(super) line: usize,
}

type Section = BTreeMap<String, IniValue>;

/// The sections of a file, without `[DEFAULT]`, whose values are in each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ini(BTreeMap<String, Section>);

const DEFAULT: &str = "DEFAULT";

impl Ini {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// All lines that cannot be read, each with its number. No value is in a message: it may be a secret.
    pub(super) fn parse(text: &str) -> Result<Self, Vec<(usize, String)>> {
        let (mut sections, mut faults) = (BTreeMap::<String, Section>::new(), Vec::new());
        let (mut section, mut key): (Option<String>, Option<String>) = (None, None);
        for (line, written) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
            let bare = written.trim();
            if bare.is_empty() || bare.starts_with(['#', ';']) {
                continue;
            }
            if written.starts_with([' ', '\t'])
                && let (Some(section), Some(key)) = (&section, &key)
                && let Some(value) = sections.get_mut(section).and_then(|section| section.get_mut(key))
            {
                value.text = format!("{}\n{bare}", value.text);
                continue;
            }
            if let Some(name) = bare.strip_prefix('[') {
                match name.split_once(']') {
                    Some((name, _)) => {
                        sections.entry(name.to_owned()).or_default();
                        (section, key) = (Some(name.to_owned()), None);
                    }
                    None => faults.push((line, "the name of a section has no `]`".into())),
                }
                continue;
            }
            let Some(name) = &section else {
                faults.push((line, "a value stands before the first `[section]`".into()));
                continue;
            };
            match bare.split_once(['=', ':']) {
                Some((word, text)) if !word.trim().is_empty() => {
                    let word = word.trim().to_lowercase();
                    let value = IniValue { text: text.trim().to_owned(), line };
                    sections.entry(name.clone()).or_default().insert(word.clone(), value);
                    key = Some(word);
                }
                _ => faults.push((line, "this is neither `key = value` nor `[section]`".into())),
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let shared = sections.remove(DEFAULT).unwrap_or_default();
        for section in sections.values_mut() {
            for (key, value) in &shared {
                section.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
        Ok(Self(sections))
    }

    pub(super) fn section(&self, name: &str) -> Option<&BTreeMap<String, IniValue>> {
        self.0.get(name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_configparser_reads_it() {
        let text = "# a comment\n[DEFAULT]\nenable_mc = True\n\n[one]\nHost_Base: http://a:80\nboto=False\n[two]\nlong = a\n  b\n";
        let ini = Ini::parse(text).unwrap();
        assert_eq!(ini.names().collect::<Vec<_>>(), ["one", "two"]);
        let value = |section: &str, key: &str| ini.section(section).unwrap().get(key).map(|value| value.text.as_str());
        assert_eq!(value("one", "host_base"), Some("http://a:80"), "the first of the two signs ends the key");
        assert_eq!((value("one", "enable_mc"), value("one", "boto")), (Some("True"), Some("False")));
        assert_eq!(value("two", "long"), Some("a\nb"));
        assert_eq!(ini.section("one").unwrap()["boto"].line, 7);
    }

    #[test]
    fn every_line_that_cannot_be_read_is_told_without_its_content() {
        let faults = Ini::parse("secret_key = hunter2\n[one\n[two]\nhunter2\n= hunter2\n").unwrap_err();
        assert_eq!(faults.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 2, 4, 5]);
        assert!(faults.iter().all(|(_, message)| !message.contains("hunter2")), "{faults:?}");
    }
}
