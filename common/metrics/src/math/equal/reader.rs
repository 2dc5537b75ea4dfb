//! Answers read into values.
//!
//! Not here: formulas (`latex`), their normal form (`normal`), matrices (`matrix`), which values are equal (`compare`).

use super::algebra::Algebra;
use super::decision::{Rules, Why};
use super::latex::{Sign, formula};
use super::ratio::Ratio;
use super::text::{measure, plain, scale};
use super::token::{Kind, Token};
use super::tree::Expr;
use super::value::{Item, Operator, Region, Relation, Value};

/// Words before a formula that say nothing of it.
const LABELS: [&str; 12] =
    ["about", "approximately", "roughly", "nearly", "answer", "exactly", "约", "大约", "是", "为", "共", "一共"];
/// Most pieces of a region that is joined with another.
const PIECES: usize = 64;

pub(super) struct Reader<'a> {
    pub(super) algebra: &'a mut Algebra,
    pub(super) rules: Rules,
}

impl Reader<'_> {
    /// Reads a whole answer.
    pub(super) fn answer(&mut self, tokens: &[Token]) -> Result<Value, Why> {
        if tokens.is_empty() {
            return Err(Why::Unread);
        }
        self.listed(tokens, None)
    }

    /// Values side by side, or the only one. Each `\pm` makes two, but within a reading of one sign.
    fn listed(&mut self, tokens: &[Token], sign: Option<Sign>) -> Result<Value, Why> {
        let parts = split(tokens, |token| {
            token.is_mark(',') || token.is_mark(';') || token.is_command("and") || token.is_command("or")
        });
        let is_comma = |token: &Token| token.is_mark(',') || token.is_mark(';') || token.is_command("and");
        let alternatives = parts.len() > 1 && split(tokens, is_comma).len() == 1;
        let mut values = Vec::new();
        for part in parts.iter().filter(|part| !part.is_empty()) {
            self.signs(part, sign, &mut values)?;
        }
        match values.len() {
            0 => Err(Why::Unread),
            1 => Ok(values.remove(0)),
            _ => Ok(Value::List { values, alternatives }),
        }
    }

    fn signs(&mut self, part: &[Token], sign: Option<Sign>, values: &mut Vec<Value>) -> Result<(), Why> {
        let has_signs = part.iter().any(|token| token.is_command("pm") || token.is_command("mp"));
        let is_set = part.first().is_some_and(|token| token.is_command("{"));
        match sign {
            None if has_signs && !is_set => {
                values.push(self.single(part, Some(Sign::Plus))?);
                values.push(self.single(part, Some(Sign::Minus))?);
            }
            sign => values.push(self.single(part, sign)?),
        }
        Ok(())
    }

    /// A value that is not a bare list.
    pub(super) fn single(&mut self, tokens: &[Token], sign: Option<Sign>) -> Result<Value, Why> {
        let depth = self.algebra.budget.depth();
        self.algebra.budget.enter()?;
        let value = self.unbounded(tokens, sign);
        self.algebra.budget.return_to(depth);
        value
    }

    fn unbounded(&mut self, tokens: &[Token], sign: Option<Sign>) -> Result<Value, Why> {
        self.algebra.budget.spend(tokens.len())?;
        let [first, .., last] = tokens else {
            return match tokens {
                [token] if token.is_command("emptyset") => Ok(Value::Set(Vec::new())),
                [token] if token.is_command("mathbbR") => Ok(Value::Region(Region::everything())),
                [_] => self.item(tokens, sign),
                _ => Err(Why::Unread),
            };
        };
        if first.is_mark('{') && is_closed(tokens) {
            return self.listed(&tokens[1..tokens.len() - 1], sign);
        }
        if let Some(words) = words(tokens) {
            return Ok(Value::Text(words));
        }
        if tokens.iter().any(|token| Operator::from_token(token).is_some() || token.is_command("in"))
            && let Some(relation) = self.relation(tokens, sign)?
        {
            return Ok(relation);
        }
        if let Some(value) = self.joined(tokens, sign)? {
            return Ok(value);
        }
        if first.is_command("{") && last.is_command("}") && is_closed(tokens) {
            return self.braced(&tokens[1..tokens.len() - 1], sign);
        }
        let inner = &tokens[1..tokens.len() - 1];
        if (first.is_mark('(') || first.is_mark('[')) && (last.is_mark(')') || last.is_mark(']')) && is_closed(tokens) {
            if split(inner, |token| token.is_mark(',') || token.is_mark(';')).len() > 1 {
                return self.bracketed(inner, sign, [first.is_mark('['), last.is_mark(']')]);
            }
            if matches!(inner.first(), Some(Token { kind: Kind::Begin(_), .. })) {
                return self.single(inner, sign);
            }
        }
        if let (Kind::Begin(_), Kind::End(_)) = (&first.kind, &last.kind) {
            return self.matrix(tokens, sign);
        }
        self.item(tokens, sign)
    }

    fn bracketed(&mut self, inner: &[Token], sign: Option<Sign>, closed: [bool; 2]) -> Result<Value, Why> {
        let mut values = Vec::new();
        for part in split(inner, |token| token.is_mark(',') || token.is_mark(';')) {
            values.push(self.single(part, Some(sign.unwrap_or(Sign::Plus)))?);
        }
        if closed == [false, false] || values.len() != 2 {
            return Ok(Value::Tuple(values));
        }
        match Region::interval(&values, closed) {
            Some(region) => Ok(Value::Region(region)),
            None => Ok(Value::Tuple(values)),
        }
    }

    /// The contents of a set's braces: its members, or a condition behind a bar.
    fn braced(&mut self, inner: &[Token], sign: Option<Sign>) -> Result<Value, Why> {
        if inner.is_empty() {
            return Ok(Value::Set(Vec::new()));
        }
        let parts = split(inner, |token| token.is_mark('|') || token.is_mark(':'));
        if let [member, condition] = parts[..] {
            let condition = self.listed(condition, sign)?;
            let is_any = match split(member, |token| token.is_command("in"))[..] {
                [name] => is_symbol(name),
                [name, all] => is_symbol(name) && all.len() == 1 && all[0].is_command("mathbbR"),
                _ => false,
            };
            return if is_any { Ok(condition) } else { Ok(Value::Tuple(vec![self.single(member, sign)?, condition])) };
        }
        match self.listed(inner, sign)? {
            Value::List { values, .. } => Ok(Value::Set(values)),
            value => Ok(Value::Set(vec![value])),
        }
    }

    /// Sets joined by signs: unions, intersections, differences, from the left.
    fn joined(&mut self, tokens: &[Token], sign: Option<Sign>) -> Result<Option<Value>, Why> {
        let is_sign = |token: &Token| ["cup", "cap", "setminus"].iter().any(|name| token.is_command(name));
        let parts = split(tokens, is_sign);
        if parts.len() < 2 {
            return Ok(None);
        }
        let mut at = parts[0].len();
        let mut left = self.single(parts[0], sign)?;
        for part in &parts[1..] {
            let right = self.single(part, sign)?;
            left = match (left, right, &tokens[at]) {
                (Value::Set(mut left), Value::Set(right), token) if token.is_command("cup") => {
                    left.extend(right);
                    Value::Set(left)
                }
                (left, right, token) => {
                    let (left, right) = (Region::from_value(&left), Region::from_value(&right));
                    let (Some(left), Some(right)) = (left, right) else { return Err(Why::Unread) };
                    if left.pieces.len().max(right.pieces.len()) > PIECES {
                        return Err(Why::TooManyTerms);
                    }
                    Value::Region(match () {
                        () if token.is_command("cup") => left.union(right),
                        () if token.is_command("cap") => left.intersection(&right),
                        () => left.intersection(&right.complement()),
                    })
                }
            };
            at += part.len() + 1;
        }
        Ok(Some(left))
    }

    fn relation(&mut self, tokens: &[Token], sign: Option<Sign>) -> Result<Option<Value>, Why> {
        // What is only near it says nothing of a value, but all of a name.
        let near = split(tokens, |token| token.is_command("approx"));
        match near[..] {
            [[], value] => return self.single(value, sign).map(Some),
            [exact, _, ..] if !exact.iter().all(|token| matches!(token.kind, Kind::Letter(_))) => {
                return self.single(exact, sign).map(Some);
            }
            _ => {}
        }
        let belongs = split(tokens, |token| token.is_command("in"));
        if let [_, set] = belongs[..] {
            return self.single(set, sign).map(Some);
        }
        let parts = split(tokens, |token| Operator::from_token(token).is_some());
        if parts.len() < 2 {
            return Ok(None);
        }
        let mut operators = Vec::new();
        let mut at = 0;
        for part in &parts[..parts.len() - 1] {
            at += part.len();
            operators.extend(Operator::from_token(&tokens[at]));
            at += 1;
        }
        let is_equation = operators.iter().all(|operator| *operator == Operator::Equal);
        let mut values = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            // Words before a sign name what follows.
            let is_label = at == 0 && is_equation && words(part).is_some();
            let value = if is_label { Err(Why::Unread) } else { self.single(part, sign) };
            values.push(match value {
                // What is not read has a name all the same: `\angle A`, `\int_0^1 x\,dx`.
                Err(Why::Unread) if at == 0 && is_equation && is_name(part) => Value::Text(spelt(part)),
                value => value?,
            });
        }
        if matches!(values.last(), Some(Value::Item(_))) && values.iter().all(|value| matches!(value, Value::Item(_))) {
            let sides =
                values.into_iter().filter_map(|value| if let Value::Item(item) = value { Some(*item) } else { None });
            let mut sides: Vec<Item> = sides.collect();
            let ends = [sides.first(), sides.last()].map(|side| side.is_some_and(|side| side.expr.is_name()));
            if is_equation && ends == [false, true] && self.rules == Rules::Ours {
                sides.reverse();
            }
            return Ok(Some(Value::Relation(Box::new(Relation::new(sides, operators)))));
        }
        match values.pop() {
            Some(value) if is_equation => Ok(Some(Value::Named(spelt(parts[0]), Box::new(value)))),
            _ => Err(Why::Unread),
        }
    }

    /// A formula with its unit.
    fn item(&mut self, tokens: &[Token], sign: Option<Sign>) -> Result<Value, Why> {
        if let Some(words) = words(tokens) {
            return Ok(Value::Text(words));
        }
        let tokens = &tokens[tokens.iter().take_while(|token| is_label(token)).count()..];
        let end = tokens.iter().position(Token::is_text).unwrap_or(tokens.len());
        let (mut tokens, behind) = tokens.split_at(end);
        if tokens.is_empty() || !is_unit(behind) {
            return Err(Why::Unread);
        }
        let behind = joined_words(behind);
        let mut unit = measure(&behind);
        if let [rest @ .., degree, Token { kind: Kind::Letter(scale @ ('C' | 'F')), .. }] = tokens
            && degree.is_command("degree")
        {
            (tokens, unit) = (rest, Some(scale.to_string()));
        }
        if let [rest @ .., last] = tokens
            && last.is_command("degree")
            && !rest.is_empty()
            && !rest.iter().any(is_function)
        {
            (tokens, unit) = (rest, Some("degree".into()));
        }
        if let Some(item) = self.based(tokens)? {
            return Ok(Value::Item(Box::new(item)));
        }
        let mut expr = formula(tokens, sign.unwrap_or(Sign::Plus), self.rules, &mut self.algebra.budget)?;
        if let Some(scale) = scale(&behind).filter(|_| self.rules == Rules::Ours) {
            expr = expr.times(Expr::whole(scale));
        }
        let (expr, percent) = match expr {
            Expr::Infinity => return Ok(Value::Infinite { negative: false }),
            Expr::Negated(inner) if *inner == Expr::Infinity => return Ok(Value::Infinite { negative: true }),
            Expr::Percent(inner) => (*inner, true),
            Expr::Negated(inner) => match *inner {
                Expr::Percent(inner) => (inner.negated(), true),
                inner => (Expr::Negated(Box::new(inner)), false),
            },
            expr => (expr, false),
        };
        let letters = is_lettered(tokens).then(|| plain(&joined_words(tokens)));
        let item = Item::new(expr, self.algebra)?;
        Ok(Value::Item(Box::new(Item { percent, decimal: is_decimal(tokens), unit, letters, ..item })))
    }

    /// `1011_2`, `1011_{2}`.
    fn based(&mut self, tokens: &[Token]) -> Result<Option<Item>, Why> {
        let base = match tokens {
            [number, sign, base] if sign.is_mark('_') => [number, base],
            [number, sign, open, base, close] if sign.is_mark('_') && open.is_mark('{') && close.is_mark('}') => {
                [number, base]
            }
            _ => return Ok(None),
        };
        let [Kind::Number(digits), Kind::Number(base)] = base.map(|token| &token.kind) else { return Ok(None) };
        let base = base.parse().ok().filter(|base| (2..=36).contains(base)).ok_or(Why::Unread)?;
        let digits = Expr::Number(Ratio::decimal(digits)?);
        Ok(Some(Item { base: Some(base), ..Item::new(digits, self.algebra)? }))
    }
}

