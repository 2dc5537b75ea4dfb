//! Files of every construct, changed at random: values or an error with a place, never a panic. `COMPASS_FULL=1` plays 100,000
//! instead of 2,000, `COMPASS_FUZZ_ROUNDS` as many as it says, and `COMPASS_OPENCOMPASS_TREE` adds the files of a tree.

use crate::configurations::run_within;
use compass_python::Limits;
use compass_types::seeded::Rng;
use std::path::{Path, PathBuf};

const ROUNDS: u64 = 2_000;
/// With `COMPASS_FULL`.
const FULL_ROUNDS: u64 = 100_000;

/// Between them, what configurations use of the language.
const SCRIPTS: &[&str] = &[
    "from mmengine.config import read_base\nwith read_base():\n    from .a.b import c_datasets, d as e\n    from opencompass.configs.x import *\n\
     datasets = sum((v for k, v in locals().items() if k.endswith('_datasets')), [])\nfor d in datasets:\n    d['abbr'] += '-x'\n    d.pop('k', None)\n",
    "import copy, os.path as osp\nbase = dict(abbr='a', n=[1, 2, (3, 4.5e-3)], **{'k': None, 0: True})\nall = []\nfor i, name in enumerate(['x', 'y']):\n\
     \x20   one = copy.deepcopy(base)\n    one.update(abbr=f'{name!r:>8}-{i:03d}', path=osp.join('data', name + '.json'))\n    all.append(one)\ndel base, one\n",
    "def make(n, *rest, key='v', **more):\n    \"\"\"text\"\"\"\n    total = 0\n    for r in rest:\n        if r % 2 == 0 and r not in (4, 6):\n            continue\n        elif r > 100:\n            break\n\
     \x20       total += r ** 2 // 3\n    else:\n        total -= 1\n    return {**more, key: total, 'n': n}\nx = make(1, 2, 3, *range(4), key='%s_%d' % ('a', 7), z=[*'abc'])\n",
    "try:\n    y = {'a': 1}['b']\nexcept (KeyError, IndexError) as error:\n    y = str(error)\nfinally:\n    z = y[::-1]\nassert z, 'never'\nw = (lambda a, b=2: a if a else b)(0)\n\
     while w < 5:\n    w += 1\nif (v := w * 2) > 3 or not v:\n    u = [i * j for i in range(3) for j in range(i) if i != j]\n",
    "names = sorted({w.strip().lower() for w in 'B, a,c'.split(',')}, key=lambda s: (len(s), s), reverse=True)\nindex = {k: v for v, k in enumerate(names)}\n\
     text = '{0}/{name:>5}|{1!r}'.format(1, 'b', name='é中')\nfirst, *others = names\nm = max(index.values(), default=0) + round(2.5) + int('0x1f', 16)\n",
    "class Box:\n    size = 3\n    def __init__(self, v):\n        self.v = v\n    def twice(self):\n        return self.v * 2\nb = Box(4).twice() + Box.size\nglobal_name = globals().get('b')\n\
     def gen(n):\n    for i in range(n):\n        yield i\ng = list(gen(3)) + [*map(str, (1, 2))]\nraise_later = 'raise ValueError(\"no\")'\n",
    "prompt = '''Question: {q}\n\\tAnswer: \"\"\"{a}\"\"\"\n'''\nrounds = dict(round=[dict(role='HUMAN', prompt=prompt.replace('{q}', r'\\d+')), dict(role='BOT', prompt='')])\n\
     infer_cfg = dict(prompt_template=dict(type='PromptTemplate', template={label: rounds for label in 'ABCD'}), retriever=dict(type='ZeroRetriever'))\n",
];

