//! LaTeX and plain text cut into tokens; the many ways to write one thing become one.
//!
//! Not here: what a sequence of tokens means (`latex`, `value`).

use super::decision::{Budget, Rules, Why};
use super::names::{IGNORED, NAMES, SIGNS, TEXTS, WORDS};

/// Stands for a comma between thousands that is certain to be one: `70{,}000`, `70\,000`.
const THOUSANDS: char = '\u{1}';

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// Digits with at most one point.
    Number(String),
    Letter(char),
    /// A command without its backslash; also words and signs that mean the same.
    Command(String),
    /// Words.
    Text(String),
    /// A sign or a bracket; braces are TeX's own; a set's braces are commands.
    Mark(char),
    Begin(String),
    End(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// A space stands before it.
    pub(super) spaced: bool,
}

impl Token {
    pub(super) fn is_mark(&self, mark: char) -> bool {
        self.kind == Kind::Mark(mark)
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self.kind, Kind::Text(_))
    }

    pub(super) fn is_command(&self, name: &str) -> bool {
        matches!(&self.kind, Kind::Command(own) if own == name)
    }

    /// The change of the brackets' depth behind this token.
    pub(super) fn opens(&self) -> i32 {
        match &self.kind {
            Kind::Mark('(' | '[' | '{') | Kind::Begin(_) => 1,
            Kind::Mark(')' | ']' | '}') | Kind::End(_) => -1,
            Kind::Command(name) => match name.as_str() {
                "{" | "lvert" | "lfloor" | "lceil" => 1,
                "}" | "rvert" | "rfloor" | "rceil" => -1,
                _ => 0,
            },
            _ => 0,
        }
    }
}

/// The reading of commas between digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Commas {
    /// `1,234` is a number.
    Thousands,
    /// `1,234` is a list of two.
    Lists,
}

/// Cuts a text; an error where a command is broken off.
pub(super) fn tokens(text: &str, commas: Commas, rules: Rules, budget: &mut Budget) -> Result<Vec<Token>, Why> {
    budget.spend(text.len() / 4 + 1)?;
    let letters: Vec<char> = folded(text).chars().collect();
    let mut lexer = Lexer { letters: &letters, at: 0, commas, rules, out: Vec::new(), spaced: false };
    while lexer.at < lexer.letters.len() {
        lexer.next()?;
    }
    while lexer.out.last().is_some_and(|token| token.is_mark('.') || token.is_mark(',') || token.is_mark(';')) {
        lexer.out.pop();
    }
    let mut depth = 0;
    for token in &lexer.out {
        depth += token.opens();
        if depth > 64 {
            return Err(Why::TooDeep);
        }
    }
    Ok(lexer.out)
}

/// Raised and lowered characters, from zero on, then signs.
const RAISED: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ";
const LOWERED: &str = "₀₁₂₃₄₅₆₇₈₉₊₋ₙ";
const ON_THE_LINE: &str = "0123456789+-n";

/// Full-width characters as ASCII, signs of minus, exponents and indices in braces, sure commas between thousands.
fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut open = None;
    for letter in text.chars() {
        let set = [(RAISED, "^{"), (LOWERED, "_{")].into_iter().find_map(|(letters, opening)| {
            let at = letters.chars().position(|own| own == letter)?;
            Some((opening, ON_THE_LINE.chars().nth(at)?))
        });
        if open.is_some() && open != set.map(|(opening, _)| opening) {
            out.push('}');
        }
        if let Some((opening, plain)) = set {
            if open != Some(opening) {
                out.push_str(opening);
            }
            open = Some(opening);
            out.push(plain);
            continue;
        }
        open = None;
        match letter {
            '\u{ff01}'..='\u{ff5e}' => {
                out.push(char::from_u32(u32::from(letter) - 0xfee0).unwrap_or(letter));
            }
            '\u{3000}' | '\u{a0}' | '\u{2009}' | '\u{202f}' => out.push(' '),
            '−' | '–' => out.push('-'),
            '×' | '·' | '⋅' => out.push('*'),
            '÷' => out.push('/'),
            '、' => out.push(','),
            '“' | '”' | '"' => {}
            other => out.push(other),
        }
    }
    if open.is_some() {
        out.push('}');
    }
    let out = if out.contains(",\\!") { out.replace(",\\! ", "\u{1}").replace(",\\!", "\u{1}") } else { out };
    let out = if out.contains("\\!") { out.replace("\\!", "") } else { out };
    if out.contains("{,}") { out.replace("{,}", "\u{1}") } else { out }
}