/// Returns whether tokens may be a unit: words, with a number only as an exponent and a letter only below a line.
fn is_unit(tokens: &[Token]) -> bool {
    let is_behind = |at: usize, marks: [char; 2]| {
        let before = tokens[..at].iter().rev().find(|token| !token.is_mark('{'));
        before.is_some_and(|token| marks.iter().any(|mark| token.is_mark(*mark)))
    };
    tokens.iter().enumerate().all(|(at, token)| match token.kind {
        Kind::Text(_) | Kind::Mark('/' | '^' | '-' | '{' | '}') => true,
        Kind::Number(_) => is_behind(at, ['^', '-']),
        Kind::Letter(_) => is_behind(at, ['/', '/']),
        _ => false,
    })
}

fn is_lettered(tokens: &[Token]) -> bool {
    tokens.iter().all(|token| matches!(token.kind, Kind::Letter(_) | Kind::Mark('(' | ')')))
}

/// Written with a point, and not exact by its period.
fn is_decimal(tokens: &[Token]) -> bool {
    tokens.iter().any(|token| matches!(&token.kind, Kind::Number(digits) if digits.contains('.')))
        && !tokens.iter().any(|token| token.is_command("overline"))
}

/// Within the argument of these a degree is a number.
fn is_function(token: &Token) -> bool {
    ["sin", "cos", "tan", "cot", "sec", "csc"].iter().any(|name| token.is_command(name))
}