/// Texts that parsers and evaluators stumble over.
const ODD: &[&str] = &[
    "\0",
    "\u{feff}",
    "\r",
    "\t",
    "\n",
    "\\\n",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "'",
    "\"",
    "'''",
    "f'{",
    "}'",
    "#",
    ":",
    "=",
    "==",
    ":=",
    "*",
    "**",
    "-",
    "not ",
    " if ",
    " else ",
    " for x in ",
    " in ",
    "lambda ",
    "1e999",
    "10 ** 30",
    "0x",
    "1_000",
    "None",
    "[:]",
    "[::-1]",
    ".x",
    "()",
    ", ",
    "import os\n",
    "return ",
    "yield ",
    "del ",
    "global x\n",
    "* 10 ** 9",
    "é",
    "\u{202e}",
    "\\N{DASH}",
    "\\x",
    "!r",
    ":>99999",
    "%s",
    " % ",
    "~",
    "@",
    "...",
    "await ",
    "with a as b:\n",
    "try:\n",
    "except:\n",
];

/// Blows to a text, drawn from a seed.
struct Dice(Rng);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0.below(sides as u64) as usize
    }

    fn place(&mut self, text: &str) -> usize {
        let mut at = self.roll(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }

    /// One to four blows: a stretch cut out, doubled or moved, a part of another file, or something odd.
    fn mutate(&mut self, text: &mut String, other: &str) {
        for _ in 0..=self.roll(3) {
            let (a, b) = (self.place(text), self.place(text));
            let (start, end) = (a.min(b), a.max(b).min(a.min(b) + 60));
            let end = (start..=end).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(start);
            let part = text[start..end].to_owned();
            match self.roll(6) {
                0 => text.replace_range(start..end, ""),
                1 => text.insert_str(end, &part),
                2 => {
                    text.replace_range(start..end, "");
                    let at = self.place(text);
                    text.insert_str(at, &part);
                }
                3 => {
                    let (from, to) = (self.place(other), self.place(other));
                    text.insert_str(start, &other[from.min(to)..from.max(to)]);
                }
                4 => text.replace_range(start..end, ODD[self.roll(ODD.len())]),
                _ => text.insert_str(start, ODD[self.roll(ODD.len())]),
            }
        }
    }
}

fn files_below(folder: &Path, texts: &mut Vec<String>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files_below(&path, texts);
        } else if path.extension().is_some_and(|kind| kind == "py") {
            texts.extend(std::fs::read_to_string(&path).ok().filter(|text| text.len() < 20_000));
        }
    }
}

#[test]
fn mutated_files_give_values_or_errors() {
    let mut corpus: Vec<String> = SCRIPTS.iter().map(|text| (*text).to_owned()).collect();
    match std::env::var_os("COMPASS_OPENCOMPASS_TREE") {
        Some(tree) => files_below(Path::new(&tree), &mut corpus),
        None => eprintln!("skipped: files of a tree, as COMPASS_OPENCOMPASS_TREE names none"),
    }
    let usual = if std::env::var_os("COMPASS_FULL").is_some() { FULL_ROUNDS } else { ROUNDS };
    let rounds = std::env::var("COMPASS_FUZZ_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let limits = Limits { steps: 200_000, bytes: 64 << 20, ..Limits::default() };
    let (mut evaluated, mut failed) = (0, 0);
    for seed in 0..rounds {
        let mut dice = Dice(Rng::new(seed));
        // The constructs of the language come as often as all files of a tree together.
        let most = if seed % 2 == 0 { SCRIPTS.len() } else { corpus.len() };
        let (at, other) = (dice.roll(most), dice.roll(most));
        let mut text = corpus[at].clone();
        dice.mutate(&mut text, &corpus[other]);
        let evaluation = run_within(&text, limits);
        match evaluation.result {
            Ok(_) => evaluated += 1,
            Err(error) => {
                failed += 1;
                let said = error.line();
                assert!(!said.contains("broke off"), "seed {seed} of {} files: {said}\n{text}", corpus.len());
                assert!(said.len() < 100_000, "seed {seed}: a message of {} bytes", said.len());
                let place = error.place.unwrap_or_else(|| panic!("seed {seed}: no place: {said}\n{text}"));
                let file = &evaluation.files[place.file.index()];
                assert!(place.range().end <= file.text.len() + 1, "seed {seed}: {said}: beyond the file");
            }
        }
    }
    eprintln!("{rounds} files: {evaluated} evaluated, {failed} with an error");
    assert!(evaluated > 0 && failed > 0);
}
