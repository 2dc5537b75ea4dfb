//! Row expressions: what each makes of a row, and what it says of one that it cannot be applied to.

use super::fixture::{Fixture, LINES_BEFORE};
use compass_pyfmt::python_str;
use serde_json::{Value, json};

/// The one column `x` made of the row by `expression`.
fn made(row: &Value, expression: &str) -> Result<Value, String> {
    let fixture = Fixture::with(&[("a.jsonl", &row.to_string())]);
    let test = format!("path = \"a.jsonl\"\ncolumns = {{ x = {expression} }}");
    match fixture.split(&test, &Default::default()) {
        Ok(split) => Ok(split.rows().next().unwrap()["x"].clone()),
        Err(faults) => {
            assert_eq!(faults.len(), 1, "{faults:?}");
            let place =
                format!("a.jsonl:1:1: column `x` ({}:{}:13): ", fixture.path("eval.toml").display(), LINES_BEFORE + 2);
            Err(faults[0].strip_prefix(&fixture.strip(&place)).unwrap_or_else(|| panic!("{faults:?}")).to_owned())
        }
    }
}

#[test]
fn every_verb() {
    let row = json!({
        "q": " What? \u{1f}", "s": "The _ ran from _.", "opt": "cat", "n": 2, "label": 1, "answer": "B", "one": "2",
        "choices": ["w", "x", "y", "z"], "lines": "a\nb\n\nc", "flag": true, "none": null, "a.b": "dotted",
        "nested": {"text": ["t0", "t1"], "label": ["A", "B"]}, "python": "['it\\'s', \"x\", None]",
        "json": "{\"k\": [1]}", "solution": "so 7 - 2 = 5\n#### 5,000 ", "options": ["A)12", "B)7"], "f": 2.0,
        "order": [3, 0], "spans": [{"text": "b"}, {"text": "a"}, {"text": "b"}], "pairs": [[1, 2]], "field": "text",
        "two": "a b",
    });
    for (expression, value) in [
        ("{ from = \"opt\" }", json!("cat")),
        ("{ from = \"nested.text.1\" }", json!("t1")),
        ("{ from = \"a.b\" }", json!("dotted")),
        ("{ from = \"none\", default = \"\" }", json!("")),
        ("{ from = \"gone.0\", default = [1] }", json!([1])),
        ("{ const = [1, \"x\", { k = true }] }", json!([1, "x", {"k": true}])),
        ("{ join = [\"opt\", \"n\", \"flag\"], with = \"\\n\" }", json!("cat\n2\nTrue")),
        ("{ join = \"choices\", with = \", \" }", json!("w, x, y, z")),
        ("{ object = [\"opt\", \"none\", \"gone\", \"n\"] }", json!({"opt": "cat", "none": null, "n": 2})),
        ("{ format = \"{opt} and {nested.text.0} in {{{n}}}\" }", json!("cat and t0 in {2}")),
        ("{ split = \"lines\", by = \"\\n\" }", json!(["a", "b", "", "c"])),
        ("{ split = \"lines\", by = \"\\n\", at = -1 }", json!("c")),
        ("{ item = \"choices\", at = 2 }", json!("y")),
        ("{ item = \"nested\", at = \"label\" }", json!(["A", "B"])),
        ("{ item = \"choices\", at = 9, default = 0 }", json!(0)),
        ("{ letter_of = \"label\" }", json!("B")),
        ("{ letter_of = \"one\", base = 1 }", json!("B")),
        ("{ index_of = \"answer\" }", json!(1)),
        ("{ index_of = \"answer\", base = 1 }", json!(2)),
        ("{ index_of = \"answer\", in = \"nested.label\" }", json!(1)),
        ("{ map = \"label\", to = { 0 = \"no\", 1 = \"yes\" } }", json!("yes")),
        ("{ map = \"flag\", to = { true = 1, false = 0 } }", json!(1)),
        ("{ map = \"flag\", to = { True = 1, False = 0 } }", json!(1)),
        ("{ map = \"opt\", to = { dog = 1 }, default = -1 }", json!(-1)),
        ("{ capture = \"solution\", regex = '#### (-?[0-9,.]+)' }", json!("5,000")),
        ("{ capture = \"solution\", regex = '(\\d) - (?P<b>\\d)', group = \"b\", as = \"int\" }", json!(2)),
        ("{ capture = \"solution\", regex = '\\d' }", json!("7")),
        ("{ replace = \"s\", find = \"_\", by = \"{opt}\" }", json!("The cat ran from cat.")),
        (
            "{ replace = \"solution\", regex = '(\\d) - (\\d)', by = \"{2} + {1} of {opt}\" }",
            json!("so 2 + 7 of cat = 5\n#### 5,000 "),
        ),
        ("{ replace = \"s\", regex = '$', by = \"\" }", json!("The _ ran from _.")),
        ("{ strip = \"q\" }", json!("What?")),
        ("{ strip = \"answer\", chars = \"AB\" }", json!("")),
        ("{ json = \"python\" }", json!(["it's", "x", null])),
        ("{ json = \"json\" }", json!({"k": [1]})),
        ("{ json = \"choices\" }", json!(["w", "x", "y", "z"])),
        (
            "{ join = \"choices\", each = \"{number}{letter} {item} of {opt}\", with = \"|\", skip = [\"w\", \"y\"] }",
            json!("2B x of cat|4D z of cat"),
        ),
        ("{ join = \"choices\", skip = [\"w\"] }", json!("xyz")),
        ("{ item = \"choices\", at_column = \"n\" }", json!("y")),
        ("{ item = \"nested\", at_column = \"field\" }", json!(["t0", "t1"])),
        ("{ items = \"choices\", order = \"order\" }", json!(["z", "w"])),
        ("{ items = \"spans\", at = \"text\" }", json!(["b", "a", "b"])),
        ("{ items = \"spans\", at = \"text\", unique = true }", json!(["b", "a"])),
        ("{ items = \"pairs\", at = 1, order = \"order\", default = 0 }", json!(0)),
        ("{ first_of = [\"gone\", \"none\", \"opt\"] }", json!("cat")),
        ("{ first_of = [\"gone\"], default = 7 }", json!(7)),
        ("{ number = 1 }", json!(1)),
        ("{ cycle = [\"even\", \"odd\"] }", json!("even")),
        ("{ upper = \"opt\" }", json!("CAT")),
        ("{ upper = \"opt\", first = true }", json!("Cat")),
        ("{ splice = \"s\", by = \" \", spans = [{ at = \"n\", put = \"<{opt}>\" }] }", json!("The _ <cat> from _.")),
        (
            "{ splice = \"s\", by = \" \", spans = [{ at = \"label\", like = \"two\", put = \"1\" }, { at = \"n\", like = \"two\", put = \"2\" }] }",
            json!("The 1 _."),
        ),
        ("{ splice = \"opt\", by = \"\", spans = [{ at = \"label\", put = \"u\" }] }", json!("cut")),
        ("{ from = \"one\", as = \"int\" }", json!(2)),
        ("{ from = \"f\", as = \"int\" }", json!(2)),
        ("{ from = \"flag\", as = \"int\" }", json!(1)),
        ("{ from = \"one\", as = \"float\" }", json!(2.0)),
        ("{ from = \"f\", as = \"text\" }", json!("2.0")),
    ] {
        assert_eq!(made(&row, expression).unwrap(), value, "{expression}");
    }
}