/// The parts between separators outside all brackets.
pub(super) fn split(tokens: &[Token], is_separator: impl Fn(&Token) -> bool) -> Vec<&[Token]> {
    let mut depth = 0;
    tokens
        .split(|token| {
            depth += token.opens();
            depth == 0 && is_separator(token)
        })
        .collect()
}

/// Returns whether the first token's bracket is closed by the last one.
fn is_closed(tokens: &[Token]) -> bool {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate() {
        depth += token.opens();
        if depth == 0 {
            return at + 1 == tokens.len();
        }
    }
    false
}

/// Words before a formula that are no part of what it says: `Answer:`, `about`.
fn is_label(token: &Token) -> bool {
    let Kind::Text(word) = &token.kind else { return false };
    word.ends_with(':') || LABELS.contains(&word.trim().to_ascii_lowercase().as_str())
}

/// Words alone, as they are compared, with numbers behind them (`June 20`); none where there is a formula.
fn words(tokens: &[Token]) -> Option<String> {
    let is_sentence = tokens.first().is_some_and(|token| token.is_text() && !is_label(token));
    let is_wordy = |token: &Token| match token.kind {
        Kind::Text(_) | Kind::Letter(_) | Kind::Mark('(' | ')' | '.' | '\'' | '-') => true,
        Kind::Number(_) => is_sentence,
        _ => false,
    };
    let has_text = tokens.iter().any(Token::is_text);
    (has_text && tokens.iter().all(is_wordy)).then(|| plain(&joined_words(tokens)))
}

