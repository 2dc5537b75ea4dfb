//! Diagnostics as a person reads them, letter by letter.

use super::fixture::{DATASET, Fixture, MODEL};

#[test]
fn unknown_keys_and_wrong_values() {
    let text = format!(
        "data_dir = true\n\n\n\n\n[master]\nlissten = \"127.0.0.1:0\"\n{MODEL}max_seq_len = \"512\"\n{DATASET}"
    );
    let expected = "\
error: `data_dir` takes a string, found a boolean
 --> eval.toml:1:12
  |
1 | data_dir = true
  |            ^^^^
  |
  = help: write `data_dir = \"true\"`, in quotes

error: unknown key `lissten`
 --> eval.toml:7:1
  |
7 | lissten = \"127.0.0.1:0\"
  | ^^^^^^^
  |
  = help: did you mean `listen`?

error: `max_seq_len` takes a whole number, found a string
  --> eval.toml:12:15
   |
12 | max_seq_len = \"512\"
   |               ^^^^^
   |
   = help: write `max_seq_len = 512`, without quotes

3 errors; nothing was started";
    assert_eq!(Fixture::new().bad(&text), expected);
}

#[test]
fn names_that_nothing_defines() {
    let text = format!("models = [\"mm\"]\ndatasets = [\"questions_of_mine\"]\n{MODEL}{DATASET}");
    let expected = "\
error: nothing defines the model `mm`
 --> eval.toml:1:11
  |
1 | models = [\"mm\"]
  |           ^^^^
  |
  = help: did you mean `m`? Or define a [[model]] table

error: nothing defines the data set `questions_of_mine`
 --> eval.toml:2:13
  |
2 | datasets = [\"questions_of_mine\"]
  |             ^^^^^^^^^^^^^^^^^^^
  |
  = help: `compass-master datasets` lists the presets; or define a [[dataset]] table

2 errors; nothing was started";
    assert_eq!(Fixture::new().bad(&text), expected);
}

#[test]
fn not_yet_says_what_to_use_now() {
    let text = format!("{MODEL}{DATASET}\n[infer]\nrunner = {{ type = \"volc\", partition = \"llm\" }}\n");
    let expected = "\
error: `type = \"volc\"` is not yet supported
  --> eval.toml:13:19
   |
13 | runner = { type = \"volc\", partition = \"llm\" }
   |                   ^^^^^^
   |
   = help: write `type = \"none\"` and start workers with the launcher yourself, or `type = \"local\"`

1 error; nothing was started";
    assert_eq!(Fixture::new().bad(&text), expected);
}

#[test]
fn a_syntax_error_looks_like_any_other() {
    let expected = "\
error: string values must be quoted, expected literal string
 --> eval.toml:2:10
  |
2 | listen = here
  |          ^^^^
  |
  = help: write text in double quotes, as in `type = \"hf\"`

1 error; nothing was started";
    assert_eq!(Fixture::new().bad("[master]\nlisten = here\n"), expected);
}

#[test]
fn a_note_reads_like_an_error() {
    let fixture = Fixture::new();
    let loaded = fixture.load(&format!("{MODEL}\tbatch_size = 8\n{DATASET}")).unwrap();
    let expected = "\
note: `batch_size = 8` has no effect
 --> eval.toml:5:15
  |
5 |     batch_size = 8
  |                  ^
  |
  = help: how much runs at once follows from the memory that is free; write `batch_size = \"auto\"`";
    let shown: Vec<String> = loaded.notes.iter().map(ToString::to_string).collect();
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert_eq!(shown[0].replace(&format!("{}", fixture.path("eval.toml").display()), "eval.toml"), expected);
}

#[test]
fn a_very_long_line_is_shown_as_a_window() {
    let long = "x".repeat(3000);
    let text = format!("{MODEL}stop_words = [\"{long}\", 5, \"{long}\"]\n{DATASET}");
    let shown = Fixture::new().bad(&text);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[1], " --> eval.toml:5:3019");
    let window = lines[3].strip_prefix("5 | ").unwrap();
    assert!(window.chars().count() < 180 && window.starts_with("...x") && window.ends_with("x..."), "{window}");
    let column = lines[4].find('^').unwrap();
    assert_eq!(&lines[3][column..=column], "5", "{shown}");
}
