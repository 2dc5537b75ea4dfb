//! Texts that would run, load or hide something where they were taken for more than texts.

use super::Report;
use super::chromium::{Browser, BrowserError};
use std::fmt::Write as _;

pub(super) const DATASET: &str = r#"
[[dataset]]
abbr = "choice_ppl"
reader_cfg = { input_columns = ["q", "a", "b"], output_column = "label" }
[dataset.test]
path = "rows.jsonl"
[dataset.infer_cfg]
retriever = "zero"
inferencer = "ppl"
[dataset.infer_cfg.prompt_template]
0 = "{q} {a}"
1 = "{q} {b}"
[dataset.eval_cfg]
evaluator = "acc"
"#;

const ATTACKS: [&str; 6] = [
    "<script>window.ran=1</script>",
    "\"><img src=x onerror=\"window.ran=1\">",
    "</pre></td><svg onload=\"window.ran=1\">",
    "\u{202e}txet nrut\u{202c} \u{2066}x\u{2069}",
    "\u{1b}[31m\u{1b}]0;title\u{7} red",
    "<a href=\"javascript:window.ran=1\" autofocus onfocus=\"window.ran=1\">x</a>",
];

/// Rows whose every column attacks.
pub(super) fn rows(samples: u32) -> String {
    let mut rows = String::new();
    for at in 0..samples {
        let attack = ATTACKS[at as usize % ATTACKS.len()];
        let row = serde_json::json!({
            "q": format!("{at}: {attack}"), "a": format!("one {attack}"), "b": format!("two {attack}"), "label": at % 2
        });
        let _ = writeln!(rows, "{row}");
    }
    rows
}

/// Looks at a list and at single samples: nothing ran, and no element came out of a text.
pub(super) async fn look(browser: &Browser, origin: &str, run: &str, report: &mut Report) -> Result<(), BrowserError> {
    let mut pages = vec![format!("{origin}/runs/{run}/samples?filter=wrong")];
    pages.extend((0..ATTACKS.len()).map(|at| format!("{origin}/runs/{run}/samples/0.{at}")));
    let count = pages.len();
    let made = "document.querySelectorAll('img, svg, iframe, object, script:not([src]), [onerror], [onload], [onfocus], a[href^=javascript]').length";
    let controls = r"/[\u202a-\u202e\u2066-\u2069\u001b\u0007]/.test(document.body.textContent)";
    let (mut ran, mut elements, mut hidden) = (0, 0.0, 0);
    for page in pages {
        browser.goto(&page).await?;
        ran += u32::from(browser.is_true("window.ran !== undefined").await?);
        elements += browser.number(made).await?;
        hidden += u32::from(browser.is_true(controls).await?);
        let text = browser.string("document.body.textContent").await?;
        assert!(text.contains("one") || text.contains("wrong"), "{page} shows no sample: {text}");
    }
    report.say("hostile texts run", ran == 0, format!("on {ran} of {count} pages"));
    report.say("elements out of texts", elements == 0.0, elements);
    report.say("characters that steer are shown by number", hidden == 0, format!("{hidden} pages have them raw"));
    Ok(())
}