/// Values of `json.loads`, printed by `str` and `json.dumps` of CPython 3.11.
#[test]
fn whole_numbers_of_many_digits_stay_numbers() {
    let big = "123456789012345678901234567890";
    let row =
        format!("{{\"n\": {big}, \"l\": [{big}, \"{big}\"], \"d\": {{\"k\": [-{big}]}}, \"t\": \"[{big}, '{big}']\"}}");
    for (expression, printed) in [
        ("{ from = \"n\" }", big.to_owned()),
        ("{ from = \"l\" }", format!("[{big}, '{big}']")),
        ("{ from = \"l.0\" }", big.to_owned()),
        ("{ item = \"l\", at = 0 }", big.to_owned()),
        ("{ from = \"d\" }", format!("{{'k': [-{big}]}}")),
        ("{ list = [\"n\", \"l.1\"] }", format!("[{big}, '{big}']")),
        ("{ object = [\"n\"] }", format!("{{'n': {big}}}")),
        ("{ format = \"{n} of {l}\" }", format!("{big} of [{big}, '{big}']")),
        ("{ join = \"l\", with = \"; \" }", format!("{big}; {big}")),
        ("{ join = [\"n\", \"d.k.0\"], with = \" \" }", format!("{big} -{big}")),
        ("{ json = \"t\" }", format!("[{big}, '{big}']")),
        ("{ from = \"n\", as = \"text\" }", big.to_owned()),
        ("{ from = \"n\", as = \"int\" }", big.to_owned()),
        ("{ from = \"n\", as = \"float\" }", "1.2345678901234568e+29".to_owned()),
        ("{ split = \"n\", by = \"45\", at = 0 }", "123".to_owned()),
    ] {
        let fixture = Fixture::with(&[("a.jsonl", &row)]);
        let test = format!("path = \"a.jsonl\"\ncolumns = {{ x = {expression} }}");
        let split =
            fixture.split(&test, &Default::default()).unwrap_or_else(|faults| panic!("{expression}: {faults:?}"));
        assert_eq!(python_str(&split.rows().next().unwrap()["x"]), printed, "{expression}");
    }
}

