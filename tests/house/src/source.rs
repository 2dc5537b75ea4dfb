//! A package as its modules, read from the sources by tokens: what each defines, imports, and names.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// A module with its file.
#[derive(Debug)]
pub struct Module {
    pub file: PathBuf,
    /// Names of the path from the root of the package.
    pub path: Vec<String>,
    /// Items that it defines.
    pub(crate) defines: Vec<String>,
    /// True if the module defines or implements anything; else it only holds and re-exports.
    pub(crate) has_code: bool,
    /// Imports: the name under which each is known here, and its path; `*` for all names of a module.
    pub(crate) imports: Vec<(String, Vec<String>)>,
    /// Paths in its code, without the paths of imports.
    pub(crate) names: Vec<Vec<String>>,
}

/// A package of one or several crates: its library, and its program.
#[derive(Debug)]
pub struct Package {
    pub folder: PathBuf,
    pub modules: BTreeMap<Vec<String>, Module>,
}

/// A piece of source: a name, or another character.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Name(String),
    Other(char),
}

impl Package {
    /// Reads the library of the package in `folder`; `None` where it has none.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn read(folder: &Path) -> io::Result<Option<Self>> {
        let root = folder.join("src/lib.rs");
        if !root.is_file() {
            return Ok(None);
        }
        let mut package = Self { folder: folder.to_owned(), modules: BTreeMap::new() };
        package.add(root, Vec::new())?;
        Ok(Some(package))
    }

    fn add(&mut self, file: PathBuf, path: Vec<String>) -> io::Result<()> {
        let tokens = tokens(&std::fs::read_to_string(&file)?);
        let mut module =
            Module { file, path, defines: Vec::new(), has_code: false, imports: Vec::new(), names: Vec::new() };
        let submodules = module.take(&without_tests(&tokens));
        let folder = match module.file.file_stem().and_then(|stem| stem.to_str()) {
            Some("lib" | "main" | "mod") => module.file.with_file_name(""),
            _ => module.file.with_extension(""),
        };
        let path = module.path.clone();
        self.modules.insert(path.clone(), module);
        for name in submodules {
            let candidates = [folder.join(format!("{name}.rs")), folder.join(&name).join("mod.rs")];
            if let Some(file) = candidates.into_iter().find(|file| file.is_file()) {
                self.add(file, path.iter().cloned().chain([name]).collect())?;
            }
        }
        Ok(())
    }
}

impl Module {
    /// Takes in the items and names of the file; returns the modules that have files of their own.
    fn take(&mut self, tokens: &[Token]) -> Vec<String> {
        const KINDS: [&str; 9] = ["fn", "struct", "enum", "union", "trait", "type", "const", "static", "macro_rules"];
        let (mut submodules, mut depth, mut at) = (Vec::new(), 0_usize, 0);
        while let Some(token) = tokens.get(at) {
            let next = tokens.get(at + 1);
            match token {
                Token::Other('{') => depth += 1,
                Token::Other('}') => depth = depth.saturating_sub(1),
                Token::Name(word) if word == "use" => {
                    let end = tokens[at..].iter().position(|token| *token == Token::Other(';'));
                    let end = end.map_or(tokens.len(), |length| at + length);
                    import(&tokens[at + 1..end], &[], &mut self.imports);
                    at = end;
                }
                Token::Name(word) if word == "mod" && tokens.get(at + 2) == Some(&Token::Other(';')) => {
                    if let Some(Token::Name(name)) = next {
                        submodules.push(name.clone());
                    }
                    at += 2;
                }
                Token::Name(word) if depth == 0 && word == "impl" => self.has_code = true,
                Token::Name(word) if depth == 0 && KINDS.contains(&word.as_str()) => match next {
                    Some(Token::Name(name)) if !KINDS.contains(&name.as_str()) => self.defines.push(name.clone()),
                    Some(Token::Other('!')) => {
                        if let Some(Token::Name(name)) = tokens.get(at + 2) {
                            self.defines.push(name.clone());
                        }
                    }
                    _ => {}
                },
                Token::Name(_) => {
                    let path = path_at(tokens, at);
                    if path.len() > 1 {
                        at += 3 * (path.len() - 1);
                        self.names.push(path);
                    }
                }
                Token::Other(_) => {}
            }
            at += 1;
        }
        self.has_code |= !self.defines.is_empty();
        submodules
    }
}

/// The path that begins at a token, as `a::b::c`.
fn path_at(tokens: &[Token], mut at: usize) -> Vec<String> {
    let mut path = Vec::new();
    while let Some(Token::Name(name)) = tokens.get(at) {
        path.push(name.clone());
        if tokens.get(at + 1) != Some(&Token::Other(':')) || tokens.get(at + 2) != Some(&Token::Other(':')) {
            break;
        }
        at += 3;
    }
    path
}

