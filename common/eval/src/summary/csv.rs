//! The table for programs.

use super::Summary;
use super::notes::NOT_ASKED;
use super::table::COLUMNS;
use csv::{Terminator, WriterBuilder};
use std::error::Error;

impl Summary {
    /// Comma-separated values: OpenCompass's columns (dataset, version, metric, mode, one per model). Fields are quoted as
    /// RFC 4180 says, lines end with a single newline as in OpenCompass. Where there is no number, the reason stands in its
    /// field, and of a group `-`; a number that stands on a part of the samples has a star, so that no program takes it for the data set's. The
    /// counts stand in the long form.
    pub fn csv(&self) -> String {
        let mut header: Vec<String> = COLUMNS.iter().map(|column| column.to_string()).collect();
        header.extend(self.models.iter().cloned());
        let mut lines = vec![header];
        for row in self.shown() {
            let mut fields = row.head.to_vec();
            fields.extend(row.values.iter().map(|value| {
                // Why a group has no number is a note below the table.
                if row.is_group() && !value.is_number() { NOT_ASKED.to_owned() } else { value.starred() }
            }));
            lines.push(fields);
        }
        written(&lines).unwrap_or_else(|error| unreachable!("lines of text, each as long as the header: {error}"))
    }
}

pub(super) fn written(lines: &[Vec<String>]) -> Result<String, Box<dyn Error>> {
    let mut writer = WriterBuilder::new().flexible(true).terminator(Terminator::Any(b'\n')).from_writer(Vec::new());
    lines.iter().try_for_each(|fields| writer.write_record(fields))?;
    Ok(String::from_utf8(writer.into_inner()?)?)
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::summary;

    #[test]
    fn snapshot() {
        assert_eq!(summary().csv(), EXPECTED);
    }

    const EXPECTED: &str = r#"dataset,version,metric,mode,tiny,"tiny, ""big"" | brother"
piqa,1cf9f0,accuracy,ppl,55.00,93.50*
arc_easy,1cf9f0,accuracy,ll,20.00*,withheld: no sample was scored: 40 of 40 failed
arc_easy,1cf9f0,acc_norm,ll,33.33*,withheld: no sample was scored: 40 of 40 failed
gsm8k,1cf9f0,accuracy,gen,missing: not evaluated,withheld: 6 of 6 failed: no weights
"#;
}