/// Returns whether what is not read may be a name: not a value with a condition behind it, `2\text{ for }n = 1`.
fn is_name(tokens: &[Token]) -> bool {
    tokens.first().is_some_and(Token::is_text) || !tokens.iter().any(Token::is_text)
}

fn is_symbol(tokens: &[Token]) -> bool {
    matches!(tokens, [Token { kind: Kind::Letter(_), .. }])
}

/// All that is written, without spaces.
fn spelt(tokens: &[Token]) -> String {
    let spelt = |token: &Token| match &token.kind {
        Kind::Text(word) | Kind::Number(word) => word.clone(),
        Kind::Command(name) | Kind::Begin(name) | Kind::End(name) => format!("\\{name}"),
        Kind::Letter(letter) | Kind::Mark(letter) => letter.to_string(),
    };
    plain(&tokens.iter().map(spelt).collect::<String>())
}

fn joined_words(tokens: &[Token]) -> String {
    let mut words = String::new();
    for token in tokens {
        if token.spaced && !words.is_empty() {
            words.push(' ');
        }
        match &token.kind {
            Kind::Text(word) | Kind::Number(word) => words.push_str(word),
            Kind::Letter(letter) => words.push(*letter),
            Kind::Mark(mark) if !matches!(mark, '{' | '}') => words.push(*mark),
            _ => {}
        }
    }
    words
}
