//! Equations and inequalities: what they say of a symbol, and when two say the same.

use super::algebra::{Algebra, Atom};
use super::decision::{Rules, Verdict, Why};
use super::polynomial::{AtomId, Exponent, Polynomial, Quotient};
use super::token::{Kind, Token};
use super::tree::Expr;
use super::value::{Item, Operator, Region, Relation};

/// The places at which a relation holds, and the symbol that it speaks of.
#[derive(Clone, Debug)]
pub(super) struct Solved {
    pub(super) symbol: String,
    pub(super) region: Region,
}

impl Operator {
    pub(super) fn from_token(token: &Token) -> Option<Self> {
        match &token.kind {
            Kind::Mark('=') => Some(Self::Equal),
            Kind::Mark('<') => Some(Self::Less),
            Kind::Mark('>') => Some(Self::Greater),
            Kind::Command(name) => match name.as_str() {
                "approx" => Some(Self::Equal),
                "ne" => Some(Self::Unequal),
                "le" => Some(Self::LessOrEqual),
                "ge" => Some(Self::GreaterOrEqual),
                _ => None,
            },
            _ => None,
        }
    }

    fn flipped(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            same => same,
        }
    }

    fn is_symmetric(self) -> bool {
        matches!(self, Self::Equal | Self::Unequal)
    }
}

impl Relation {
    /// A chain of equations that begins with a name says what its last side is.
    pub(super) fn new(mut sides: Vec<Item>, mut operators: Vec<Operator>) -> Self {
        let is_equation = operators.iter().all(|operator| *operator == Operator::Equal);
        if is_equation && sides.len() > 2 && sides[0].expr.is_name() {
            sides.drain(1..sides.len() - 1);
            operators.truncate(1);
        }
        Self { sides, operators }
    }

    /// The name, where it says what a name stands for.
    pub(super) fn name(&self) -> Option<&Expr> {
        let is_assignment = self.operators[..] == [Operator::Equal] && self.sides[0].expr.is_name();
        is_assignment.then(|| &self.sides[0].expr)
    }

    /// The side that the name stands for.
    pub(super) fn assigned(&self) -> Option<&Item> {
        self.name().and_then(|_| self.sides.last())
    }

    /// Both ends of a calculation with numbers: `2^5 = 32`, `10\sqrt{2} = 14.14`.
    pub(super) fn ends_of_calculation(&self) -> Option<[&Item; 2]> {
        let (first, last) = (self.sides.first()?, self.sides.last()?);
        let distance = (first.place? - last.place?).abs();
        (self.is_equation() && distance <= 0.01 * last.place?.abs()).then_some([first, last])
    }

    pub(super) fn is_equation(&self) -> bool {
        self.operators.iter().all(|operator| *operator == Operator::Equal)
    }

    /// The places at which inequalities hold that are each a symbol beside a number.
    pub(super) fn region(&self) -> Option<Solved> {
        let mut solved: Option<Solved> = None;
        for (sides, operator) in self.sides.windows(2).zip(&self.operators) {
            let [left, right] = sides else { return None };
            let (symbol, item, operator) = match (&left.expr, &right.expr) {
                (Expr::Symbol(name), _) if is_number(right) => (name, right, *operator),
                (_, Expr::Symbol(name)) if is_number(left) => (name, left, operator.flipped()),
                _ => return None,
            };
            let region = match operator {
                Operator::Equal => return None,
                Operator::Unequal => Region::point(item).complement(),
                Operator::Less => Region::half_line(item, true, false),
                Operator::LessOrEqual => Region::half_line(item, true, true),
                Operator::Greater => Region::half_line(item, false, false),
                Operator::GreaterOrEqual => Region::half_line(item, false, true),
            };
            let region = match &solved {
                None => region,
                Some(before) if before.symbol == *symbol => before.region.intersection(&region),
                Some(_) => return None,
            };
            solved = Some(Solved { symbol: symbol.clone(), region });
        }
        solved
    }

    /// The relation with linear inequalities of one symbol solved for it.
    pub(super) fn solved(&self, algebra: &mut Algebra) -> Result<Self, Why> {
        let [left, right] = self.sides.as_slice() else { return Ok(self.clone()) };
        let difference = algebra.minus(&left.normal, &right.normal)?;
        let number = difference.is_whole().then(|| linear(&difference.over, algebra)).flatten();
        let Some(line) = number else { return Ok(self.clone()) };
        let root = line.rest.negated().times(&line.slope.inverted()?)?;
        let operator = if line.slope.is_negative() { self.operators[0].flipped() } else { self.operators[0] };
        let symbol = Item::new(Expr::Symbol(line.symbol), algebra)?;
        let mut number = Item::new(Expr::Number(root), algebra)?;
        number.decimal = left.decimal || right.decimal;
        Ok(Self { sides: vec![symbol, number], operators: vec![operator] })
    }

