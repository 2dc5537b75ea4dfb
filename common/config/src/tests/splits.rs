//! The grammar of `[dataset.test]`: every mistake at its place with what to write instead.

use super::fixture::{DATASET, Fixture, MODEL};

fn with(keys: &str) -> String {
    format!("{MODEL}{}", DATASET.replace("test.jsonl\"", &format!("test.jsonl\"\n, {keys}")))
}

/// Asserts that these keys are one error at this column of their line, with this message and this help.
fn wrong(keys: &str, column: usize, message: &str, help: &str) {
    let fixture = Fixture::new();
    let places = fixture.places(&with(keys));
    assert_eq!(places, [format!("eval.toml:9:{column}: {message}")], "{keys}");
    let shown = fixture.bad(&with(keys));
    assert!(shown.contains(help), "{shown}");
}

#[test]
fn columns() {
    for (column, at, message, help) in [
        ("5", 19, "`x` takes a table, found an integer", "write `x = { ... }`"),
        ("{}", 19, "column `x` says nothing of its value", "write one of `from`, `const`"),
        ("{ form = \"a\" }", 21, "unknown key `form`", "did you mean `from`?"),
        ("{ from = \"a\", item = \"b\" }", 33, "column `x` has two expressions", "compute it in two columns"),
        ("{ from = 1 }", 28, "`from` takes a string, found an integer", "write `from = \"1\"`"),
        ("{ from = \"\" }", 28, "`from` is empty", "name a column"),
        ("{ from = \"a\", colour = 1 }", 33, "unknown key `colour`", "takes `from`, `as` and `default`"),
        (
            "{ from = \"a\", as = \"integer\" }",
            38,
            "unknown column type `integer`",
            "served are `int`, `float` and `text`",
        ),
        ("{ format = \"{a\" }", 30, "`format` cannot be read: `{` without `}`", "a brace itself is written twice"),
        ("{ format = \"a}\" }", 30, "`format` cannot be read: `}` without `{`", "a brace itself is written twice"),
        ("{ split = \"a\" }", 19, "missing key `by` in column `x`", "write `by = \"\\n\"`"),
        ("{ item = \"a\" }", 19, "missing key `at` in column `x`", "write `at = 0`"),
        ("{ item = \"a\", at = true }", 38, "`at` takes a whole number or a string, found a boolean", "`at = 0`"),
        ("{ letter_of = \"a\", base = 2 }", 45, "`base` is out of range: 2", "from 0 to 1"),
        ("{ map = \"a\" }", 19, "missing key `to` in column `x`", "write `to = { \"0\" = \"no\" }`"),
        ("{ capture = \"a\", regex = \"(\" }", 44, "`regex` cannot be read: unclosed group", "docs.rs/regex"),
        (
            "{ capture = \"a\", regex = \"(?=x)\" }",
            44,
            "`regex` cannot be read: look-around, including look-ahead and look-behind, is not supported",
            "without look-around",
        ),
        ("{ capture = \"a\", regex = \"(x)\", group = 2 }", 59, "`group = 2` names no group", "the regex has 1 groups"),
        ("{ replace = \"a\", by = \"x\" }", 19, "`replace` takes one of `regex` and `find`", "for a text as it is"),
        (
            "{ replace = \"a\", regex = \"x\", by = \"{1}\" }",
            19,
            "`by` names group 1, which does not exist",
            "the regex has 0 groups",
        ),
        ("{ lines_of = \"gone.lst\" }", 32, "no file `gone.lst`", "looked for"),
        ("{ rows_of = \"data/test.jsonl\" }", 19, "missing key `column` in column `x`", "write `column = \"...\"`"),
        ("{ item = \"a\", at = 0, at_column = \"b\" }", 38, "`at` and `at_column` are given", "remove one"),
        (
            "{ join = [\"a\"], each = \"{item}\" }",
            42,
            "`each` and `skip` are for the items of one list",
            "`join = \"choices\"`",
        ),
        ("{ cycle = [] }", 29, "`cycle` is empty", "values that rows take in turn"),
        ("{ first_of = [] }", 32, "`first_of` is empty", "the first choice first"),
        (
            "{ splice = \"a\", by = \"\", spans = [{ put = \"x\" }] }",
            53,
            "missing key `at` in a span",
            "write `at = \"...\"`",
        ),
        ("{ const = 1979-05-27 }", 29, "`const` cannot be a date", "write it in quotes"),
    ] {
        wrong(&format!("columns = {{ x = {column} }}"), at, message, help);
    }
}

#[test]
fn conditions_and_options() {
    for (keys, at, message, help) in [
        ("keep = \"x\"", 10, "`keep` takes a table or an array of tables, found a string", "{ column = "),
        ("keep = { equals = 1 }", 10, "missing key `column` in `keep`", "write `column = \"...\"`"),
        ("keep = { column = \"a\" }", 10, "`keep` asks nothing of the column", "several conditions stand in a list"),
        ("keep = { column = \"a\", equals = 1, exists = true }", 10, "`keep` asks two things at once", "in a list"),
        ("keep = [{ column = \"a\", in = 1 }]", 32, "`in` takes an array, found an integer", "write `in = [\"...\"]`"),
        ("keep = { column = \"a\", equal = 1 }", 26, "unknown key `equal`", "did you mean `equals`?"),
        ("each = { a = 1 }", 16, "`each.a` takes a string or an array, found an integer", "\"paragraph.qas\""),
        ("each = { a = [] }", 16, "`each.a` is empty", "or write the values"),
        ("format = \"xml\"", 12, "unknown format `xml`", "served are `jsonl`, `json`, `csv`"),
        ("names = [\"a\", \"b\", \"a\"]", 22, "`names` has `a` twice", "a name of its own"),
        ("delimiter = \"ab\"", 15, "`delimiter` cannot be `ab`", "write one ASCII character"),
        ("slice = \"[10]\"", 11, "`slice` cannot be `[10]`", "write the first row and the one behind the last"),
        ("slice = \"[8:2]\"", 11, "`slice` cannot be `[8:2]`", "`slice = \"[10:510]\"`"),
        ("slice = \"[-2:]\"", 11, "`slice` cannot be `[-2:]`", "`slice = \"[10:510]\"`"),
        ("quoted = 1", 12, "`quoted` takes a boolean, found an integer", "write `quoted = true`"),
        ("order = \"a\"", 11, "`order` takes an array of strings, found a string", "write `order = [\"a\"]`"),
        ("lists_to_columns = { a = 1 }", 28, "`a` takes an array of strings, found an integer", "`a = [\"...\"]`"),
        ("row = \"examples\"", 3, "unknown key `row`", "did you mean `rows`?"),
    ] {
        wrong(keys, at, message, help);
    }
}

#[test]
fn what_is_missing_is_said_of_the_table() {
    let places = Fixture::new().places(&with("header = false"));
    assert_eq!(places, ["eval.toml:8:8: without a header the columns have no names"]);
}

#[test]
fn every_mistake_is_found_at_once() {
    let keys = "columns = { x = { from = 1 }, y = { item = \"a\" } }, keep = [{ column = 1, equals = 1 }], order = 5";
    assert_eq!(Fixture::new().places(&with(keys)).len(), 4);
}
