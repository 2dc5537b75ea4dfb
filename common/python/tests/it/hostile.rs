//! Files that would exhaust whatever reads them: each is an error with its place, or what CPython gives.

use crate::configurations::{run_within, x};
use compass_python::{Evaluation, Limits, Plain};

/// Smaller than a run's, so that reaching them takes no time.
const LIMITS: Limits = Limits { steps: 1_000_000, bytes: 32 << 20, depth: 200, file_bytes: 1 << 20 };

fn run(text: &str) -> Evaluation {
    run_within(text, LIMITS)
}

fn wrong(text: &str) -> String {
    run(text).result.map_or_else(|error| error.line(), |_| format!("no error: {text}"))
}

#[test]
fn nothing_lies_too_deep_for_the_stack() {
    let many = 200_000;
    for deep in [
        "(".repeat(many),
        "(".repeat(many) + &")".repeat(many),
        "[".repeat(many) + &"]".repeat(many),
        "{1:".repeat(many) + &"}".repeat(many),
        "-".repeat(1_000_000) + "1",
        "- ".repeat(many) + "1",
        "~".repeat(many) + "1",
        "not ".repeat(many) + "1",
        "lambda: ".repeat(100_000) + "1",
        "1 if 1 else ".repeat(80_000) + "1",
        "2**".repeat(many) + "1",
        "a".to_owned() + &".b".repeat(many),
        "a".to_owned() + &"()".repeat(many),
        "a".to_owned() + &"[0]".repeat(many),
        "1".to_owned() + &"+1".repeat(many),
        "'a'".to_owned() + &" 'a'".repeat(many),
        "1".to_owned() + &" < 1".repeat(100_000),
        "1".to_owned() + &" or 0".repeat(100_000),
        "f'{".repeat(100_000) + "1" + &"}'".repeat(100_000),
        "[x for x in ".repeat(50_000) + "[]" + &"]".repeat(50_000),
        "y = ".repeat(100_000) + "1",
        "*".repeat(many) + "1",
        "await ".repeat(100_000) + "1",
    ] {
        if let Err(error) = run(&format!("x = {deep}")).result {
            let beginning: String = deep.chars().take(12).collect();
            assert!(!error.line().contains("broke off"), "{beginning}");
            assert!(error.place.is_some(), "{beginning}: {error}");
        }
    }
    let indented: String = (0..1_000).map(|depth| " ".repeat(depth) + "if 1:\n").collect();
    assert!(!wrong(&indented).contains("broke off"));
}

#[test]
fn values_inside_each_other_are_freed() {
    for deeper in
        ["x = [x]", "x = (x,)", "x = {'k': x}", "x = dict(k=x)", "x = f(x)", "x = lambda x=x: x", "x = list(zip([x]))"]
    {
        let said = wrong(&format!("import functools\ndef f(*a): return a\nx = []\nwhile True:\n    {deeper}\n"));
        assert!(said.contains("more than") || said.contains("did not end"), "{deeper}: {said}");
    }
    assert_eq!(x("x = []\nfor i in range(100000):\n    x = [x]\nx = 1"), Plain::Int(1));
}

#[test]
fn shared_parts_are_not_written_out_without_bound() {
    let shared = "x = [1]\nfor i in range(100):\n    x = [x, x]\n";
    for end in [
        "y = repr(x)",
        "y = str(x)",
        "y = f'{x}'",
        "y = '%s' % x",
        "y = '{}'.format(x)",
        "import copy\ny = x == copy.deepcopy(x)\n",
    ] {
        let said = wrong(&format!("{shared}{end}\n"));
        assert!(said.contains("more than") || said.contains("did not end"), "{end}: {said}");
    }
    let tuples = "x = (1,)\nfor i in range(100):\n    x = (x, x)\n";
    assert!(wrong(&format!("{tuples}y = {{x: 1}}\n")).contains("MemoryError"));
    assert!(wrong("x = frozenset()\nfor i in range(100):\n    x = frozenset([x])\n").contains("set of sets"));
}

#[test]
fn what_holds_itself_is_shown_as_cpython_shows_it() {
    let text = |text: &str| x(text);
    assert_eq!(text("a = []\na.append(a)\nx = repr(a)\ndel a"), Plain::Text("[[...]]".into()));
    assert_eq!(text("a = {}\na['k'] = a\nx = str(a)\ndel a"), Plain::Text("{'k': {...}}".into()));
    assert_eq!(text("a = [1]\na.append((a,))\nx = f'{a}'\ndel a"), Plain::Text("[1, ([...],)]".into()));
    assert_eq!(text("b = [1]\nx = repr([b, b])"), Plain::Text("[[1], [1]]".into()));
    // Compared with what it holds, while it is searched.
    assert!(wrong("a = []\na.append([a])\na.remove([[1]])\n").contains("not in list"));
    assert!(wrong("x = []\nx.append(x)\n").contains("RecursionError"));
}

