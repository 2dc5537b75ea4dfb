//! Sums of products of symbols and square roots with rational factors, in a form in which equal means the same value.
//!
//! Square roots of different square-free numbers are linearly independent over the rationals, and products of symbols over
//! both: two such sums are equal for all values of their symbols exactly if they have the same terms. Nothing is rounded;
//! what grows beyond the bounds is `None`.

use super::rational::Rational;
use std::collections::BTreeMap;

/// Most terms of a sum.
const TERMS: usize = 256;
/// Greatest number whose square root is taken apart.
const RADICAND: i128 = 1_000_000_000_000;

/// A product of symbols, each with its power, and the square root of a square-free number.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Product {
    symbols: BTreeMap<String, i32>,
    /// 1 where there is no root.
    root: i128,
}

/// A sum of products, none of them with the factor 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Polynomial(BTreeMap<Product, Rational>);

impl Polynomial {
    pub(super) fn number(number: Rational) -> Self {
        Self::term(Product { root: 1, ..Product::default() }, number)
    }

    pub(super) fn symbol(name: String) -> Self {
        Self::term(Product { symbols: BTreeMap::from([(name, 1)]), root: 1 }, Rational::ONE)
    }

    /// The square root of a number that is not negative: `sqrt(p/q) = sqrt(pq)/q`.
    pub(super) fn square_root(number: Rational) -> Option<Self> {
        let (over, under) = number.parts();
        let radicand = over.checked_mul(under).filter(|radicand| (0..=RADICAND).contains(radicand))?;
        let (mut outside, mut root, mut factor) = (1, radicand, 2);
        while radicand > 0 && factor * factor <= root {
            while root % (factor * factor) == 0 {
                root /= factor * factor;
                outside *= factor;
            }
            factor += 1;
        }
        let factor = Rational::whole(outside).times(Rational::whole(under).inverted()?)?;
        if radicand == 0 {
            return Some(Self(BTreeMap::new()));
        }
        Some(Self::term(Product { symbols: BTreeMap::new(), root }, factor))
    }

    fn term(product: Product, factor: Rational) -> Self {
        Self(if factor.is_zero() { BTreeMap::new() } else { BTreeMap::from([(product, factor)]) })
    }

    /// The number, where it is one without symbols and roots.
    pub(super) fn as_number(&self) -> Option<Rational> {
        match self.0.first_key_value() {
            None => Some(Rational::whole(0)),
            Some((product, &factor)) if self.0.len() == 1 && product.root == 1 && product.symbols.is_empty() => {
                Some(factor)
            }
            Some(_) => None,
        }
    }

    /// Its value, where it has no symbols.
    pub(super) fn value(&self) -> Option<f64> {
        let term = |(product, factor): (&Product, &Rational)| {
            let (over, under) = factor.parts();
            product.symbols.is_empty().then(|| over as f64 / under as f64 * (product.root as f64).sqrt())
        };
        self.0.iter().map(term).sum()
    }

    pub(super) fn plus(mut self, other: &Self) -> Option<Self> {
        for (product, &factor) in &other.0 {
            let sum = self.0.get(product).map_or(Some(factor), |own| own.plus(factor))?;
            if sum.is_zero() {
                self.0.remove(product)
            } else {
                self.0.insert(product.clone(), sum)
            };
        }
        (self.0.len() <= TERMS).then_some(self)
    }

    pub(super) fn negated(mut self) -> Self {
        self.0.values_mut().for_each(|factor| *factor = factor.negated());
        self
    }

    pub(super) fn times(&self, other: &Self) -> Option<Self> {
        let mut product = Self(BTreeMap::new());
        for (left, &a) in &self.0 {
            for (right, &b) in &other.0 {
                product = product.plus(&left.times(right)?.scaled(a.times(b)?)?)?;
            }
        }
        Some(product)
    }

    /// Returns the inverse of a single term; what divides by a sum is not taken apart.
    pub(super) fn inverted(&self) -> Option<Self> {
        let (product, factor) = self.0.first_key_value().filter(|_| self.0.len() == 1)?;
        let symbols = product.symbols.iter().map(|(name, power)| (name.clone(), -power)).collect();
        // 1 / sqrt(n) = sqrt(n) / n
        let factor = factor.times(Rational::whole(product.root))?.inverted()?;
        Some(Self::term(Product { symbols, root: product.root }, factor))
    }

    pub(super) fn power(&self, exponent: i128) -> Option<Self> {
        let base = if exponent < 0 { self.inverted()? } else { self.clone() };
        let times = u32::try_from(exponent.unsigned_abs()).ok().filter(|&times| times <= 64)?;
        (0..times).try_fold(Self::number(Rational::ONE), |power, _| power.times(&base))
    }
}

impl Product {
    /// The product with its whole factor: `sqrt(6) sqrt(10) = 2 sqrt(15)`.
    fn times(&self, other: &Self) -> Option<Polynomial> {
        let mut symbols = self.symbols.clone();
        for (name, power) in &other.symbols {
            let sum = symbols.get(name).copied().unwrap_or(0).checked_add(*power)?;
            if sum == 0 {
                symbols.remove(name)
            } else {
                symbols.insert(name.clone(), sum)
            };
        }
        let root = Polynomial::square_root(Rational::whole(self.root.checked_mul(other.root)?))?;
        let terms =
            root.0.into_iter().map(|(product, factor)| (Product { symbols: symbols.clone(), ..product }, factor));
        Some(Polynomial(terms.collect()))
    }
}

impl Polynomial {
    fn scaled(mut self, by: Rational) -> Option<Self> {
        for factor in self.0.values_mut() {
            *factor = factor.times(by)?;
        }
        Some(self)
    }
}
