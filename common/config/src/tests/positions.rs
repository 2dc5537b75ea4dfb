//! All errors at once, each at its line and column, in every file and after characters of several bytes.

use super::fixture::{DATASET, Fixture, MODEL};

#[test]
fn six_mistakes_are_six_errors() {
    let text = format!(
        "work_dir = 5\nmodles = [\"m\"]\n[master]\nlissten = \"127.0.0.1:0\"\nstore = \"redis\"\n{MODEL}dtype = \"float23\"\nmax_out_len = 0\n{DATASET}"
    );
    assert_eq!(
        Fixture::new().places(&text),
        [
            "eval.toml:1:12: `work_dir` takes a string, found an integer",
            "eval.toml:2:1: unknown key `modles`",
            "eval.toml:4:1: unknown key `lissten`",
            "eval.toml:5:9: `store` cannot be `redis`",
            "eval.toml:10:9: unknown dtype `float23`",
            "eval.toml:11:15: `max_out_len` is out of range: 0",
        ]
    );
}

#[test]
fn included_files_report_at_their_own_places() {
    let fixture = Fixture::new();
    fixture.write("team/base.toml", &format!("{MODEL}colour = \"red\"\nmax_seq_len = -1\n"));
    let text = format!("include = [\"team/base.toml\"]\n{DATASET}size = 1\n");
    assert_eq!(
        fixture.places(&text),
        [
            "eval.toml:8:1: unknown key `size`",
            "team/base.toml:4:8: no directory `models/tiny`",
            "team/base.toml:5:1: unknown key `colour`",
            "team/base.toml:6:15: `max_seq_len` is out of range: -1",
        ]
    );
}

#[test]
fn columns_count_characters() {
    let text = format!("{MODEL}{DATASET}").replace("abbr = \"d\"", "# größe\nabbr = \"é中\"") + "\n\"größe 中\" = 1\n";
    assert_eq!(Fixture::new().places(&text), ["eval.toml:13:1: unknown key `größe 中`"]);
    let text = format!("{MODEL}stop_words = [\"中文\", 5]\n{DATASET}");
    assert_eq!(Fixture::new().places(&text), ["eval.toml:5:21: `stop_words[1]` takes a string, found an integer"]);
}

#[test]
fn syntax_errors_stand_where_they_are() {
    let fixture = Fixture::new();
    fixture.write("a.toml", "work_dir = outputs\n\"größe\" = 5 5\n");
    fixture.write("b.toml", "[infer\nrunner = \"local\"\n");
    assert_eq!(
        fixture.places("include = [\"a.toml\", \"b.toml\"]\n"),
        [
            "a.toml:1:12: string values must be quoted, expected literal string",
            "a.toml:2:11: string values must be quoted, expected literal string",
            "b.toml:1:7: unclosed table, expected `]`",
        ]
    );
    assert_eq!(fixture.places("a = 1\na = 2\n"), ["eval.toml:2:1: duplicate key"]);
}

#[test]
fn a_missing_key_is_reported_at_its_table() {
    let fixture = Fixture::new();
    let places = fixture.places("[[model]]\n[[dataset]]\n[dataset.test]\n");
    assert_eq!(
        places,
        [
            "eval.toml:1:1: missing key `abbr` in [[model]]",
            "eval.toml:1:1: missing key `path` in [[model]]",
            "eval.toml:2:1: missing key `abbr` in [[dataset]]",
            "eval.toml:2:1: missing key `reader_cfg` in [[dataset]]",
            "eval.toml:2:1: missing key `infer_cfg` in [[dataset]]",
            "eval.toml:2:1: missing key `eval_cfg` in [[dataset]]",
            "eval.toml:3:1: missing key `path` in [dataset.test]",
        ]
    );
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_at_the_include() {
    let fixture = Fixture::new();
    fixture.write("latin.toml", "");
    std::fs::write(fixture.path("latin.toml"), b"# \xe9\n").unwrap();
    assert_eq!(
        fixture.places("include = [\n  \"gone.toml\",\n  \"latin.toml\", \"models\",\n]\n"),
        [
            "eval.toml:2:3: cannot read `gone.toml`: no such file",
            "eval.toml:3:3: `latin.toml` is not UTF-8 text: byte 0xe9 at line 1, column 3",
            "eval.toml:3:17: cannot read `models`: it is a directory",
        ]
    );
    let errors = super::super::load(Some(&fixture.path("none.toml")), &fixture.flags).unwrap_err();
    assert!(
        errors.to_string().contains("none.toml`: no such file\n  = help: give --config the path of a TOML file\n"),
        "{errors}"
    );
}
