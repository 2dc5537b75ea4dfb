//! Functions that a plan holds by their source: postprocessors and transforms of summary groups, called by the interpreter.

use compass_plan::summary::Transform;
use compass_postprocess::Interpreted;
use compass_python::link_interpreter;
use compass_types::function::{FunctionSource, ModulePart};
use serde_json::{Value, json};

fn interpreted(text: &str, parameters: Value) -> Interpreted {
    link_interpreter();
    let module = ModulePart { name: "opencompass.own".into(), is_package: false, text: text.into() };
    let source = FunctionSource { name: "opencompass.own.f".into(), modules: vec![module] };
    Interpreted::new(source, parameters.as_object().unwrap().clone())
}

#[test]
fn texts_numbers_and_none() {
    let f = interpreted(
        "import re\n\ndef f(text, tag='b'):\n    found = re.findall(f'<{tag}>(.*?)</{tag}>', text)\n    \
         if not found:\n        return None\n    return float(found[-1]) if found[-1].isdigit() else found[-1]\n",
        json!({"tag": "a"}),
    );
    assert_eq!(f.extract("<a>x</a><a>yes</a>"), Ok(Some("yes".into())));
    assert_eq!(f.extract("<b>x</b>"), Ok(None));
    assert_eq!(f.extract("<a>12</a>"), Ok(Some("12.0".into())));
}

#[test]
fn an_answer_depends_on_no_other() {
    let f = interpreted("SEEN = []\n\ndef f(text):\n    SEEN.append(text)\n    return str(len(SEEN))\n", json!({}));
    assert_eq!(f.extract("a"), Ok(Some("1".into())));
    assert_eq!(f.clone().extract("b"), Ok(Some("1".into())));
}

#[test]
fn what_it_raises_is_told_and_the_next_answer_is_judged() {
    let f = interpreted("def f(text):\n    return text.split('=')[1]\n", json!({}));
    let error = f.extract("none").unwrap_err().to_string();
    assert_eq!(
        error,
        "undecided: `f` fails on this text: opencompass.own.py:2:12: IndexError: list index out of range"
    );
    assert_eq!(f.extract("a=b"), Ok(Some("b".into())));
    let endless = interpreted("def f(text):\n    while True:\n        pass\n", json!({}));
    let error = endless.extract("x").unwrap_err().to_string();
    assert!(error.contains("did not end after 5000000 steps"), "{error}");
    let list = interpreted("def f(text):\n    return [text]\n", json!({}));
    let error = list.extract("x").unwrap_err().to_string();
    assert_eq!(error, "undecided: `f` fails on this text: it gives a list, and answers are texts");
}

#[test]
fn files_are_no_part_of_a_function() {
    for body in [
        "open('/etc/hostname').read()",
        "pathlib.Path('names.txt').read_text()",
        "json.load(open('a.json'))",
        "str(os.listdir('.'))",
    ] {
        let f = interpreted(
            &format!("import json\nimport os\nimport pathlib\n\ndef f(text):\n    return {body}\n"),
            json!({}),
        );
        let refused = f.refusal(&["a"]).unwrap_or_default();
        assert!(
            refused.contains("reads no files") || refused.contains("cannot be evaluated here"),
            "{body}: {refused}"
        );
    }
    let caught = "def f(text):\n    try:\n        return open('a').read()\n    except Exception:\n        return ''\n";
    assert!(interpreted(caught, json!({})).refusal(&["a"]).is_some());
    let raises = "def f(text):\n    return text.split('=')[1]\n";
    assert_eq!(interpreted(raises, json!({})).refusal(&["a"]), None);
}

#[test]
fn a_plan_holds_it() {
    let f = interpreted("def f(text):\n    return text[::-1]\n", json!({}));
    let read: Interpreted = serde_json::from_value(serde_json::to_value(&f).unwrap()).unwrap();
    assert_eq!(read, f);
    assert_eq!(read.extract("abc"), Ok(Some("cba".into())));
}

#[test]
fn expressions_give_what_python_gives() {
    link_interpreter();
    // Printed by CPython 3.11.
    for (expression, x, expected) in [
        ("((2 - x) / 2) * 100", 0.3517, 82.414_999_999_999_99),
        ("max((1.2 - x) / 1.2, 0) * 100", 0.7, 41.666_666_666_666_67),
        ("max((1.2 - x) / 1.2, 0) * 100", 1.3, 0.0),
        ("min(100, max(0, 100*x/(1+x)))", 0.81, 44.751_381_215_469_614),
        ("math.sqrt(x)", 2.0, std::f64::consts::SQRT_2),
        (" x ", 1e300, 1e300),
        ("7", 1.0, 7.0),
    ] {
        assert_eq!(Transform::new(expression).unwrap().of(x), Ok(expected), "{expression}");
    }
}

#[test]
fn what_is_no_expression_of_x_is_refused_with_the_reason() {
    link_interpreter();
    for (expression, reason) in [
        ("y * 100", "NameError: name 'y' is not defined"),
        ("x *", "SyntaxError"),
        ("", "it says nothing"),
        ("[x]", "`[x]` gives a list for x = 50, and no number"),
        ("'a'", "gives a text for x = 50, and no number"),
        ("x > 3", "gives True for x = 50, and no number"),
        ("x / (x - 50)", "ZeroDivisionError: float division by zero"),
        ("open('/etc/passwd')", "open"),
    ] {
        let why = Transform::new(expression).unwrap_err();
        assert!(why.contains(reason), "{expression}: {why}");
    }
}