#[test]
fn rows_that_an_expression_cannot_be_applied_to() {
    let row = json!({"t": "text", "n": 2, "none": null, "list": ["x"], "o": {"k": 1}, "big": 30, "far": [4]});
    let remedy = "; `default = ...` says what then stands there";
    for (expression, why) in [
        ("{ from = \"gone\" }", format!("there is no `gone`{remedy}")),
        ("{ from = \"none\" }", format!("`none` is null{remedy}")),
        ("{ from = \"list.1\" }", format!("there is no `list.1`{remedy}")),
        ("{ format = \"{t} {gone}\" }", format!("there is no `gone`{remedy}")),
        ("{ item = \"list\", at = -2 }", format!("`list` has 1 items, none at -2{remedy}")),
        ("{ item = \"t\", at = 0 }", "`t` is a text, not a list".into()),
        ("{ item = \"list\", at = \"k\" }", "`list` is a list, not an object".into()),
        ("{ join = \"o\" }", "`o` is an object, not a list".into()),
        ("{ letter_of = \"big\" }", "`big` is 30, which no letter stands for".into()),
        ("{ index_of = \"t\" }", "`t` is \"text\", not one letter".into()),
        ("{ index_of = \"t\", in = \"list\" }", format!("`t` is \"text\", which is not in `list`{remedy}")),
        ("{ map = \"n\", to = { 1 = \"x\" } }", format!("`n` is 2, which `to` does not have{remedy}")),
        ("{ capture = \"t\", regex = '\\d' }", format!("the regex finds nothing in `t`, which is \"text\"{remedy}")),
        ("{ first_of = [\"gone\", \"none\"] }", format!("there is none of `gone`, `none`{remedy}")),
        ("{ items = \"list\", at = \"k\" }", "`list` is a text, not an object".into()),
        ("{ items = \"list\", order = \"far\" }", format!("`list` has 1 items, none at 4{remedy}")),
        ("{ items = \"list\", order = \"list\" }", "`list` is \"x\", not a position".into()),
        ("{ item = \"list\", at_column = \"n\" }", format!("`list` has 1 items, none at 2{remedy}")),
        (
            "{ splice = \"t\", by = \" \", spans = [{ at = \"n\", put = \"\" }] }",
            "`n` is 2 where `t` has 1 pieces, not one of them".into(),
        ),
        ("{ strip = \"list\" }", "`list` is a list, not a text".into()),
        ("{ json = \"t\" }", "`t` is neither JSON nor a Python literal: a value is missing at character 1".into()),
        ("{ from = \"t\", as = \"int\" }", "`text` is not an integer".into()),
        ("{ from = \"list\", as = \"float\" }", "[\"x\"] is not a number".into()),
    ] {
        assert_eq!(made(&row, expression).unwrap_err(), why, "{expression}");
    }
}

