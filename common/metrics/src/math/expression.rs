//! Formulas in LaTeX as far as they are sums of products of whole numbers, symbols and roots; read as sympy's
//! `parse_latex` reads them, and not at all where anything else occurs in them.
//!
//! As there, a product without sign binds before a sign of multiplication or division (`1/2x` is 1 over 2x), every letter
//! is a symbol of its own, and so is every command that sympy does not know. What sympy takes for a function, such as
//! `f(x)`, is not read.

use super::polynomial::Polynomial;
use super::rational::Rational;

/// Deepest nesting.
const DEPTH: u32 = 32;
/// Commands that are symbols in sympy as well: those that mean nothing else there.
const SYMBOLS: [&str; 14] = [
    "pi", "alpha", "beta", "gamma", "delta", "theta", "lambda", "mu", "rho", "sigma", "phi", "omega", "epsilon", "tau",
];

/// The formula, whole; `None` where it is of another kind.
pub(super) fn parse(text: &str) -> Option<Polynomial> {
    let mut parser = Parser { rest: text, depth: 0 };
    let sum = parser.sum()?;
    parser.rest.is_empty().then_some(sum)
}

struct Parser<'t> {
    rest: &'t str,
    depth: u32,
}

impl Parser<'_> {
    fn sum(&mut self) -> Option<Polynomial> {
        self.depth += 1;
        if self.depth > DEPTH {
            return None;
        }
        let mut sum = self.products()?;
        loop {
            sum = match () {
                () if self.take("+") => sum.plus(&self.products()?)?,
                () if self.take("-") => sum.plus(&self.products()?.negated())?,
                () => break,
            };
        }
        self.depth -= 1;
        Some(sum)
    }

    fn products(&mut self) -> Option<Polynomial> {
        let mut product = self.signed()?;
        loop {
            product = match () {
                () if self.take("*") || self.take("\\cdot") || self.take("\\times") => {
                    product.times(&self.signed()?)?
                }
                () if self.take("/") || self.take("\\div") => product.times(&self.signed()?.inverted()?)?,
                () => return Some(product),
            };
        }
    }

    /// Signs, then factors side by side.
    fn signed(&mut self) -> Option<Polynomial> {
        if self.take("-") {
            return Some(self.signed()?.negated());
        }
        if self.take("+") {
            return self.signed();
        }
        let mut product = self.powered()?;
        while self.rest.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '(' | '{' | '\\'))
            && !["\\cdot", "\\times", "\\div", "\\right"].iter().any(|command| self.rest.starts_with(command))
        {
            product = product.times(&self.powered()?)?;
        }
        Some(product)
    }

    fn powered(&mut self) -> Option<Polynomial> {
        let base = self.atom()?;
        if !self.take("^") {
            return Some(base);
        }
        let exponent = match self.take("{") {
            true => self.closed("}")?,
            // Without braces sympy takes a whole number, not TeX's one digit.
            false => self.rest.starts_with(|c: char| c.is_ascii_digit()).then(|| self.number())??,
        };
        // A second exponent is not a formula.
        if self.rest.starts_with('^') {
            return None;
        }
        base.power(exponent.as_number()?.as_whole()?)
    }

    fn atom(&mut self) -> Option<Polynomial> {
        let first = self.rest.chars().next()?;
        if first.is_ascii_digit() {
            return self.number();
        }
        if first.is_ascii_alphabetic() {
            self.rest = &self.rest[1..];
            // `dx` is a differential.
            let differential = first == 'd' && self.rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '\\');
            return if differential { None } else { self.symbol(first.to_string()) };
        }
        if self.take("(") {
            return self.closed(")");
        }
        if self.take("\\left(") {
            return self.closed("\\right)");
        }
        if self.take("{") {
            return self.closed("}");
        }
        if self.take("\\frac{") || self.take("\\dfrac{") || self.take("\\tfrac{") {
            let over = self.closed("}")?;
            let under = if self.take("{") { self.closed("}")? } else { return None };
            return over.times(&under.inverted()?);
        }
        if self.take("\\sqrt{") {
            return Polynomial::square_root(self.closed("}")?.as_number()?);
        }
        let name: String = self.rest.strip_prefix('\\')?.chars().take_while(char::is_ascii_alphabetic).collect();
        if !SYMBOLS.contains(&name.as_str()) {
            return None;
        }
        self.rest = &self.rest[1 + name.len()..];
        self.symbol(name)
    }

    /// A symbol without index, prime or argument.
    fn symbol(&self, name: String) -> Option<Polynomial> {
        let more = self.rest.starts_with(['_', '\'', '(', '!', '[']) || self.rest.starts_with("\\left");
        (!more).then(|| Polynomial::symbol(name))
    }

    /// A whole number, also with commas between thousands. A decimal point makes sympy round: such a number is not exact.
    fn number(&mut self) -> Option<Polynomial> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (mut digits, mut rest) = (self.rest[..end].to_owned(), &self.rest[end..]);
        while let Some((thousand, after)) = rest.strip_prefix(',').and_then(|rest| rest.split_at_checked(3))
            && thousand.bytes().all(|byte| byte.is_ascii_digit())
        {
            digits.push_str(thousand);
            rest = after;
        }
        self.rest = rest;
        let exact = digits.len() <= 30 && !rest.starts_with(['.', ',', '!', '_']);
        let number = digits.parse().ok().filter(|_| exact)?;
        Some(Polynomial::number(Rational::whole(number)))
    }

    fn closed(&mut self, by: &str) -> Option<Polynomial> {
        let inner = self.sum()?;
        self.take(by).then_some(inner)
    }

    fn take(&mut self, token: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(token) else { return false };
        // A command ends where its letters end.
        let longer = token.starts_with('\\')
            && token.ends_with(|c: char| c.is_ascii_alphabetic())
            && rest.starts_with(|c: char| c.is_ascii_alphabetic());
        if !longer {
            self.rest = rest;
        }
        !longer
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn equal_formulas() {
        for (one, other) in [
            ("\\sqrt{12}", "2\\sqrt{3}"),
            ("\\frac{1}{\\sqrt{3}}", "\\frac{\\sqrt{3}}{3}"),
            ("\\sqrt{\\frac{1}{2}}", "\\frac{\\sqrt{2}}{2}"),
            ("(x+1)^2", "x^{2}+2x+1"),
            ("1/2x", "\\frac{1}{2x}"),
            ("1/2*x", "\\frac{x}{2}"),
            ("\\frac{3\\pi}{4}", "0.75\\pi".replace("0.75", "\\frac{3}{4}").as_str()),
            ("\\sqrt{6}\\sqrt{10}", "2\\sqrt{15}"),
            ("1,000", "10^3"),
            ("--3", "3"),
            ("x^10", "x^{10}"),
            ("\\left(2\\right)(3)", "6"),
            ("2^{-2}", "\\frac{1}{4}"),
        ] {
            assert_eq!(parse(one).unwrap(), parse(other).unwrap(), "{one} {other}");
        }
        assert_ne!(parse("\\sqrt{2}"), parse("\\sqrt{3}"));
        assert_eq!(parse("1-x+x-1").unwrap().as_number().and_then(|zero| zero.as_whole()), Some(0));
    }

    #[test]
    fn other_formulas_are_not_read() {
        for text in [
            "",
            "x(y)",
            "f'",
            "x_1",
            "3!",
            "0.5x",
            "1,2",
            "(1,2)",
            "[0,1]",
            "\\sin x",
            "\\sqrt{x}",
            "\\sqrt{-1}",
            "dx",
            "3-",
            "(3",
            "x^y",
            "2^{1/2}",
            "\\frac12",
            "5%",
            "x=5",
            "\\text{A}",
            "x^^2",
            "x^2^3",
            "\\cdotp",
            "1/0",
            "\\frac{1}{1+\\sqrt{2}}",
            "2^{99}",
            "\\infty",
            "²",
            "３",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse(&"(".repeat(10_000)), None);
    }
}
