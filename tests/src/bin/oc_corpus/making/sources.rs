//! The sources of loader classes: which of their lines belong to a class.

use super::reads::{self, Read};
use super::tokens::{self, Token};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Words of functions that read answers, not data.
const OF_ANSWERS: [&str; 6] = ["postprocess", "eval", "score", "extract_answer", "judge", "metric"];

/// Every source below `opencompass/datasets`, and where its classes are.
#[derive(Debug, Default)]
pub(in super::super) struct Sources {
    texts: BTreeMap<PathBuf, String>,
    classes: BTreeMap<String, Vec<PathBuf>>,
}

/// A class in its file.
#[derive(Debug, Default)]
pub(super) struct Class {
    /// Words of the class, of its bases, and of functions that they call.
    pub(super) words: Vec<Token>,
}

impl Sources {
    pub(in super::super) fn new(tree: &Path) -> Self {
        let mut sources = Self::default();
        sources.add(&tree.join("opencompass/datasets"));
        sources
    }

    fn add(&mut self, folder: &Path) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                self.add(&path);
            } else if path.extension().is_some_and(|end| end == "py")
                && let Ok(text) = std::fs::read_to_string(&path)
            {
                for line in text.lines().filter_map(|line| line.strip_prefix("class ")) {
                    let name = line.split(['(', ':']).next().unwrap_or_default().trim().to_owned();
                    self.classes.entry(name).or_default().push(path.clone());
                }
                self.texts.insert(path, text);
            }
        }
    }

    /// The class of a dotted name.
    pub(super) fn class(&self, dotted: &str) -> Class {
        let mut words = Vec::new();
        let mut seen = BTreeSet::new();
        self.collect(dotted, &mut words, &mut seen);
        Class { words }
    }

    fn collect(&self, dotted: &str, words: &mut Vec<Token>, seen: &mut BTreeSet<String>) {
        let name = dotted.rsplit('.').next().unwrap_or(dotted);
        let module = dotted.trim_start_matches("opencompass.datasets.").trim_end_matches(name).trim_matches('.');
        let module = module.replace('.', "/");
        let paths = self.classes.get(name).map(Vec::as_slice).unwrap_or_default();
        let path = paths.iter().find(|path| path.to_string_lossy().contains(&module)).or(paths.first());
        let Some((path, text)) = path.and_then(|path| Some((path, self.texts.get(path)?))) else { return };
        if !seen.insert(name.to_owned()) {
            return;
        }
        let blocks = blocks(text);
        let Some(class) = blocks.iter().find(|block| block.name == name && block.is_class) else { return };
        let mut own = tokens::tokens(class.text, class.line);
        let head = class.text.lines().next().unwrap_or_default();
        let bases =
            head.split_once('(').map(|(_, rest)| rest.trim_end_matches(['(', ')', ':', ' '])).unwrap_or_default();
        for base in bases.split(',').map(str::trim).filter(|base| !base.is_empty() && *base != "BaseDataset") {
            self.collect(base, words, seen);
        }
        // Functions of the file, those that they call too.
        for _ in 0..3 {
            let names: BTreeSet<String> = own.iter().filter_map(Token::name).map(str::to_owned).collect();
            for block in blocks.iter().filter(|block| !block.is_class && names.contains(block.name)) {
                let of_answers = OF_ANSWERS.iter().any(|word| block.name.contains(word));
                if !of_answers && seen.insert(format!("{}:{}", path.display(), block.name)) {
                    own.extend(tokens::tokens(block.text, block.line));
                }
            }
        }
        words.extend(own);
    }

    /// Returns the reads in a line, and in the lines that may continue it, of a file of this name; the class says which of several.
    pub(super) fn line(&self, class: &str, file: &str, line: usize) -> Vec<Read> {
        let name = class.rsplit('.').next().unwrap_or(class);
        let own = self.classes.get(name).and_then(|paths| paths.first());
        let near = own.and_then(|path| path.parent());
        let mut of_name: Vec<&PathBuf> = self.texts.keys().filter(|path| path.ends_with(file)).collect();
        of_name.sort_by_key(|path| (Some(*path) != own, path.parent() != near));
        let Some(text) = of_name.first().and_then(|path| self.texts.get(*path)) else { return Vec::new() };
        let mut found = reads::reads(&tokens::tokens(text, 1));
        // An expression may continue on the lines below.
        found.retain(|read| (line..line + 3).contains(&read.line));
        found
    }

    /// The text of a line, as [`Self::line`] finds it.
    pub(super) fn line_text(&self, class: &str, file: &str, line: usize) -> &str {
        let name = class.rsplit('.').next().unwrap_or(class);
        let own = self.classes.get(name).and_then(|paths| paths.iter().find(|path| path.ends_with(file)));
        let path = own.or_else(|| self.texts.keys().find(|path| path.ends_with(file)));
        let text = path.and_then(|path| self.texts.get(path));
        text.and_then(|text| text.lines().nth(line.saturating_sub(1))).unwrap_or_default()
    }
}

struct Block<'s> {
    name: &'s str,
    is_class: bool,
    line: usize,
    text: &'s str,
}

/// Classes and functions that begin at the margin.
fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut found: Vec<(usize, usize, &str, bool)> = Vec::new();
    let mut ends = Vec::new();
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let at_margin = line.starts_with(|c: char| !c.is_whitespace() && c != '#' && c != ')');
        if at_margin && ends.len() < found.len() {
            ends.push(at);
        }
        let head = line
            .strip_prefix("class ")
            .map(|rest| (rest, true))
            .or(line.strip_prefix("def ").map(|rest| (rest, false)));
        if let Some((rest, is_class)) = head {
            found.push((at, number + 1, rest.split(['(', ':']).next().unwrap_or_default().trim(), is_class));
        }
        at += line.len();
    }
    ends.resize(found.len(), text.len());
    let block = |((begin, line, name, is_class), end): ((usize, usize, _, _), usize)| Block {
        name,
        is_class,
        line,
        text: text.get(begin..end).unwrap_or_default(),
    };
    found.into_iter().zip(ends).map(block).collect()
}