/// A value that holds itself twice: whatever goes through it ends at once, and reports why.
#[test]
fn what_goes_through_a_dict_that_holds_itself_ends() {
    let own = "a = {}\na['j'] = a\na['k'] = a\nb = {}\nb['j'] = b\nb['k'] = b\n";
    for (text, wanted) in [
        ("x = a", "RecursionError"),
        ("import copy\nx = copy.deepcopy(a)\n", "RecursionError"),
        ("import json\nx = json.dumps(a)\n", "ValueError: Circular reference detected"),
    ] {
        let evaluation = run(&format!("{own}{text}"));
        let said = evaluation.result.map_or_else(|error| error.line(), |_| format!("no error: {text}"));
        assert!(said.contains(wanted), "{text}: {said}");
    }
    // Imported dicts copy what is stored in them, and merge what they are updated with.
    let files = &[("c", "c = dict(k=1)\n")];
    for text in ["c['a'] = a", "c.a = [a]", "c.update(a=a)", "c.c = c\nc.update(c)"] {
        let evaluation =
            crate::configurations::run(&format!("with read_base():\n    from c import c\n{own}{text}\n"), files);
        let said = evaluation.result.map_or_else(|error| error.line(), |_| format!("no error: {text}"));
        assert!(said.contains("RecursionError"), "{text}: {said}");
    }
    for text in ["x = a == b", "x = a in [b]", "x = str(a) == str(b)", "x = len(repr(a))", "x = a != b"] {
        let evaluation = run(&format!("{own}{text}\ndel a, b\n"));
        assert!(evaluation.result.is_ok(), "{text}: {:?}", evaluation.result.err());
    }
}

#[test]
fn texts_and_lists_do_not_grow_without_bound() {
    for (text, wanted) in [
        ("x = [0] * 10 ** 8", "more than"),
        ("x = (0,) * 10 ** 12", "more than"),
        ("x = list(range(10 ** 12))", "more than"),
        ("x = range(10 ** 12)[:]", "more than"),
        ("x = sum(range(10 ** 12))", "more than"),
        ("for i in range(10 ** 12): pass", "did not end"),
        ("x = 10 ** 10 ** 10", "128 bits"),
        ("x = 1 << 1000000", "128 bits"),
        ("x = '%1000000000d' % 1", "ValueError"),
        ("x = f'{1:>1000000000}'", "ValueError"),
        ("x = f'{1.5:.1000000000f}'", "ValueError"),
        ("x = '{:1000000000}'.format(1)", "ValueError"),
        ("x = 'a'.ljust(10 ** 12)", "more than"),
        ("x = 'a'.center(10, 'bb')", "TypeError: The fill character"),
        ("x = ''.join(['a' * 10 ** 6] * 10 ** 6)", "more than"),
        ("x = 'a' * 10 ** 6\nx = x.replace('a', x)", "more than"),
        ("x = []\nwhile True: x.append('%60000d' % 1)", "more than"),
        ("x = []\nwhile True: x.append(f'{1:60000}')", "more than"),
        ("x = []\ny = [0] * 10 ** 5\nwhile True: x.append(y.copy())", "more than"),
        ("x = []\ny = 'a ' * 10 ** 5\nwhile True: x.append(y.split())", "more than"),
        ("x = []\ny = (0,) * 10 ** 5\nwhile True: x.append(y[:])", "more than"),
        ("x = []\ny = dict.fromkeys(range(10 ** 4))\nwhile True: x.append(y.keys())", "more than"),
        ("import itertools\nx = list(itertools.product(range(1000), repeat=10))", "more than"),
        ("x = [1]\nfor i in x: x.append(i)", "more than"),
        ("x = ('a' * 10 ** 4).translate({97: 'b' * 10 ** 6})", "more than"),
        ("x = []\ny = 'a' * 10 ** 3\nwhile True: x.append(y.translate({97: 'b' * 99}))", "more than"),
        ("x = '\\t'.expandtabs(10 ** 12)", "more than"),
        ("x = abs(-2 ** 126 * 2)", "128 bits"),
        ("x = int(1e300)", "128 bits"),
        ("x = int(float('inf'))", "OverflowError: cannot convert float infinity to integer"),
        ("x = 9 ** 0.5 * 1e308 * 1e10\nx = round(x)", "OverflowError"),
        ("x = (-8) ** 0.5", "complex"),
        ("x = [1 / v for v in [1, 0]]", "ZeroDivisionError: division by zero"),
    ] {
        let said = wrong(text);
        assert!(said.contains(wanted), "{text}: {said}");
        let error = run(text).result.unwrap_err();
        assert!(error.place.is_some(), "{text}: no place");
    }
    let spread =
        "x = ['a\\tb'.expandtabs(), 'a\\tb\\n\\tc'.expandtabs(4), 'a\\tb'.expandtabs(0), '\\t'.expandtabs(tabsize=2)]";
    let texts = ["a       b", "a   b\n    c", "ab", "  "].map(|text| Plain::Text(text.into()));
    assert!(matches!(x(spread), Plain::List(items) if items.iter().map(|item| &item.value).eq(&texts)));
    assert_eq!(x("x = len(f'{1.5:.60000f}')"), Plain::Int(60_002));
    assert_eq!(x("x = list(range(10 ** 30, 10 ** 30 + 2))[1] - 10 ** 30"), Plain::Int(1));
}

#[test]
fn bytes_that_no_file_should_have() {
    assert!(wrong("x = 1\ny = '\0'\n").contains("null bytes"));
    assert_eq!(x("\u{feff}x = 1"), Plain::Int(1));
    assert_eq!(x("x = [1,\r\n     2]\r\nx = x[1]\r\n"), Plain::Int(2));
    let mixed = run("if 1:\n        a = 1\n\tb = 2\n").result.unwrap_err();
    assert!(mixed.line().starts_with("TabError") && mixed.place.is_some(), "{mixed}");
    assert!(wrong("x = (1").starts_with("SyntaxError"));
    assert!(wrong(&("#".repeat(2 << 20))).contains("at most"));
}
