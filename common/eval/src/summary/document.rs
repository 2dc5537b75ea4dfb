//! The file `summary/summary_<time>.txt`: the three renderings below one another, in OpenCompass's layout.

use super::Summary;

/// Width of OpenCompass's rules.
const WIDTH: usize = 128;

impl Summary {
    /// The sections `tabulate format`, `csv format` and `markdown format`. OpenCompass begins with the time and ends with
    /// the raw results; the time is a fact of a run, and the raw results stand in `results/`.
    pub fn document(&self) -> String {
        let (open, close) = ("^".repeat(WIDTH), "$".repeat(WIDTH));
        let section = |title, body: String| format!("{title} format\n{open}\n{body}{close}\n");
        let rule = "-".repeat(WIDTH);
        [
            section("tabulate", self.text()),
            format!("\n{rule} THIS IS A DIVIDER {rule}\n\n"),
            section("csv", self.csv()),
            "\n".into(),
            section("markdown", self.markdown()),
        ]
        .concat()
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::summary;

    #[test]
    fn the_sections_hold_the_renderings() {
        let summary = summary();
        let document = summary.document();
        let lines: Vec<_> = document.lines().collect();
        assert_eq!(lines[..2], ["tabulate format", "^".repeat(128).as_str()]);
        let body = |title: &str| {
            let start = format!("{title} format\n{}\n", "^".repeat(128));
            let (_, rest) = document.split_once(&start).unwrap();
            rest.split_once("$".repeat(128).as_str()).unwrap().0.to_string()
        };
        assert_eq!(body("tabulate"), summary.text());
        assert_eq!(body("csv"), summary.csv());
        assert_eq!(body("markdown"), summary.markdown());
        assert!(document.ends_with("$\n"));
    }
}