#[test]
fn columns_build_on_one_another_and_keep_their_place() {
    let fixture =
        Fixture::with(&[("a.jsonl", "{\"q\": \" x \", \"choices\": [\"1\", \"2\"], \"gold\": 1, \"id\": 7}\n")]);
    let test = "path = \"a.jsonl\"\ndrop_columns = [\"id\", \"tmp\"]\norder = [\"label\", \"q\"]
lists_to_columns = { choices = [\"A\", \"B\", \"C\"] }\n[dataset.test.columns]\nq = { strip = \"q\" }\ntmp = { format = \"{q}!\" }
label = { letter_of = \"gold\" }\nboth = { join = [\"tmp\", \"label\"], with = \"-\" }";
    let rows = fixture.rows(test);
    assert_eq!(rows, json!([{"label": "B", "q": "x", "gold": 1, "both": "x!-B", "A": "1", "B": "2"}]));
    let names: Vec<&String> = rows[0].as_object().unwrap().keys().collect();
    assert_eq!(names, ["label", "q", "gold", "both", "A", "B"]);

    let faults = fixture.faults("path = \"a.jsonl\"\nlists_to_columns = { choices = [\"A\"] }");
    assert_eq!(faults, ["a.jsonl:1:1: `choices` has 2 items, but `lists_to_columns` names 1 columns"]);
    let faults = fixture.faults("path = \"a.jsonl\"\ndrop_columns = [\"idd\"]");
    assert_eq!(faults.len(), 1);
    assert!(faults[0].contains("names `idd`, but no row of"), "{faults:?}");
}

#[test]
fn labels_from_a_second_file() {
    let fixture = Fixture::with(&[
        ("a.jsonl", "{\"n\": 1}\n{\"n\": 2}\n"),
        ("b.csv", "n\n3\n"),
        ("labels.lst", "1\r\n0\n1\n\n"),
        ("labels.csv", "id,gold\na,5\nb,\nc,7\n"),
        ("bad.lst", "1\nB\n2.5\n"),
        ("short.lst", "1\n"),
    ]);
    let with = |columns: &str| format!("path = \"a.jsonl\"\ncolumns = {{ {columns} }}");
    let lines = fixture.rows(&with("l = { lines_of = \"bad.lst\" }").replace("a.jsonl\"", "labels.csv\""));
    assert_eq!(lines[1], json!({"id": "b", "gold": "", "l": "B"}), "beside a table too");
    let files = "path = [\"a.jsonl\", \"labels.csv\"]".replace("labels.csv", "a.jsonl");
    let faults = fixture.faults(&format!("{files}\ncolumns = {{ l = {{ lines_of = \"labels.lst\", as = \"int\" }} }}"));
    assert_eq!(faults, ["a.jsonl has 4 rows, but labels.lst has 3 lines: they must have as many"]);
    assert_eq!(
        fixture.faults(&with("l = { lines_of = \"bad.lst\", as = \"int\" }")),
        ["bad.lst:2:1: `B` is not an integer", "bad.lst:3:1: `2.5` is not an integer"]
    );
    let faults = fixture.faults(&with("l = { lines_of = \"short.lst\" }"));
    assert_eq!(faults, ["a.jsonl has 2 rows, but short.lst has 1 lines: they must have as many"]);

    // Conditions drop rows only after each has got its label.
    fixture.write("c.jsonl", "{\"n\": 1}\n{\"n\": 2}\n{\"n\": 3}\n");
    let kept = "path = \"c.jsonl\"\nkeep = { column = \"n\", not = true, equals = 2 }
columns = { l = { lines_of = \"labels.lst\", as = \"int\" }, g = { rows_of = \"labels.csv\", column = \"gold\", as = \"int\" } }";
    assert_eq!(fixture.rows(kept), json!([{"n": 1, "l": 1, "g": 5}, {"n": 3, "l": 1, "g": 7}]));
}

#[test]
fn conditions() {
    let text = "{\"s\": \"law\", \"n\": 1}\n{\"s\": \"art\", \"n\": 2, \"x\": null}\n{\"s\": \"law\", \"n\": 3.0, \"x\": \"y\"}\n{\"n\": 4}\n";
    let fixture = Fixture::with(&[("a.jsonl", text)]);
    for (keep, numbers) in [
        ("{ column = \"s\", equals = \"law\" }", json!([1, 3.0])),
        ("{ column = \"s\", equals = \"law\", not = true }", json!([2, 4])),
        ("{ column = \"n\", equals = 3 }", json!([3.0])),
        ("{ column = \"n\", equals = \"3\" }", json!([])),
        ("{ column = \"s\", in = [\"art\", \"x\"] }", json!([2])),
        ("{ column = \"s\", regex = \"^(law|art)$\" }", json!([1, 2, 3.0])),
        ("{ column = \"x\", exists = true }", json!([3.0])),
        ("{ column = \"x\", exists = false }", json!([1, 2, 4])),
        ("[{ column = \"s\", equals = \"law\" }, { column = \"n\", in = [3, 4] }]", json!([3.0])),
        // A computed column; rows that another condition drops are not computed, so the last one is no fault.
        ("[{ column = \"up\", equals = \"law!\" }, { column = \"s\", exists = true }]", json!([1, 3.0])),
    ] {
        let columns = if keep.contains("up") { "columns = { up = { format = \"{s}!\" } }" } else { "" };
        let rows = fixture.rows(&format!("path = \"a.jsonl\"\nkeep = {keep}\n{columns}"));
        let found: Vec<&Value> = rows.as_array().unwrap().iter().map(|row| &row["n"]).collect();
        assert_eq!(json!(found), numbers, "{keep}");
    }
}

#[test]
fn the_text_of_a_whole_file() {
    let fixture = Fixture::with(&[("a.jsonl", "{\"q\": 1}\n{\"q\": 2}\n"), ("hint.txt", "Think.\n\nThen {q}.\n")]);
    let keys = "path = \"a.jsonl\"\ncolumns = { hint = { text_of = \"hint.txt\" } }";
    let hint = "Think.\n\nThen {q}.\n";
    assert_eq!(fixture.rows(keys), json!([{"q": 1, "hint": hint}, {"q": 2, "hint": hint}]));
    fixture.write("hint.txt", b"\xff");
    let faults = fixture.faults(keys);
    assert!(faults.len() == 1 && faults[0].contains("hint.txt: not UTF-8"), "{faults:?}");
    let missing = fixture.config(&keys.replace("hint.txt", "gone.txt")).unwrap_err();
    assert!(missing.contains("no file `gone.txt`"), "{missing}");
    let empty = fixture.config("path = \"a.jsonl\"\ncolumns = { x = { object = [] } }").unwrap_err();
    assert!(empty.contains("`object` is empty"), "{empty}");
}

#[test]
fn several_rows_of_one() {
    let document =
        "{\"data\": [{\"id\": 1, \"ps\": [{\"c\": \"x\", \"qs\": [\"q1\", \"q2\"]}, {\"c\": \"y\", \"qs\": []}]},
{\"id\": 2, \"ps\": [{\"c\": \"z\", \"qs\": [\"q3\"]}]}]}";
    let fixture = Fixture::with(&[
        ("a.json", document),
        ("b.json", "[[\"t\", [1], 5], [\"u\", [2, 3], 6]]"),
        ("c.jsonl", "{\"a\": 1}\n{\"a\": 2}\n"),
    ]);
    let nested = "path = \"a.json\"\nrows = \"data\"\neach = { p = \"ps\", q = \"p.qs\", turn = [1, 2] }
columns = { c = { from = \"p.c\" }, n = { number = 10 } }\nonly = [\"id\", \"c\", \"q\", \"turn\", \"n\"]
keep = [{ column = \"q\", equals = \"q2\", not = true }, { column = \"turn\", equals = 2 }]";
    assert_eq!(
        fixture.rows(nested),
        json!([{"id": 1, "c": "x", "q": "q1", "turn": 2, "n": 10}, {"id": 2, "c": "z", "q": "q3", "turn": 2, "n": 11}])
    );
    let listed = "path = \"b.json\"\nnames = [\"text\", \"numbers\"]\neach = { number = \"numbers\" }\ndrop_columns = [\"numbers\"]";
    assert_eq!(
        fixture.rows(listed),
        json!([{"text": "t", "number": 1}, {"text": "u", "number": 2}, {"text": "u", "number": 3}])
    );
    let turns = "path = \"c.jsonl\"\ncolumns = { x = { cycle = [[0, 1], [1, 0]] } }";
    assert_eq!(fixture.rows(turns), json!([{"a": 1, "x": [0, 1]}, {"a": 2, "x": [1, 0]}]));
    for (each, why) in
        [("gone", "there is no `gone`, which `each` names"), ("a", "`a` is a number, not a list, for `each`")]
    {
        let faults = fixture.faults(&format!("path = \"c.jsonl\"\neach = {{ x = \"{each}\" }}"));
        assert_eq!(faults, [format!("c.jsonl:1:1: {why}; the same in 1 more row")]);
    }
    assert!(fixture.faults("path = \"b.json\"")[0].contains("a list, but a row is an object"));
}