/// Adds the imports of one tree below `beginning`.
fn import(tree: &[Token], beginning: &[String], imports: &mut Vec<(String, Vec<String>)>) {
    let mut path = beginning.to_vec();
    let mut at = 0;
    while let Some(token) = tree.get(at) {
        match token {
            Token::Name(word) if word == "as" => {
                if let Some(Token::Name(alias)) = tree.get(at + 1) {
                    imports.push((alias.clone(), path));
                }
                return;
            }
            Token::Name(word) if word == "self" && !path.is_empty() => {}
            Token::Name(name) => path.push(name.clone()),
            Token::Other('*') => {
                imports.push(("*".to_owned(), path));
                return;
            }
            Token::Other('{') => {
                let inner = &tree[at + 1..tree.len() - 1];
                branches(inner).into_iter().for_each(|branch| import(branch, &path, imports));
                return;
            }
            Token::Other(_) => {}
        }
        at += 1;
    }
    if let Some(last) = path.last().cloned() {
        imports.push((last, path));
    }
}

/// The parts of a tree between commas that no braces enclose.
fn branches(tree: &[Token]) -> Vec<&[Token]> {
    let mut depth = 0_i32;
    let parts = tree.split(|token| {
        depth += match token {
            Token::Other('{') => 1,
            Token::Other('}') => -1,
            _ => 0,
        };
        depth == 0 && *token == Token::Other(',')
    });
    parts.filter(|part| !part.is_empty()).collect()
}

/// Names and other characters, without comments, texts and lifetimes.
fn tokens(source: &str) -> Vec<Token> {
    let characters: Vec<char> = source.chars().collect();
    let (mut tokens, mut at) = (Vec::new(), 0);
    while let Some(&character) = characters.get(at) {
        let next = characters.get(at + 1).copied();
        at = match (character, next) {
            ('/', Some('/')) => after(&characters, at, &['\n']),
            ('/', Some('*')) => after(&characters, at + 2, &['*', '/']),
            ('r', Some('"' | '#')) if raw_end(&characters, at).is_some() => raw_end(&characters, at).unwrap_or(at + 1),
            ('"', _) => text_end(&characters, at),
            ('\'', Some('\\')) => text_end_of(&characters, at + 1, '\''),
            ('\'', _) if characters.get(at + 2) == Some(&'\'') => at + 3,
            ('\'', _) => at + 1,
            (first, _) if first.is_alphabetic() || first == '_' => {
                let length = characters[at..].iter().take_while(|next| next.is_alphanumeric() || **next == '_').count();
                tokens.push(Token::Name(characters[at..at + length].iter().collect()));
                at + length
            }
            (space, _) if space.is_whitespace() => at + 1,
            (other, _) => {
                tokens.push(Token::Other(other));
                at + 1
            }
        };
    }
    tokens
}

fn after(characters: &[char], from: usize, end: &[char]) -> usize {
    let found = characters[from.min(characters.len())..].windows(end.len()).position(|window| window == end);
    found.map_or(characters.len(), |length| from + length + end.len())
}

/// The end of a raw text that begins at `at`; `None` where none does.
fn raw_end(characters: &[char], at: usize) -> Option<usize> {
    let hashes = characters[at + 1..].iter().take_while(|next| **next == '#').count();
    let opens = characters.get(at + 1 + hashes) == Some(&'"');
    let end: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
    opens.then(|| after(characters, at + 2 + hashes, &end))
}

fn text_end(characters: &[char], at: usize) -> usize {
    text_end_of(characters, at + 1, '"')
}

fn text_end_of(characters: &[char], mut at: usize, quote: char) -> usize {
    while let Some(&character) = characters.get(at) {
        match character {
            '\\' => at += 2,
            _ if character == quote => return at + 1,
            _ => at += 1,
        }
    }
    at
}

/// The tokens without items of tests: items behind `#[cfg(test)]`.
fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let word = |name: &str| Token::Name(name.to_owned());
    let mark = [
        Token::Other('#'),
        Token::Other('['),
        word("cfg"),
        Token::Other('('),
        word("test"),
        Token::Other(')'),
        Token::Other(']'),
    ];
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        if !tokens[at..].starts_with(&mark) {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        let mut depth = 0_i32;
        at += mark.len();
        while let Some(token) = tokens.get(at) {
            depth += match token {
                Token::Other('{' | '[' | '(') => 1,
                Token::Other('}' | ']' | ')') => -1,
                _ => 0,
            };
            at += 1;
            if depth == 0 && matches!(token, Token::Other(';' | '}')) {
                break;
            }
        }
    }
    kept
}
