//! Formulas from tokens: sums of products of powers, functions, roots, fractions.
//!
//! As in sympy's grammar a product without sign binds before a sign of multiplication or division (`1/2x` is 1 over 2x), and
//! an exponent without braces is a whole number (`x^10`). Each step into a bracket, an exponent or an argument is counted.

use super::decision::{Budget, Rules, Why};
use super::ratio::Ratio;
use super::token::{Kind, Token};
use super::tree::{Choice, Expr, Factor, Function};

/// Sign of `\pm` in a reading; `\mp` has the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Plus,
    Minus,
}

/// Commands that are symbols.
const GREEK: [&str; 24] = [
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "kappa", "lambda", "mu", "nu", "xi", "rho",
    "sigma", "tau", "phi", "chi", "psi", "omega", "Delta", "Gamma", "Omega", "ell",
];

/// Reads all tokens as one formula.
pub(super) fn formula(tokens: &[Token], sign: Sign, rules: Rules, budget: &mut Budget) -> Result<Expr, Why> {
    budget.spend(tokens.len())?;
    let mut parser = Parser { tokens, at: 0, digit: 0, bars: 0, sign, rules, budget };
    let expr = parser.terms()?;
    if parser.at == tokens.len() { Ok(expr) } else { Err(Why::Unread) }
}

struct Parser<'t, 'b> {
    tokens: &'t [Token],
    at: usize,
    /// Digits of the number at `at` that are already read, as `\frac12` reads one by one.
    digit: usize,
    /// Open bars of magnitudes.
    bars: u32,
    sign: Sign,
    rules: Rules,
    budget: &'b mut Budget,
}

