//! Two answers compared: which form leads, which values are equal.
//!
//! The comparison is symmetric under our rules. Elements of lists and sets are matched in any order, members of tuples in theirs.

use super::algebra::Algebra;
use super::decision::{Budget, Rules, Verdict, Why};
use super::ratio::Ratio;
use super::reader::Reader;
use super::token::{Commas, tokens};
use super::tree::Expr;
use super::value::{Interval, Item, Limit, Region, Relation, Value};

/// Decides whether `answer` is the value that `gold` is.
///
/// Both are LaTeX or plain text, in dollars or without, of at most 4 KiB. The decision is the same on every machine: steps
/// are counted, and functions of the numeric comparison are `libm`'s. The decisions are math-verify's
/// (0.9.0, `verify`), but for the differences that [`Rules`] names.
pub fn equal(gold: &str, answer: &str, rules: Rules) -> Verdict {
    compare(gold, answer, rules).into()
}

fn compare(gold: &str, answer: &str, rules: Rules) -> Result<Verdict, Why> {
    Budget::check_length(gold)?;
    Budget::check_length(answer)?;
    let mut algebra = Algebra::new();
    let values = [gold, answer].map(|text| read(text, Commas::Thousands, rules, &mut algebra));
    let (mut one, mut other) = match values {
        [Ok(one), Ok(other)] => (one, other),
        [Err(Why::Unread | Why::Undefined), Err(_)] if !gold.is_empty() && bare(gold) == bare(answer) => {
            return Ok(Verdict::Equal);
        }
        [Err(why), _] if why != Why::Unread => return Err(why),
        [_, Err(why)] | [Err(why), _] => return Err(why),
    };
    // A comma between digits belongs to a list where the other side is one.
    if one.is_collection() && !other.is_collection() {
        other = read(answer, Commas::Lists, rules, &mut algebra)?;
    } else if other.is_collection() && !one.is_collection() {
        one = read(gold, Commas::Lists, rules, &mut algebra)?;
    }
    algebra.budget.return_to(0);
    Comparison { algebra: &mut algebra, rules }.values(&one, &other)
}

fn read(text: &str, commas: Commas, rules: Rules, algebra: &mut Algebra) -> Result<Value, Why> {
    algebra.budget.return_to(0);
    let tokens = tokens(text, commas, rules, &mut algebra.budget)?;
    Reader { algebra, rules }.answer(&tokens)
}

/// A text that is not read, without what shows nothing.
fn bare(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace() && *letter != '$').collect()
}

impl Value {
    fn is_collection(&self) -> bool {
        match self {
            Self::List { .. } => true,
            Self::Set(values) | Self::Tuple(values) => values.len() > 1,
            Self::Region(region) => region.pieces.len() == 1,
            _ => false,
        }
    }

    fn has_relation(&self) -> bool {
        match self {
            Self::Relation(_) => true,
            Self::List { values, .. } => values.iter().any(Self::has_relation),
            _ => false,
        }
    }

    fn letters(&self) -> Option<&str> {
        match self {
            Self::Text(words) => Some(words),
            Self::Item(item) => item.letters.as_deref(),
            _ => None,
        }
    }
}

struct Comparison<'a> {
    algebra: &'a mut Algebra,
    rules: Rules,
}