    /// Compares sides and operators as written or, under our rules, scaled and from either end.
    pub(super) fn compare(&self, other: &Self, rules: Rules, algebra: &mut Algebra) -> Result<Verdict, Why> {
        let same = self.compare_in_order(other, rules, algebra)?;
        let may_turn = rules == Rules::Ours || self.sides.len() == 2;
        if same == Verdict::Equal || !may_turn {
            return Ok(same);
        }
        let turned = Self {
            sides: other.sides.iter().rev().cloned().collect(),
            operators: other.operators.iter().rev().map(|operator| operator.flipped()).collect(),
        };
        Ok(Verdict::best([same, self.compare_in_order(&turned, rules, algebra)?]))
    }

    fn compare_in_order(&self, other: &Self, rules: Rules, algebra: &mut Algebra) -> Result<Verdict, Why> {
        if self.operators != other.operators {
            return Ok(Verdict::Unequal);
        }
        let mut decisions = Vec::new();
        for (at, operator) in self.operators.iter().enumerate() {
            let own = algebra.minus(&self.sides[at].normal, &self.sides[at + 1].normal)?;
            let theirs = algebra.minus(&other.sides[at].normal, &other.sides[at + 1].normal)?;
            decisions.push(algebra.proportional(&own, &theirs, *operator, rules)?);
        }
        Ok(Verdict::together(decisions))
    }
}

fn is_number(item: &Item) -> bool {
    let mut names = Vec::new();
    item.expr.symbols(&mut names);
    names.is_empty()
}

/// `slope * symbol + rest`.
struct Line {
    symbol: String,
    slope: super::ratio::Ratio,
    rest: super::ratio::Ratio,
}

fn linear(polynomial: &Polynomial, algebra: &Algebra) -> Option<Line> {
    let (mut rest, mut found) = (super::ratio::Ratio::whole(0), None);
    for term in polynomial.terms() {
        match term.monomial.0.as_slice() {
            [] => rest = term.factor.clone(),
            [power] if power.exponent == Exponent::ONE && found.is_none() => {
                let Some(Atom::Symbol(name)) = algebra.atom(power.atom) else { return None };
                found = Some((name.clone(), term.factor.clone()));
            }
            _ => return None,
        }
    }
    found.map(|(symbol, slope)| Line { symbol, slope, rest })
}

impl Algebra {
    /// Returns whether `own op 0` says what `theirs op 0` does: whether one is a constant times the other, positive where
    /// the operator has a direction.
    fn proportional(
        &mut self,
        own: &Quotient,
        theirs: &Quotient,
        operator: Operator,
        rules: Rules,
    ) -> Result<Verdict, Why> {
        if self.same(own, theirs)? {
            return Ok(Verdict::Equal);
        }
        if !operator.is_symmetric() {
            if rules == Rules::Peer {
                return Ok(Verdict::Unequal);
            }
            let (left, right) = (self.times(&own.over, &theirs.under)?, self.times(&theirs.over, &own.under)?);
            let is_same = left.proportion(&right)?.is_some_and(|by| !by.is_negative());
            let is_sure = self.is_independent(&left) && self.is_independent(&right);
            return Ok(if is_same || is_sure { Verdict::exact(is_same) } else { Verdict::Undecided(Why::Unsettled) });
        }
        let (own, theirs) = (self.cleared(&own.over)?, self.cleared(&theirs.over)?);
        if own.proportion(&theirs)?.is_some() {
            return Ok(Verdict::Equal);
        }
        let is_sure = self.is_independent(&own) && self.is_independent(&theirs);
        if !is_sure {
            return Ok(Verdict::Undecided(Why::Unsettled));
        }
        let (one, other) = (degree(&own), degree(&theirs));
        if one == other || symbols(&own) != symbols(&theirs) {
            return Ok(Verdict::Unequal);
        }
        // A line is one place only of its own powers.
        let (line, curve) = if one < other { (&own, &theirs) } else { (&theirs, &own) };
        if one.min(other) != 1 {
            return Ok(Verdict::Undecided(Why::Unsettled));
        }
        let power = self.raised(line, one.max(other).unsigned_abs())?;
        Ok(Verdict::exact(power.proportion(curve)?.is_some()))
    }

    /// A side whose zeros are looked for, without atoms below the line: `xy - 1` of `y - 1/x`.
    fn cleared(&mut self, side: &Polynomial) -> Result<Polynomial, Why> {
        let mut cleared = side.clone();
        for atom in symbols(side) {
            let powers = cleared.powers().filter(|power| power.atom == atom && power.exponent.over < 0);
            if let Some(lowest) = powers.map(|power| power.exponent.floor()).min() {
                let by = Exponent { over: lowest.checked_neg().ok_or(Why::TooLarge)?, under: 1 };
                cleared = self.times(&cleared, &Polynomial::power(atom, by))?;
            }
        }
        Ok(cleared)
    }
}

fn symbols(side: &Polynomial) -> Vec<AtomId> {
    let mut symbols: Vec<_> = side.powers().map(|power| power.atom).collect();
    symbols.sort();
    symbols.dedup();
    symbols
}

/// The total degree, of which a root counts nothing.
fn degree(side: &Polynomial) -> i32 {
    let degrees = side.terms().iter().map(|term| term.monomial.0.iter().map(|power| power.exponent.floor()).sum());
    degrees.max().unwrap_or(0)
}
