//! Ranges over splits: after the conditions, over all files, the same rows whether read once or twice.

use super::fixture::Fixture;
use compass_types::range::RangeSpec;

fn numbers(fixture: &Fixture, test: &str, range: &RangeSpec) -> Vec<i64> {
    let split = fixture.split(test, range).unwrap();
    split.rows().map(|row| row["n"].as_i64().unwrap()).collect()
}

#[test]
fn conditions_come_before_ranges() {
    let lines = |numbers: std::ops::Range<i64>| numbers.map(|n| format!("{{\"n\": {n}}}\n")).collect::<String>();
    let fixture = Fixture::with(&[("a.jsonl", &lines(0..12)), ("b.jsonl", &lines(12..20))]);
    let files = "path = [\"a.jsonl\", \"b.jsonl\"]";
    let even = format!("{files}\nkeep = {{ column = \"n\", regex = \"[02468]$\" }}");
    let slices = |text: &str| RangeSpec::Slices(text.into());
    assert_eq!(numbers(&fixture, &even, &slices("[:3]")), [0, 2, 4]);
    assert_eq!(numbers(&fixture, &even, &slices("[-2:]")), [16, 18]);
    assert_eq!(numbers(&fixture, &even, &slices("[1:9][2:4]")), [6, 8]);
    assert_eq!(numbers(&fixture, &even, &slices("[::-4]")), [18, 10, 2]);
    // Positions 2, 3, 1, 0, 8 of ten: what OpenCompass draws.
    assert_eq!(numbers(&fixture, &even, &RangeSpec::Count(5)), [4, 6, 2, 0, 16]);
    assert_eq!(numbers(&fixture, &even, &RangeSpec::Fraction(0.5)), [4, 6, 2, 0, 16]);
    let split = fixture.split(&even, &RangeSpec::Count(5)).unwrap();
    assert_eq!((split.in_files, split.kept), (20, 10));
    assert_eq!(fixture.strip(&split.place(4)), "b.jsonl:5:1", "16 stands on the fifth line of the second file");
    let error = fixture.split(&even, &RangeSpec::Fraction(0.01)).unwrap_err();
    assert_eq!(error, ["test_range: a share of 0.01 takes none of 10 rows: write a larger one, or a count"]);
}

#[test]
fn a_fault_outside_the_range_is_a_fault() {
    let fixture = Fixture::with(&[("a.jsonl", "{\"n\": 1}\n{\"n\": 2}\noops\n")]);
    let faults = fixture.split("path = \"a.jsonl\"", &RangeSpec::Slices("[:1]".into())).unwrap_err();
    assert_eq!(faults, ["a.jsonl:3:1: not valid JSON: expected value"]);
}

#[test]
fn a_slice_of_the_file_comes_before_ranges_and_is_counted_from_its_first_row() {
    let lines: String = (0..12).map(|n| format!("{{\"n\": {n}}}\n")).collect();
    let fixture = Fixture::with(&[("a.jsonl", &lines)]);
    let slices = |text: &str| RangeSpec::Slices(text.into());
    let sliced = |slice: &str| {
        format!("path = \"a.jsonl\"\nkeep = {{ column = \"n\", regex = \"[02468]$\" }}\nslice = \"{slice}\"")
    };
    assert_eq!(numbers(&fixture, &sliced("[1:4]"), &RangeSpec::All), [2, 4, 6]);
    assert_eq!(numbers(&fixture, &sliced("[1:4]"), &slices("[1:]")), [4, 6]);
    assert_eq!(numbers(&fixture, &sliced("[1:4]"), &slices("[-1:]")), [6]);
    assert_eq!(numbers(&fixture, &sliced("[:2]"), &RangeSpec::Count(9)), [0, 2], "more than there are");
    assert_eq!(numbers(&fixture, &sliced("[3:]"), &RangeSpec::All), [6, 8, 10]);
    let mut split = fixture.split(&sliced("[1:4]"), &slices("[1:]")).unwrap();
    split.number("d");
    let positions: Vec<_> = split.rows().map(|row| row["idx"].clone()).collect();
    assert_eq!(positions, [1, 2], "as OpenCompass counts the rows of a class that takes a part of its file");
}