impl Comparison<'_> {
    fn values(&mut self, gold: &Value, answer: &Value) -> Result<Verdict, Why> {
        self.algebra.budget.spend(1)?;
        match (gold, answer) {
            (Value::Item(one), Value::Item(other)) => self.items(one, other),
            (Value::Text(_), _) | (_, Value::Text(_)) if gold.letters().is_some() && answer.letters().is_some() => {
                Ok(Verdict::exact(gold.letters() == answer.letters()))
            }
            (Value::Infinite { negative }, Value::Infinite { negative: other }) => {
                Ok(Verdict::exact(negative == other))
            }
            (Value::Named(name, _), Value::Named(other, _)) if name != other => Ok(Verdict::Unequal),
            (Value::Named(_, one), Value::Named(_, other)) => self.values(one, other),
            (Value::Named(_, value), other) => self.values(value, other),
            (other, Value::Named(_, value)) => self.values(other, value),
            (Value::Relation(one), Value::Relation(other)) => self.relations(one, other),
            (Value::Matrix(one), Value::Matrix(other)) if one.has_shape_of(other) => {
                let mut decisions = Vec::new();
                for (one, other) in one.cells().zip(other.cells()) {
                    decisions.push(self.values(one, other)?);
                }
                Ok(Verdict::together(decisions))
            }
            (Value::Relation(relation), _) => self.relation_and_value(relation, gold, answer, answer),
            (_, Value::Relation(relation)) => self.relation_and_value(relation, gold, answer, gold),
            _ => self.collections(gold, answer),
        }
    }

    fn collections(&mut self, gold: &Value, answer: &Value) -> Result<Verdict, Why> {
        match (gold, answer) {
            (Value::List { values: one, .. }, Value::List { values: other, .. }) if self.rules == Rules::Ours => {
                self.lists(one, other)
            }
            (
                Value::List { values: one, .. } | Value::Set(one),
                Value::List { values: other, .. } | Value::Set(other),
            ) => self.sets(one, other),
            (Value::Tuple(one), Value::Tuple(other) | Value::List { values: other, .. } | Value::Set(other))
            | (Value::List { values: one, .. } | Value::Set(one), Value::Tuple(other)) => self.tuples(one, other),
            (Value::Region(_), _) | (_, Value::Region(_)) => {
                let has_relation = gold.has_relation() || answer.has_relation();
                match (Region::from_value(gold), Region::from_value(answer)) {
                    _ if has_relation && self.rules == Rules::Peer => Ok(Verdict::Unequal),
                    (Some(one), Some(other)) => self.regions(&one, &other),
                    _ if has_relation => Err(Why::Unsettled),
                    _ => Ok(Verdict::Unequal),
                }
            }
            (Value::Set(values), other) if values.len() == 1 => self.values(&values[0], other),
            (other, Value::Set(values)) if values.len() == 1 => self.values(other, &values[0]),
            _ => Ok(Verdict::Unequal),
        }
    }

    fn tuples(&mut self, one: &[Value], other: &[Value]) -> Result<Verdict, Why> {
        if one.len() != other.len() {
            return Ok(Verdict::Unequal);
        }
        let mut decisions = Vec::new();
        for (one, other) in one.iter().zip(other) {
            decisions.push(self.values(one, other)?);
        }
        Ok(Verdict::together(decisions))
    }

    /// Each member of either has an equal one of its own in the other: `1, 1, 2` is not `1, 2, 2`.
    fn lists(&mut self, one: &[Value], other: &[Value]) -> Result<Verdict, Why> {
        if one.len() != other.len() {
            return Ok(Verdict::Unequal);
        }
        let mut free: Vec<&Value> = other.iter().collect();
        let mut decisions = Vec::new();
        for member in one {
            let mut best = Verdict::Unequal;
            for at in 0..free.len() {
                let decision = self.values(member, free[at])?;
                best = Verdict::best([best, decision]);
                if decision.is_equal() {
                    free.swap_remove(at);
                    break;
                }
            }
            decisions.push(best);
        }
        Ok(Verdict::together(decisions))
    }

    /// Each member of either has an equal one in the other.
    fn sets(&mut self, one: &[Value], other: &[Value]) -> Result<Verdict, Why> {
        let mut decisions = Vec::new();
        let mut columns = vec![Verdict::Unequal; other.len()];
        for member in one {
            let mut row = Verdict::Unequal;
            for (at, candidate) in other.iter().enumerate() {
                let decision = self.values(member, candidate)?;
                row = Verdict::best([row, decision]);
                columns[at] = Verdict::best([columns[at], decision]);
            }
            decisions.push(row);
        }
        Ok(Verdict::together(decisions.into_iter().chain(columns)))
    }

    fn regions(&mut self, one: &Region, other: &Region) -> Result<Verdict, Why> {
        if one.pieces.len() != other.pieces.len() {
            return Ok(Verdict::Unequal);
        }
        let mut decisions = Vec::new();
        for (at, piece) in one.pieces.iter().enumerate() {
            // Pieces whose ends have symbols stand in any order.
            let same = if one.is_sorted() && other.is_sorted() { &other.pieces[at..=at] } else { &other.pieces[..] };
            let mut best = Verdict::Unequal;
            for candidate in same {
                best = Verdict::best([best, self.intervals(piece, candidate)?]);
            }
            decisions.push(best);
        }
        Ok(Verdict::together(decisions))
    }

    fn intervals(&mut self, one: &Interval, other: &Interval) -> Result<Verdict, Why> {
        let mut decisions = Vec::new();
        for (one, other) in [(&one.low, &other.low), (&one.high, &other.high)] {
            decisions.push(Verdict::exact(one.closed == other.closed));
            decisions.push(match (&one.limit, &other.limit) {
                (Limit::At(one), Limit::At(other)) => self.items(one, other)?,
                (Limit::Below, Limit::Below) | (Limit::Above, Limit::Above) => Verdict::Equal,
                _ => Verdict::Unequal,
            });
        }
        Ok(Verdict::together(decisions))
    }

    fn relations(&mut self, gold: &Relation, answer: &Relation) -> Result<Verdict, Why> {
        if let (Some(one), Some(other)) = (gold.assigned(), answer.assigned())
            && gold.name() == answer.name()
        {
            return self.items(one, other);
        }
        if self.rules == Rules::Ours && !gold.is_equation() && !answer.is_equation() {
            let (one, other) = (gold.solved(self.algebra)?, answer.solved(self.algebra)?);
            if let (Some(one), Some(other)) = (one.region(), other.region()) {
                if one.symbol != other.symbol {
                    return Ok(Verdict::Unequal);
                }
                return self.regions(&one.region, &other.region);
            }
        }
        gold.compare(answer, self.rules, self.algebra)
    }

    /// `x =` goes where the other side has none; inequalities are the places at which they hold.
    fn relation_and_value(
        &mut self,
        relation: &Relation,
        gold: &Value,
        answer: &Value,
        other: &Value,
    ) -> Result<Verdict, Why> {
        if let Some(assigned) = relation.assigned() {
            let assigned = Value::Item(Box::new(assigned.clone()));
            return if std::ptr::eq(other, answer) {
                self.values(&assigned, answer)
            } else {
                self.values(gold, &assigned)
            };
        }
        let is_region = matches!(other, Value::Region(_) | Value::Tuple(_) | Value::List { .. } | Value::Set(_));
        let is_refused = self.rules == Rules::Peer && (std::ptr::eq(other, gold) || other.has_relation());
        if self.rules == Rules::Ours
            && let Some([first, last]) = relation.ends_of_calculation()
        {
            let [first, last] = [first, last].map(|side| Value::Item(Box::new(side.clone())));
            return Ok(Verdict::best([self.values(&first, other)?, self.values(&last, other)?]));
        }
        if relation.is_equation() || !is_region || is_refused {
            return Ok(Verdict::Unequal);
        }
        match (relation.solved(self.algebra)?.region(), Region::from_value(other)) {
            (Some(solved), Some(region)) => self.regions(&solved.region, &region),
            (None, Some(_)) => Err(Why::Unsettled),
            _ => Ok(Verdict::Unequal),
        }
    }

    fn items(&mut self, gold: &Item, answer: &Item) -> Result<Verdict, Why> {
        if let (Some(base), Some(other)) = (gold.base, answer.base)
            && base != other
            && self.rules == Rules::Ours
        {
            let (one, other) = (in_base(gold, base), in_base(answer, other));
            return Ok(Verdict::exact(one.is_some() && one == other));
        }
        if let (Some(unit), Some(other)) = (&gold.unit, &answer.unit)
            && unit != other
            && self.rules == Rules::Ours
        {
            return Ok(Verdict::Unequal);
        }
        if gold.percent == answer.percent {
            let as_written = self.numbers(gold, answer)?;
            let (degrees, other) = if gold.unit.is_some() { (gold, answer) } else { (answer, gold) };
            let may_be_radians = degrees.unit.as_deref() == Some("degree") && other.unit.is_none();
            if as_written != Verdict::Unequal || !may_be_radians || self.rules == Rules::Peer {
                return Ok(as_written);
            }
            let radians = Item::new(degrees.expr.clone().times(Expr::Degree), self.algebra)?;
            return self.numbers(&radians, other);
        }
        let (part, plain) = if gold.percent { (gold, answer) } else { (answer, gold) };
        let as_part = Item::new(Expr::Percent(Box::new(part.expr.clone())), self.algebra)?;
        let as_part = self.numbers(&Item { decimal: part.decimal, ..as_part }, plain)?;
        let is_whole = |item: &Item| !item.decimal && item.normal.as_number().is_some_and(|number| number.is_whole());
        if self.rules == Rules::Peer && !(is_whole(part) && is_whole(plain)) {
            return Ok(as_part);
        }
        Ok(Verdict::best([as_part, self.numbers(part, plain)?]))
    }

    /// Numbers and formulas: exact, then to the digits that a decimal gives, then at points.
    fn numbers(&mut self, gold: &Item, answer: &Item) -> Result<Verdict, Why> {
        if gold.normal == answer.normal {
            return Ok(Verdict::Equal);
        }
        let is_rounded = gold.decimal || answer.decimal;
        if let (Some(one), Some(other)) = (gold.normal.as_number(), answer.normal.as_number()) {
            let is_close = is_rounded && self.is_close(&one, &other)?;
            return Ok(if is_close { Verdict::EqualNumerically } else { Verdict::Unequal });
        }
        let difference = self.algebra.difference(&gold.normal, &answer.normal)?;
        if self.algebra.is_zero(&difference)? {
            return Ok(Verdict::Equal);
        }
        if is_rounded && is_close_to_decimal(gold, answer) {
            return Ok(Verdict::EqualNumerically);
        }
        if self.algebra.is_independent(&difference) {
            return Ok(Verdict::Unequal);
        }
        self.algebra.compare_at_points(&gold.normal, &answer.normal)
    }

    /// Fractions that round to the same six decimals; a whole number is exact. Under our rules they also differ by no more
    /// than a thousandth.
    fn is_close(&self, one: &Ratio, other: &Ratio) -> Result<bool, Why> {
        if one.is_whole() || other.is_whole() {
            return Ok(false);
        }
        let rounded = |number: &Ratio| -> Result<_, Why> {
            let half = Ratio::new(1.into(), 2.into())?;
            Ok(number.times(&Ratio::whole(1_000_000))?.plus(&half)?.floor())
        };
        if rounded(one)? != rounded(other)? {
            return Ok(false);
        }
        let difference = one.plus(&other.negated())?.magnitude().times(&Ratio::whole(1000))?;
        Ok(self.rules == Rules::Peer || difference.compared(&one.magnitude()).is_le())
    }
}

/// A real constant beside a decimal of six digits or more behind the point.
fn is_close_to_decimal(one: &Item, other: &Item) -> bool {
    let (Some(one), Some(other)) = (one.place, other.place) else { return false };
    let rounded = |value: f64| libm::floor(value * 1e6 + 0.5);
    let is_whole = one == one.trunc() || other == other.trunc();
    !is_whole && rounded(one) == rounded(other) && (one - other).abs() * 1000.0 <= one.abs()
}

/// The value of digits in a base; none where a digit is too great for it.
fn in_base(item: &Item, base: u32) -> Option<num_bigint::BigInt> {
    let digits = item.normal.as_number().filter(Ratio::is_whole)?.over().to_string();
    num_bigint::BigInt::parse_bytes(digits.as_bytes(), base)
}
