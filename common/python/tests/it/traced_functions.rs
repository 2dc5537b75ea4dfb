//! Tracing of everything that a function of a tree reaches, through the modules that it imports.

use compass_python::{LibrarySource, trace_function};
use compass_types::function::FunctionSource;
use std::path::PathBuf;

fn trace(files: &[(&str, &str)], function: &str) -> Result<FunctionSource, String> {
    let module = |dotted: &str| {
        let (name, text) = files.iter().find(|(name, _)| name.trim_end_matches('/') == dotted)?;
        let path = PathBuf::from(format!("{}.py", dotted.replace('.', "/")));
        Some(LibrarySource { path, text: (*text).to_owned(), is_package: name.ends_with('/') })
    };
    trace_function(function, &module).map_err(|fault| fault.to_string())
}

fn texts(source: &FunctionSource) -> Vec<(&str, &str)> {
    source.modules.iter().map(|part| (part.name.as_str(), part.text.as_str())).collect()
}

#[test]
fn what_is_reached_and_nothing_else() {
    let files = [
        ("opencompass.datasets/", "from .a import *\nfrom .b import *\n"),
        (
            "opencompass.datasets.a",
            "import re\nimport torch\nfrom typing import List\nfrom opencompass.registry import TEXT_POSTPROCESSORS\n\
             from ..utils.words import clean as tidy\n\nMARKS = ['=']\nMARKS.append('#')\nOTHER = 1\n\n\
             def unused(x):\n    return torch.tensor(x)\n\n@TEXT_POSTPROCESSORS.register_module('f')\n\
             def f(text: List[str]) -> str:\n    for mark in MARKS:\n        text = re.sub(mark, '', text)\n    return tidy(text)\n",
        ),
        ("opencompass.datasets.b", "def g(x):\n    return x\n"),
        (
            "opencompass.utils.words",
            "END = '.'\n\ndef clean(text):\n    return text.rstrip(END)\n\ndef other():\n    return open('x')\n",
        ),
    ];
    let source = trace(&files, "opencompass.datasets.f").unwrap();
    assert_eq!(source.name, "opencompass.datasets.a.f");
    let expected = [
        (
            "opencompass.datasets.a",
            "from opencompass.registry import TEXT_POSTPROCESSORS\nfrom opencompass.utils.words import clean as tidy\n\
             from typing import List\nimport re\nMARKS = ['=']\nMARKS.append('#')\n\
             @TEXT_POSTPROCESSORS.register_module('f')\ndef f(text: List[str]) -> str:\n    for mark in MARKS:\n        \
             text = re.sub(mark, '', text)\n    return tidy(text)\n",
        ),
        ("opencompass.utils.words", "END = '.'\ndef clean(text):\n    return text.rstrip(END)\n"),
    ];
    assert_eq!(texts(&source), expected);
}

#[test]
fn what_needs_more_than_a_text_is_refused() {
    let refused = |text: &str| trace(&[("opencompass.datasets.a", text)], "opencompass.datasets.a.f").unwrap_err();
    assert_eq!(
        refused("from sympy import simplify\n\ndef f(text):\n    return str(simplify(text))\n"),
        "it needs `sympy.simplify` (a.py): `sympy` is a package that has to be run"
    );
    assert_eq!(
        refused("def f(text):\n    import pandas as pd\n    return pd.NA\n"),
        "it needs `pandas` (a.py): `pandas` is a package that has to be run"
    );
    assert_eq!(refused("def f(text):\n    return str(eval(text))\n"), "it runs what an answer says (`eval`)");
    assert_eq!(refused("import csv\n\ndef f(text):\n    return csv.reader(text)\n"), "it reads files with `csv`");
    assert_eq!(refused("f = 1\n"), "`opencompass.datasets.a.f` is not a function");
    assert_eq!(
        refused("def g(text):\n    return text\n"),
        "no OpenCompass tree that is known has a function `opencompass.datasets.a.f`"
    );
    assert_eq!(refused("def f(text:\n"), "a.py:2:1: SyntaxError: unexpected EOF while parsing");
}

#[test]
fn modules_that_import_each_other_end() {
    let files = [
        (
            "opencompass.a",
            "from opencompass.b import *\nfrom opencompass.b import g\n\ndef f(text):\n    return g(text)\n",
        ),
        (
            "opencompass.b",
            "from opencompass.a import *\nfrom opencompass.a import f\n\ndef g(text):\n    return f(text)\n",
        ),
    ];
    assert_eq!(trace(&files, "opencompass.a.f").unwrap().modules.len(), 2);
    let loop_of_names =
        [("opencompass.a", "from opencompass.b import f\n"), ("opencompass.b", "from opencompass.a import f\n")];
    assert!(trace(&loop_of_names, "opencompass.a.f").is_err());
    assert!(trace(&[("opencompass.a", "from opencompass.a import *\n")], "opencompass.a.f").is_err());
}