struct Lexer<'t> {
    letters: &'t [char],
    at: usize,
    commas: Commas,
    rules: Rules,
    out: Vec<Token>,
    spaced: bool,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> char {
        self.letters.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn push(&mut self, kind: Kind) {
        self.out.push(Token { kind, spaced: std::mem::take(&mut self.spaced) });
    }

    fn command(&mut self, name: &str) {
        match name {
            "*" | "/" | "|" | "<" | ">" | "=" | "[" | "]" | ":" | "%" => {
                self.push(Kind::Mark(name.chars().next().unwrap_or(' ')));
            }
            _ => self.push(Kind::Command(name.to_owned())),
        }
    }

    fn next(&mut self) -> Result<(), Why> {
        let letter = self.peek(0);
        match letter {
            ' ' | '\t' | '\n' | '\r' | '~' => {
                self.spaced = true;
                self.at += 1;
            }
            '$' => self.at += 1,
            THOUSANDS => {
                self.at += 1;
                self.push(Kind::Mark(','));
            }
            '\\' => self.backslash()?,
            '0'..='9' => self.number()?,
            '.' if self.peek(1).is_ascii_digit() => self.number()?,
            'a'..='z' | 'A'..='Z' => self.word()?,
            '^' if self.is_degree() => self.command("degree"),
            '<' | '>' | '!' if self.peek(1) == '=' => {
                self.at += 2;
                self.command(match letter {
                    '<' => "le",
                    '>' => "ge",
                    _ => "ne",
                });
            }
            '+' | '-' | '*' | '/' | '^' | '_' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | ',' | ';' | '!' | '%'
            | '=' | '<' | '>' | '&' | ':' | '\'' | '.' => {
                self.at += 1;
                self.push(Kind::Mark(letter));
            }
            other => {
                self.at += 1;
                match SIGNS.iter().find(|(sign, _)| *sign == other) {
                    Some((_, name)) => {
                        self.command(name);
                        if other == '√' {
                            self.radicand()?;
                        }
                    }
                    None if other.is_alphabetic() => self.foreign(other),
                    None => return Err(Why::Unread),
                }
            }
        }
        Ok(())
    }

    /// Letters of other scripts are words.
    fn foreign(&mut self, first: char) {
        let mut word = first.to_string();
        while self.peek(0).is_alphabetic() && !self.peek(0).is_ascii() {
            word.push(self.peek(0));
            self.at += 1;
        }
        self.push(Kind::Text(word));
    }

    /// `^\circ`, `^{\circ}`, `^°`: taken if it stands here.
    fn is_degree(&mut self) -> bool {
        for form in ["^{\\circ}", "^\\circ", "^°", "^{\\degree}", "^\\degree", "^{°}"] {
            let length = form.chars().count();
            let is_here = self.letters[self.at..].iter().copied().take(length).eq(form.chars());
            if is_here {
                self.at += length;
                return true;
            }
        }
        false
    }

    fn span(&self, is_inside: fn(&char) -> bool) -> String {
        self.letters[self.at..].iter().copied().take_while(is_inside).collect()
    }

    /// A number behind a root that is not a command: all of it, `√12`.
    fn radicand(&mut self) -> Result<(), Why> {
        while self.peek(0) == ' ' {
            self.at += 1;
        }
        if !self.peek(0).is_ascii_digit() {
            return Ok(());
        }
        self.push(Kind::Mark('{'));
        self.number()?;
        self.push(Kind::Mark('}'));
        Ok(())
    }

    fn word(&mut self) -> Result<(), Why> {
        let word = self.span(char::is_ascii_alphabetic);
        self.at += word.len();
        let lower = word.to_ascii_lowercase();
        let after_number = matches!(self.out.last(), Some(Token { kind: Kind::Number(_), .. }));
        if let Some((_, name)) = WORDS.iter().find(|(own, _)| *own == lower && word.len() > 1) {
            self.command(name);
            if *name == "sqrt" {
                self.radicand()?;
            }
        } else if word.len() >= 4 || (word.len() >= 2 && after_number && self.spaced && super::text::is_unit(&word)) {
            self.push(Kind::Text(word));
        } else {
            word.chars().for_each(|letter| self.push(Kind::Letter(letter)));
        }
        Ok(())
    }

    /// Digits, a point, commas between thousands, and under our rules the exponent of `6.02e23`.
    fn number(&mut self) -> Result<(), Why> {
        let mut digits = self.span(char::is_ascii_digit);
        self.at += digits.len();
        if let Some(length) = self.thousands(digits.len()) {
            let joined = self.letters[self.at..self.at + length].iter().filter(|letter| letter.is_ascii_digit());
            digits.extend(joined);
            self.at += length;
        }
        if self.peek(0) == '.' && self.peek(1) != '.' {
            self.at += 1;
            let part = self.span(char::is_ascii_digit);
            self.at += part.len();
            if !part.is_empty() || self.peek(0) == '\\' {
                digits.push('.');
                digits.push_str(&part);
            }
        }
        self.push(Kind::Number(digits));
        if self.rules == Rules::Ours && matches!(self.peek(0), 'e' | 'E') {
            let signs = usize::from(matches!(self.peek(1), '+' | '-'));
            if self.peek(1 + signs).is_ascii_digit() {
                let sign = self.peek(1);
                self.at += 1 + signs;
                let exponent = self.span(char::is_ascii_digit);
                self.at += exponent.len();
                for mark in ['*', '\0', '^', '{', '-', '\u{2}', '}'] {
                    match mark {
                        '\0' => self.push(Kind::Number("10".into())),
                        '\u{2}' => self.push(Kind::Number(exponent.clone())),
                        '-' if sign != '-' => {}
                        mark => self.push(Kind::Mark(mark)),
                    }
                }
            }
        }
        Ok(())
    }

    /// The length of `,234,567` behind the first digits, where all of it is thousands; `1,2,345` is a list.
    fn thousands(&self, first: usize) -> Option<usize> {
        let separator = self.separator(0)?;
        let mut length = 0;
        while self.separator(length) == Some(separator) && self.peek(length + separator.len()).is_ascii_digit() {
            length += separator.len();
            let digits = (0..).take_while(|ahead| self.peek(length + ahead).is_ascii_digit()).count();
            if digits != 3 {
                return None;
            }
            length += 3;
        }
        // Nor does it begin behind a comma: then it would have been part of the run before.
        let before = self.out.last().is_some_and(|token| token.is_mark(',')) && !self.spaced;
        let is_meant = match separator {
            "," => self.commas == Commas::Thousands && !before,
            // `1 125/1000` is a number and a fraction.
            separator => separator == "\u{1}" || self.peek(length) != '/',
        };
        (length > 0 && (1..=3).contains(&first) && is_meant).then_some(length)
    }

    /// Separators that may group digits at a place ahead; spaces under our rules alone.
    fn separator(&self, ahead: usize) -> Option<&'static str> {
        match (self.peek(ahead), self.peek(ahead + 1)) {
            (',', _) => Some(","),
            (THOUSANDS, _) => Some("\u{1}"),
            _ if self.rules == Rules::Peer => None,
            (' ', _) => Some(" "),
            ('~', _) => Some("~"),
            ('\\', ',') => Some("\\,"),
            ('\\', ' ') => Some("\\ "),
            _ => None,
        }
    }

    fn backslash(&mut self) -> Result<(), Why> {
        let next = self.peek(1);
        if !next.is_ascii_alphabetic() {
            self.at += 2;
            match next {
                '{' | '}' => self.command(&next.to_string()),
                '\\' => self.command("\\"),
                '|' | '%' | '&' => self.push(Kind::Mark(next)),
                ',' | ';' | ':' | ' ' | '>' | '\n' => self.spaced = true,
                '(' | ')' | '[' | ']' | '$' | '!' | '\0' => {}
                _ => return Err(Why::Unread),
            }
            return Ok(());
        }
        self.at += 1;
        let name = self.span(char::is_ascii_alphabetic);
        self.at += name.len();
        if IGNORED.contains(&name.as_str()) {
            self.sized(&name);
            return Ok(());
        }
        if TEXTS.contains(&name.as_str()) {
            return self.text();
        }
        match name.as_str() {
            "begin" | "end" => {
                let kind = self.group()?;
                self.push(if name == "begin" { Kind::Begin(kind) } else { Kind::End(kind) });
            }
            "mathbb" => {
                let letter = if self.peek(0) == '{' { self.group()? } else { self.letter() };
                match letter.trim() {
                    "R" => self.command("mathbbR"),
                    other => self.push(Kind::Text(format!("mathbb{other}"))),
                }
            }
            "lbrace" | "rbrace" => self.command(if name == "lbrace" { "{" } else { "}" }),
            // An unknown symbol to math-verify.
            "varnothing" if self.rules == Rules::Peer => self.push(Kind::Text(name)),
            "varnothing" => self.command("emptyset"),
            "langle" | "lparen" => self.push(Kind::Mark('(')),
            "rangle" | "rparen" => self.push(Kind::Mark(')')),
            _ => {
                let name =
                    NAMES.iter().find(|(own, _)| *own == name).map_or(name.as_str(), |(_, other)| other).to_owned();
                self.command(&name);
            }
        }
        Ok(())
    }

    fn letter(&mut self) -> String {
        self.at += 1;
        self.letters.get(self.at - 1).map(char::to_string).unwrap_or_default()
    }

    /// The sign behind `\left` and the like: a bar has a side, a point is nothing.
    fn sized(&mut self, name: &str) {
        if !matches!(name, "left" | "right" | "mleft" | "mright" | "bigl" | "bigr" | "Bigl" | "Bigr") {
            self.spaced |= name.contains("quad");
            return;
        }
        let is_left = name.contains("left") || name.ends_with('l');
        match self.peek(0) {
            '.' => self.at += 1,
            '|' => {
                self.at += 1;
                self.command(if is_left { "lvert" } else { "rvert" });
            }
            _ => {}
        }
    }

    /// The contents of the braces that stand here.
    fn group(&mut self) -> Result<String, Why> {
        while self.peek(0) == ' ' {
            self.at += 1;
        }
        if self.peek(0) != '{' {
            return Err(Why::Unread);
        }
        let mut depth = 0_usize;
        for (length, letter) in self.letters[self.at..].iter().enumerate() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                let inner = self.letters[self.at + 1..self.at + length].iter().collect();
                self.at += length + 1;
                return Ok(inner);
            }
        }
        Err(Why::Unread)
    }

    /// The argument of `\text` and its kin: words, or a formula that is only set in another face.
    fn text(&mut self) -> Result<(), Why> {
        let inner = self.group()?;
        let word = inner.trim();
        let lower = word.to_ascii_lowercase();
        // Also behind the last digits of a fraction or a power.
        let after_number = match &self.out[..] {
            [.., Token { kind: Kind::Number(_), .. }] => true,
            [.., Token { kind: Kind::Number(_), .. }, last] => last.is_mark('}'),
            _ => false,
        };
        let is_letter = word.len() == 1 && !(after_number && super::text::is_unit(word));
        if is_letter && word.chars().all(|letter| letter.is_ascii_alphabetic()) {
            word.chars().for_each(|letter| self.push(Kind::Letter(letter)));
        } else if let Some((_, name)) = WORDS.iter().find(|(own, _)| *own == lower) {
            self.command(name);
        } else if !word.is_empty() && !word.chars().any(char::is_alphabetic) {
            let letters: Vec<char> = word.chars().collect();
            let mut lexer = Lexer { letters: &letters, at: 0, out: Vec::new(), spaced: true, ..*self };
            while lexer.at < letters.len() {
                lexer.next()?;
            }
            let inner = lexer.out;
            self.out.extend(inner);
        } else if word.is_empty() {
            self.spaced = true;
        } else if let Some((number, unit)) = measured(word).filter(|_| self.rules == Rules::Ours) {
            self.push(Kind::Number(number.to_owned()));
            self.push(Kind::Text(unit.to_owned()));
        } else {
            self.push(Kind::Text(word.to_owned()));
        }
        Ok(())
    }
}

/// A whole number and words behind it: `5 apples`, but not `11 a.m.`.
fn measured(text: &str) -> Option<(&str, &str)> {
    let (number, unit) = text.split_once(' ')?;
    let is_word = |word: &str| word.len() > 1 && word.chars().all(|letter| letter.is_ascii_alphabetic());
    let is_joined = |word: &str| matches!(word, "and" | "or" | "to" | "of" | "by");
    let is_unit = unit.split(' ').all(|word| is_word(word) && !is_joined(word));
    (!number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()) && is_unit).then_some((number, unit))
}