impl<'t> Parser<'t, '_> {
    fn kind(&self) -> Option<&'t Kind> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    fn is_mark(&self, mark: char) -> bool {
        self.tokens.get(self.at).is_some_and(|token| token.is_mark(mark))
    }

    fn take(&mut self, mark: char) -> bool {
        let is_here = self.is_mark(mark);
        self.at += usize::from(is_here);
        is_here
    }

    fn take_command(&mut self, name: &str) -> bool {
        let is_here = self.tokens.get(self.at).is_some_and(|token| token.is_command(name));
        self.at += usize::from(is_here);
        is_here
    }

    fn expect(&mut self, mark: char) -> Result<(), Why> {
        if self.take(mark) { Ok(()) } else { Err(Why::Unread) }
    }

    fn terms(&mut self) -> Result<Expr, Why> {
        let mut terms = vec![self.products()?];
        loop {
            let is_minus = match self.kind() {
                Some(Kind::Mark('+')) => false,
                Some(Kind::Mark('-')) => true,
                Some(Kind::Command(name)) if name == "pm" => self.sign == Sign::Minus,
                Some(Kind::Command(name)) if name == "mp" => self.sign == Sign::Plus,
                _ => break,
            };
            self.at += 1;
            let term = self.products()?;
            terms.push(if is_minus { term.negated() } else { term });
        }
        Ok(if terms.len() == 1 { terms.remove(0) } else { Expr::Sum(terms) })
    }

    fn products(&mut self) -> Result<Expr, Why> {
        let mut factors = vec![Factor { expr: self.signed()?, inverse: false }];
        loop {
            let inverse = match self.kind() {
                Some(Kind::Mark('*')) => false,
                Some(Kind::Mark('/' | ':')) => true,
                _ => break,
            };
            self.at += 1;
            factors.push(Factor { expr: self.signed()?, inverse });
        }
        Ok(if factors.len() == 1 { factors.remove(0).expr } else { Expr::Product(factors) })
    }

    /// Signs, then factors side by side.
    fn signed(&mut self) -> Result<Expr, Why> {
        let mut is_minus = false;
        loop {
            match self.kind() {
                Some(Kind::Mark('+')) => {}
                Some(Kind::Mark('-')) => is_minus = !is_minus,
                Some(Kind::Command(name)) if name == "pm" => is_minus ^= self.sign == Sign::Minus,
                Some(Kind::Command(name)) if name == "mp" => is_minus ^= self.sign == Sign::Plus,
                _ => break,
            }
            self.at += 1;
        }
        let product = self.side_by_side()?;
        Ok(if is_minus { product.negated() } else { product })
    }

    fn side_by_side(&mut self) -> Result<Expr, Why> {
        let first = self.postfixed()?;
        if let Some(mixed) = self.mixed_number(&first)? {
            return Ok(mixed);
        }
        let mut factors = vec![Factor { expr: first, inverse: false }];
        while self.begins_factor() {
            // Two numbers side by side are no product.
            let is_number = |at: usize| matches!(self.tokens.get(at), Some(Token { kind: Kind::Number(_), .. }));
            if is_number(self.at) && self.digit == 0 && is_number(self.at - 1) {
                return Err(Why::Unread);
            }
            factors.push(Factor { expr: self.postfixed()?, inverse: false });
        }
        Ok(if factors.len() == 1 { factors.remove(0).expr } else { Expr::Product(factors) })
    }

    /// `2\frac{1}{2}` and `2 1/2`: a whole number and a fraction of whole numbers are their sum.
    fn mixed_number(&mut self, whole: &Expr) -> Result<Option<Expr>, Why> {
        let is_whole = matches!(whole, Expr::Number(number) if number.is_whole() && !number.is_negative());
        let after_digit = matches!(self.at.checked_sub(1).map(|at| &self.tokens[at].kind), Some(Kind::Number(_)));
        if !is_whole || !after_digit || self.digit != 0 {
            return Ok(None);
        }
        if self.tokens.get(self.at).is_some_and(|token| token.is_command("frac")) {
            let start = self.at;
            let fraction = self.atom()?;
            let is_plain = matches!(&fraction, Expr::Product(parts) if parts.len() == 2
                && parts[1].inverse && parts.iter().all(|part| matches!(part.expr, Expr::Number(_))));
            if is_plain && !self.begins_factor() && !self.is_mark('^') && !self.is_mark('!') {
                let sum = Expr::Sum(vec![whole.clone(), fraction]);
                return Ok(Some(if self.take('%') { Expr::Percent(Box::new(sum)) } else { sum }));
            }
            (self.at, self.digit) = (start, 0);
            return Ok(None);
        }
        let [over, slash, under] = self.tokens.get(self.at..self.at + 3).unwrap_or(&[]) else { return Ok(None) };
        let (Kind::Number(over), true, Kind::Number(under)) = (&over.kind, slash.is_mark('/'), &under.kind) else {
            return Ok(None);
        };
        if over.contains('.') || under.contains('.') {
            return Ok(None);
        }
        self.at += 3;
        let fraction = Expr::Number(Ratio::decimal(over)?).over(Expr::Number(Ratio::decimal(under)?));
        Ok(Some(Expr::Sum(vec![whole.clone(), fraction])))
    }

    fn begins_factor(&self) -> bool {
        match self.kind() {
            Some(Kind::Number(_) | Kind::Letter(_) | Kind::Mark('(' | '{' | '[')) => true,
            Some(Kind::Mark('|')) => self.bars == 0,
            Some(Kind::Command(name)) => self.begins_atom(name),
            _ => false,
        }
    }

    fn begins_atom(&self, name: &str) -> bool {
        matches!(name, "frac" | "sqrt" | "binom" | "pi" | "infty" | "lvert" | "lfloor" | "lceil" | "degree")
            || function(name).is_some()
            || matches!(name, "log" | "lg" | "cot" | "sec" | "csc" | "exp" | "imath" | "arccot")
            || GREEK.contains(&name)
    }

    /// An atom with its exponent, factorials and per cent.
    fn postfixed(&mut self) -> Result<Expr, Why> {
        let mut expr = self.atom()?;
        let mut has_exponent = false;
        let mut has_factorial = false;
        loop {
            if self.is_mark('^') {
                if has_exponent {
                    return Err(Why::Unread);
                }
                self.at += 1;
                expr = expr.power(self.exponent()?);
                has_exponent = true;
            } else if self.is_mark('!') {
                if has_factorial {
                    return Err(Why::Unread);
                }
                self.at += 1;
                expr = Expr::call(Function::Factorial, expr);
                (has_factorial, has_exponent) = (true, false);
            } else if self.is_mark('%') && !matches!(expr, Expr::Percent(_)) {
                self.at += 1;
                expr = Expr::Percent(Box::new(expr));
            } else {
                return Ok(expr);
            }
        }
    }

    fn exponent(&mut self) -> Result<Expr, Why> {
        self.budget.enter()?;
        let is_minus = self.take('-');
        let exponent = match self.kind() {
            Some(Kind::Number(_)) => self.number()?,
            _ => self.atom()?,
        };
        // `2^{3}^{4}` is an error of TeX, `2^3^4` goes to the right.
        let exponent = if self.take('^') { exponent.power(self.exponent()?) } else { exponent };
        self.budget.leave();
        Ok(if is_minus { exponent.negated() } else { exponent })
    }

    /// An argument of a command: one digit, one letter, one command, or what stands in braces.
    fn argument(&mut self) -> Result<Expr, Why> {
        let Some(Kind::Number(digits)) = self.kind() else { return self.atom() };
        let digit = digits[self.digit..].chars().next().and_then(|digit| digit.to_digit(10)).ok_or(Why::Unread)?;
        self.digit += 1;
        if self.digit == digits.len() {
            (self.at, self.digit) = (self.at + 1, 0);
        }
        Ok(Expr::whole(i64::from(digit)))
    }

    fn number(&mut self) -> Result<Expr, Why> {
        let Some(Kind::Number(digits)) = self.kind() else { return Err(Why::Unread) };
        let digits = &digits[std::mem::take(&mut self.digit)..];
        self.at += 1;
        let number = Ratio::decimal(digits)?;
        if !digits.contains('.') || !self.take_command("overline") {
            return Ok(Expr::Number(number));
        }
        let places = digits.len() - digits.find('.').map_or(0, |point| point + 1);
        Ok(Expr::Number(number.plus(&self.period(places)?)?))
    }

    /// The value of a period behind a number of places: `3 / 9` of `0.\overline{3}`.
    fn period(&mut self, places: usize) -> Result<Ratio, Why> {
        self.expect('{')?;
        let Some(Kind::Number(digits)) = self.kind() else { return Err(Why::Unread) };
        self.at += 1;
        self.expect('}')?;
        let ten = |places: usize| Ratio::whole(10).power(i64::try_from(places).unwrap_or(i64::MAX));
        let nines = ten(digits.len())?.plus(&Ratio::whole(-1))?;
        Ratio::decimal(digits)?.times(&nines.times(&ten(places)?)?.inverted()?)
    }

    fn atom(&mut self) -> Result<Expr, Why> {
        self.budget.enter()?;
        let expr = match self.kind().ok_or(Why::Unread)? {
            Kind::Number(_) => self.number()?,
            Kind::Letter(letter) => {
                self.at += 1;
                self.letter(*letter)?
            }
            Kind::Mark('(') => self.bracketed(')')?,
            Kind::Mark('[') => self.bracketed(']')?,
            Kind::Mark('{') => self.bracketed('}')?,
            Kind::Mark('|') => {
                self.bars += 1;
                let inner = self.bracketed('|')?;
                self.bars -= 1;
                Expr::call(Function::Magnitude, inner)
            }
            Kind::Command(name) => {
                self.at += 1;
                self.command(name)?
            }
            _ => return Err(Why::Unread),
        };
        self.budget.leave();
        Ok(expr)
    }

    fn bracketed(&mut self, close: char) -> Result<Expr, Why> {
        self.at += 1;
        let inner = self.nested(close != '|')?;
        self.expect(close)?;
        Ok(inner)
    }

    /// A sum within brackets, in which a bar opens another magnitude.
    fn nested(&mut self, hides_bars: bool) -> Result<Expr, Why> {
        let bars = self.bars;
        if hides_bars {
            self.bars = 0;
        }
        let inner = self.terms()?;
        self.bars = bars;
        Ok(inner)
    }

    fn letter(&mut self, letter: char) -> Result<Expr, Why> {
        let is_plain = !self.is_mark('_') && !self.is_mark('\'');
        match letter {
            'e' if is_plain => return Ok(Expr::Euler),
            'i' if is_plain && self.rules == Rules::Ours => return Ok(Expr::Imaginary),
            'f' | 'g' if self.is_mark('(') => {
                return Ok(Expr::call(Function::Named(letter.to_string()), self.bracketed(')')?));
            }
            _ => {}
        }
        self.symbol(letter.to_string())
    }

    /// A symbol with its index and primes.
    fn symbol(&mut self, mut name: String) -> Result<Expr, Why> {
        if self.take('_') {
            name.push('_');
            let in_braces = self.take('{');
            loop {
                match self.kind() {
                    Some(Kind::Number(digits)) => name.push_str(digits),
                    Some(Kind::Letter(letter)) => name.push(*letter),
                    Some(Kind::Text(word) | Kind::Command(word)) => name.push_str(word),
                    _ => return Err(Why::Unread),
                }
                self.at += 1;
                if !in_braces || self.take('}') {
                    break;
                }
            }
        }
        while self.take('\'') {
            name.push('\'');
        }
        Ok(Expr::Symbol(name))
    }

    fn command(&mut self, name: &str) -> Result<Expr, Why> {
        match name {
            "pi" => Ok(Expr::Pi),
            "infty" => Ok(Expr::Infinity),
            "degree" => Ok(Expr::Degree),
            "imath" => Ok(Expr::Imaginary),
            "frac" => Ok(self.argument()?.over(self.argument()?)),
            "binom" => Ok(Expr::Binomial(Box::new(Choice { all: self.argument()?, some: self.argument()? }))),
            "sqrt" => self.root(),
            "lvert" => self.closed("rvert", Function::Magnitude),
            "lfloor" => self.closed("rfloor", Function::Floor),
            "lceil" => self.closed("rceil", Function::Ceiling),
            _ if GREEK.contains(&name) => self.symbol(name.to_owned()),
            _ => self.applied(name),
        }
    }

    fn closed(&mut self, by: &str, function: Function) -> Result<Expr, Why> {
        let inner = self.nested(true)?;
        if self.take_command(by) { Ok(Expr::call(function, inner)) } else { Err(Why::Unread) }
    }

    fn root(&mut self) -> Result<Expr, Why> {
        let index = if self.is_mark('[') { self.bracketed(']')? } else { Expr::whole(2) };
        let radicand = self.argument()?;
        Ok(radicand.power(Expr::whole(1).over(index)))
    }

    /// A function: its power or base, then its argument.
    fn applied(&mut self, name: &str) -> Result<Expr, Why> {
        let own = function(name);
        if own.is_none() && !matches!(name, "log" | "lg" | "cot" | "sec" | "csc" | "exp" | "arccot") {
            return Err(Why::Unread);
        }
        let base = if self.take('_') { Some(self.argument()?) } else { None };
        let power = if self.take('^') { Some(self.exponent()?) } else { None };
        let argument = self.function_argument()?;
        let half = Expr::Pi.over(Expr::whole(2));
        let is_inverse = matches!(&power, Some(Expr::Number(number)) if number.as_small() == Some(-1));
        let value = match (name, own) {
            ("sin", _) if is_inverse => return Ok(Expr::call(Function::ArcSine, argument)),
            ("cos", _) if is_inverse => return Ok(Expr::call(Function::ArcCosine, argument)),
            ("tan", _) if is_inverse => return Ok(Expr::call(Function::ArcTangent, argument)),
            ("log", _) | ("lg", _) => {
                let base = base.unwrap_or(Expr::whole(10));
                Expr::call(Function::Logarithm, argument).over(Expr::call(Function::Logarithm, base))
            }
            ("cot", _) => Expr::call(Function::Cosine, argument.clone()).over(Expr::call(Function::Sine, argument)),
            ("sec", _) => Expr::whole(1).over(Expr::call(Function::Cosine, argument)),
            ("csc", _) => Expr::whole(1).over(Expr::call(Function::Sine, argument)),
            ("exp", _) => Expr::Euler.power(argument),
            ("arccot", _) => Expr::Sum(vec![half, Expr::call(Function::ArcTangent, argument).negated()]),
            (_, Some(function)) => Expr::call(function, argument),
            (_, None) => return Err(Why::Unread),
        };
        Ok(match power {
            Some(power) => value.power(power),
            None => value,
        })
    }

    /// The argument of a function: what stands in brackets, else the factors side by side up to the next function.
    fn function_argument(&mut self) -> Result<Expr, Why> {
        Ok(if self.is_mark('(') || self.is_mark('{') || self.is_mark('[') {
            let inner = self.atom()?;
            if self.take('^') { inner.power(self.exponent()?) } else { inner }
        } else {
            let is_minus = self.take('-');
            let mut factors = vec![Factor { expr: self.postfixed()?, inverse: false }];
            while self.begins_factor() && !self.is_function() && !self.is_mark('(') {
                factors.push(Factor { expr: self.postfixed()?, inverse: false });
            }
            let product = Expr::Product(factors);
            if is_minus { product.negated() } else { product }
        })
    }

    fn is_function(&self) -> bool {
        matches!(self.kind(), Some(Kind::Command(name)) if function(name).is_some()
            || matches!(name.as_str(), "log" | "lg" | "cot" | "sec" | "csc" | "exp" | "arccot"))
    }
}

fn function(name: &str) -> Option<Function> {
    Some(match name {
        "sin" => Function::Sine,
        "cos" => Function::Cosine,
        "tan" => Function::Tangent,
        "arcsin" => Function::ArcSine,
        "arccos" => Function::ArcCosine,
        "arctan" => Function::ArcTangent,
        "sinh" => Function::HyperbolicSine,
        "cosh" => Function::HyperbolicCosine,
        "tanh" => Function::HyperbolicTangent,
        "ln" => Function::Logarithm,
        _ => return None,
    })
}
