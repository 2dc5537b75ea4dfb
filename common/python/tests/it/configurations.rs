//! Python as configurations use it.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_python::{Evaluation, FileKind, Host, Imported, Limits, Plain, evaluate};
use std::path::{Path, PathBuf};

/// Files by name; nothing else is there.
struct Files(&'static [(&'static str, &'static str)]);

impl Host for Files {
    fn base(&self, _: &Path, _: u32, module: &str) -> Imported {
        match self.0.iter().find(|(name, _)| *name == module) {
            Some((name, text)) => {
                Imported::Source { path: Path::new(name).with_extension("py"), text: (*text).to_owned() }
            }
            None => Imported::Missing { reason: format!("No module named '{module}'"), help: None },
        }
    }

    fn read(&self, path: &Path) -> Result<String, String> {
        Err(format!("{}: No such file or directory (os error 2)", path.display()))
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

pub(crate) fn run(text: &str, files: &'static [(&'static str, &'static str)]) -> Evaluation {
    evaluate(Path::new("eval.py"), text.to_owned(), &Files(files), Limits::default())
}

pub(crate) fn run_within(text: &str, limits: Limits) -> Evaluation {
    evaluate(Path::new("eval.py"), text.to_owned(), &Files(&[]), limits)
}

/// The value of `x`.
pub(crate) fn x(text: &str) -> Plain {
    let names = run(text, &[]).result.unwrap_or_else(|error| unreachable!("{text}: {error}"));
    names.into_iter().find(|(name, _)| name == "x").map(|(_, node)| node.value).unwrap()
}

fn wrong(text: &str) -> String {
    run(text, &[]).result.unwrap_err().line()
}

#[test]
fn expressions_have_cpythons_values() {
    for (text, wanted) in [
        ("x = -7 // 2", Plain::Int(-4)),
        ("x = -7 % 3", Plain::Int(2)),
        ("x = 2 ** 10", Plain::Int(1024)),
        ("x = 1 == 1.0 == True", Plain::Bool(true)),
        ("x = f'{3.14159:.2f}|{5:>4}|{\'a\'!r}'", Plain::Text("3.14|   5|'a'".into())),
        ("x = '%s-%03d' % ('a', 7)", Plain::Text("a-007".into())),
        ("x = 'a,b,,c'.split(',')[-1]", Plain::Text("c".into())),
        ("x = sum([i for i in range(10) if i % 2], 100)", Plain::Int(125)),
        ("x = len({1, 1.0, True})", Plain::Int(1)),
        ("x = sorted(['b', 'a', 'c'], reverse=True)[0]", Plain::Text("c".into())),
        ("a = [1]\nb = a\nb += [2]\nx = len(a)", Plain::Int(2)),
        ("def f(a, *b, c=3, **d):\n    return a + len(b) + c + d['e']\nx = f(1, 2, 3, e=5)", Plain::Int(11)),
        (
            "a_datasets = [1]\nb_datasets = [2, 3]\nx = sum((v for k, v in locals().items() if k.endswith('_datasets')), [])[2]",
            Plain::Int(3),
        ),
        ("try:\n    [][1]\nexcept IndexError as e:\n    x = str(e)", Plain::Text("list index out of range".into())),
        ("x = 'äöü'[1:]", Plain::Text("öü".into())),
        ("x = {0: 'a', '0': 'b'}[0]", Plain::Text("a".into())),
    ] {
        assert_eq!(x(text), wanted, "{text}");
    }
}

#[test]
fn imports_break_aliases_and_files_keep_them() {
    let files = &[("a", "shared = dict(k=1)\nd = [dict(c=shared), dict(c=shared)]\n")];
    let text = "with read_base():\n    from a import d\nd[0]['c']['k'] = 5\nx = d[1]['c']['k']\n\
                s = dict(k=1)\nown = [dict(c=s), dict(c=s)]\nown[0]['c']['k'] = 5\ny = own[1]['c']['k']\nz = d[0].c.k\n";
    let names = run(text, files).result.unwrap();
    let value = |wanted: &str| names.iter().find(|(name, _)| name == wanted).map(|(_, node)| node.value.clone());
    assert_eq!(value("x"), Some(Plain::Int(1)), "an import copies");
    assert_eq!(value("y"), Some(Plain::Int(5)), "a file shares");
    assert_eq!(value("z"), Some(Plain::Int(5)), "entries of imported dicts are attributes");
}

#[test]
fn every_value_knows_where_it_was_written() {
    let text = "a = dict(k='v')\nx = [a]\n";
    let names = run(text, &[]).result.unwrap();
    let node = names.iter().find(|(name, _)| name == "x").unwrap().1.items()[0].get("k").unwrap().clone();
    assert_eq!(&text[node.place.range()], "'v'");
}

#[test]
fn errors_are_cpythons_with_their_place() {
    for (text, wanted) in [
        ("x = y", "NameError: name 'y' is not defined"),
        ("x = {}['k']", "KeyError: 'k'"),
        ("x = 1 + 'a'", "TypeError: unsupported operand type(s) for +: 'int' and 'str'"),
        ("x = int('a')", "ValueError: invalid literal for int() with base 10: 'a'"),
        ("def f(a): pass\nf()", "TypeError: f() missing 1 required positional argument: 'a'"),
        ("raise ValueError('no')", "ValueError: no"),
        ("assert 1 == 2, 'never'", "AssertionError: never"),
        ("import os\nos.system('ls')", "AttributeError: module 'os' has no attribute 'system'"),
    ] {
        assert_eq!(wrong(text), wanted, "{text}");
    }
    let error = run("x = 1\ny = x + z\n", &[]).result.unwrap_err();
    assert_eq!(error.place.map(|place| place.range()), Some(14..15));
    let called = wrong("from opencompass.models import M\nx = M()");
    assert!(called.contains("`opencompass.models.M(...)` would have to run"), "{called}");
}

#[test]
fn no_file_exceeds_its_limits() {
    assert!(wrong("while True: pass").contains("did not end"));
    assert!(wrong("x = 'a' * 10 ** 12").contains("more than"));
    assert!(wrong("x = []\nwhile True: x.append('aaaaaaaa' * 1000)").contains("more than"));
    assert_eq!(wrong("def f(): return f()\nf()"), "RecursionError: maximum recursion depth exceeded");
    assert!(wrong("x = []\nx.append(x)").contains("RecursionError"));
    assert!(wrong("x = '\0'").contains("null bytes"));
    assert!(wrong("x = 9 ** 9 ** 9").contains("128 bits"));
    for deep in [
        "(".repeat(100_000),
        "[".repeat(100_000) + &"]".repeat(100_000),
        "-".repeat(100_000) + "1",
        "not ".repeat(50_000) + "1",
    ] {
        let said = wrong(&format!("x = {deep}"));
        assert!(!said.contains("broke off"), "{said}");
    }
}

#[test]
fn statements_where_they_may_not_stand_are_found_before_anything_runs() {
    for (text, at, wanted) in [
        ("x = y\nreturn\n", 6..12, "SyntaxError: 'return' outside function"),
        ("class A:\n    return 1\n", 13..21, "SyntaxError: 'return' outside function"),
        ("def f():\n    class A:\n        return 1\n", 30..38, "SyntaxError: 'return' outside function"),
        ("if 1:\n    pass\nelse:\n    break\n", 25..30, "SyntaxError: 'break' outside loop"),
        ("for i in []:\n    pass\nelse:\n    break\n", 32..37, "SyntaxError: 'break' outside loop"),
        ("while 1:\n    def f():\n        break\n", 30..35, "SyntaxError: 'break' outside loop"),
        ("try:\n    continue\nexcept: pass\n", 9..17, "SyntaxError: 'continue' not properly in loop"),
        ("def f():\n    with open('a'):\n        continue\n", 37..45, "SyntaxError: 'continue' not properly in loop"),
    ] {
        let error = run(text, &[]).result.unwrap_err();
        assert_eq!(error.line(), wanted, "{text}");
        assert_eq!(error.place.map(|place| place.range()), Some(at), "{text}");
    }
    assert_eq!(
        x("x = 0\ndef f():\n    for i in range(9):\n        if i < 3: continue\n        try: break\n        \
           finally: pass\n    return i\nx = f()\nwhile True: break\n"),
        Plain::Int(3)
    );
}

#[test]
fn json_is_evaluated_and_other_functions_have_their_remedy() {
    assert_eq!(x("import json\nx = json.loads('{\"a\": [1, 2]}')['a'][1]"), Plain::Int(2));
    assert_eq!(x("from json import dumps\nx = dumps(dict(a=1))"), Plain::Text("{\"a\": 1}".into()));
    assert_eq!(x("import json\ntry:\n    json.loads('{')\nexcept json.JSONDecodeError:\n    x = 3"), Plain::Int(3));
    let help = |text: &str| run(text, &[]).result.unwrap_err().help.unwrap();
    let called = help("import subprocess\nx = subprocess.run(['ls'])");
    assert!(called.contains("`subprocess` is not") && called.contains("--python PATH"), "{called}");
    assert!(help("from opencompass.models import M\nx = M()").contains("write `dict(type=M, ...)`"));
}

#[test]
fn a_near_name_is_the_remedy() {
    for (text, wanted) in [
        ("siqa_datasets = []\nx = siqa_dataset", Some("siqa_datasets")),
        ("x = lenn([])", Some("len")),
        ("def f(limit):\n    return limt\nf(1)", Some("limit")),
        ("x = dict(reader_cfg=1)['reader_cgf']", Some("reader_cfg")),
        ("[].apend(1)", Some("append")),
        ("dict(a=1).udpate(b=2)", Some("update")),
        ("class A:\n    template = 1\nx = A().templat", Some("template")),
        ("x = nothing_like_it", None),
        ("a = 1\nx = b", None),
        ("x = {'a': 1}['zzz']", None),
    ] {
        let help = run(text, &[]).result.unwrap_err().help;
        assert_eq!(help, wanted.map(|near| format!("did you mean `{near}`?")), "{text}");
    }
    let files = &[("a", "d = dict(path='x')\n")];
    let error = run("with read_base():\n    from a import d\nx = d.pth\n", files).result.unwrap_err();
    assert_eq!(error.help.as_deref(), Some("did you mean `path`?"));
}

#[test]
fn what_is_printed_is_kept_with_its_place() {
    let printed = run("print('a', 1, [None], sep='|', end='')\nprint()\n", &[]).printed;
    let told: Vec<(u32, &str)> = printed.iter().map(|(place, text)| (place.start, text.as_str())).collect();
    // As in CPython, the second call ends the line that the first one left open.
    assert_eq!(told, [(0, "a|1|[None]")]);
    let many = run("for i in range(100): print('x' * 9999)\n", &[]).printed;
    assert_eq!((many.len(), many[0].1.len()), (21, 503));
    assert!(many[20].1.contains("not shown"));
}

#[test]
fn common_mistakes_have_cpythons_class_and_text() {
    for (text, wanted) in [
        (" x = 1\n", "IndentationError: unexpected indent"),
        ("x = 1\n  y = 2\n", "IndentationError: unexpected indent"),
        ("if 1:\npass\n", "IndentationError: expected an indented block after 'if' statement on line 1"),
        (
            "def f():\n\n# no\nx = 1\n",
            "IndentationError: expected an indented block after function definition on line 1",
        ),
        ("class A:\nx = 1\n", "IndentationError: expected an indented block after class definition on line 1"),
        ("try:\n  a\nexcept:\nb\n", "IndentationError: expected an indented block after 'except' statement on line 3"),
        ("if 1:\n    x\n  y\n", "IndentationError: unindent does not match any outer indentation level"),
        ("if 1:\n        x = 1\n\ty = 2\n", "TabError: inconsistent use of tabs and spaces in indentation"),
        ("print 'x'\n", "SyntaxError: Missing parentheses in call to 'print'. Did you mean print(...)?"),
        ("x = dict(a=1, a=2)", "SyntaxError: keyword argument repeated: a"),
        ("x = dict(a=1, **dict(a=2))", "TypeError: got multiple values for keyword argument 'a'"),
        ("open('nothing.txt')", "FileNotFoundError: [Errno 2] No such file or directory: 'nothing.txt'"),
        ("x = 'a' * 1.5", "TypeError: can't multiply sequence by non-int of type 'float'"),
        ("x = None * [1]", "TypeError: can't multiply sequence by non-int of type 'NoneType'"),
    ] {
        assert_eq!(wrong(text), wanted, "{text}");
    }
}

#[test]
fn configurations_ask_the_file_system_of_their_host() {
    struct Disk;
    impl Host for Disk {
        fn base(&self, _: &Path, _: u32, module: &str) -> Imported {
            Imported::Missing { reason: format!("No module named '{module}'"), help: None }
        }

        fn read(&self, path: &Path) -> Result<String, String> {
            Err(format!("{}: Is a directory (os error 21)", path.display()))
        }

        fn variable(&self, name: &str) -> Option<String> {
            (name == "HOME").then(|| "/root".to_owned())
        }

        fn path_kind(&self, path: &Path) -> Option<FileKind> {
            match path.to_str() {
                Some("/data" | "data") => Some(FileKind::Folder),
                Some("/data/a.json") => Some(FileKind::File),
                _ => None,
            }
        }

        fn current_folder(&self) -> Option<PathBuf> {
            Some("/data/here".into())
        }
    }
    let run = |text: &str| evaluate(Path::new("eval.py"), text.to_owned(), &Disk, Limits::default()).result;
    for (expression, wanted) in [
        (
            "[osp.isdir('/data'), osp.exists('/data'), osp.isfile('/data'), osp.exists('/no')]",
            "[True, True, False, False]",
        ),
        ("[osp.isfile('/data/a.json'), osp.isdir('/data/a.json')]", "[True, False]"),
        ("[osp.abspath('x'), osp.abspath('/a/../b'), os.getcwd()]", "['/data/here/x', '/b', '/data/here']"),
        ("['HOME' in os.environ, 'X' in os.environ, os.environ.get('X')]", "[True, False, None]"),
    ] {
        let text = format!("import os\nimport os.path as osp\nx = str({expression})\n");
        let names = run(&text).unwrap();
        let node = names.iter().find(|(name, _)| name == "x").unwrap();
        assert_eq!(node.1.value, Plain::Text(wanted.into()), "{expression}");
    }
    let names =
        run("import os\nos.environ['X'] = 'v'\nx = os.environ['X'] + os.getenv('X') + str('X' in os.environ)").unwrap();
    assert_eq!(names[0].1.value, Plain::Text("vvTrue".into()));
    assert_eq!(run("open('data')").unwrap_err().line(), "IsADirectoryError: [Errno 21] Is a directory: 'data'");
    // Without a folder there is no answer, rather than a wrong one.
    assert!(wrong("import os\nx = os.getcwd()").contains("not known here"));
}

#[test]
fn what_is_printed_without_an_end_of_line_goes_on() {
    let printed = run("print('a', end='')\nprint('b', end=' ')\nprint('c')\nprint('d')\n", &[]).printed;
    let told: Vec<(u32, &str)> = printed.iter().map(|(place, text)| (place.start, text.as_str())).collect();
    assert_eq!(told, [(0, "ab c"), (50, "d")]);
}

#[test]
fn what_is_not_evaluated_is_no_answer() {
    for (text, wanted) in [
        ("class A:\n    def __new__(cls): return 5\nx = A()", "`__new__`"),
        ("from enum import IntEnum\nclass A(IntEnum):\n    R = 1\n", "more than `enum.Enum`"),
        ("def f():\n    x = [(yield)]\nx = list(f())", "within another expression"),
        ("x = [v for v in {1.5, 2.5}]", "the order of a set"),
        ("class A:\n    def __hash__(self): return 1\nx = {A(): 1}", "`__hash__`"),
        ("class A(dict): pass", "stands on `dict`"),
    ] {
        let error = run(text, &[]).result.unwrap_err();
        assert!(error.line().contains(wanted), "{text}: {error}");
        assert!(error.place.is_some(), "{text}");
    }
    assert!(wrong("x = int('9' * 10 ** 6)").len() < 300);
    assert!(wrong("raise ValueError('9' * 10 ** 6)").len() < 5_000);
}
