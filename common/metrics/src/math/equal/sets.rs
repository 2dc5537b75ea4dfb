//! Regions of the real line: unions of intervals.
//!
//! A region is sorted, and pieces that touch are one, where all ends are numbers. With symbols in its ends it stays as written.

use super::relation::Solved;
use super::value::{End, Interval, Item, Limit, Region, Value};
use std::cmp::Ordering;

impl Limit {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Infinite { negative: true } => Some(Self::Below),
            Value::Infinite { negative: false } => Some(Self::Above),
            Value::Item(item) => Some(Self::At(item.clone())),
            _ => None,
        }
    }

    /// The place on the line; none where it has symbols or is not real.
    fn place(&self) -> Option<f64> {
        match self {
            Self::Below => Some(f64::NEG_INFINITY),
            Self::Above => Some(f64::INFINITY),
            Self::At(item) => item.place,
        }
    }

    /// The order of two places; two within rounding are one.
    fn compared(&self, other: &Self) -> Option<Ordering> {
        if let (Self::At(own), Self::At(theirs)) = (self, other)
            && let (Some(own), Some(theirs)) = (own.normal.as_number(), theirs.normal.as_number())
        {
            return Some(own.compared(&theirs));
        }
        let (own, theirs) = (self.place()?, other.place()?);
        let near = 1e-12 * own.abs().max(theirs.abs());
        let is_same = own == theirs || (near.is_finite() && (own - theirs).abs() <= near);
        if is_same { Some(Ordering::Equal) } else { own.partial_cmp(&theirs) }
    }
}

impl End {
    fn flipped(&self) -> Self {
        Self { closed: !self.closed, limit: self.limit.clone() }
    }

    fn open(limit: Limit) -> Self {
        Self { limit, closed: false }
    }

    fn is_infinite(&self) -> bool {
        !matches!(self.limit, Limit::At(_))
    }
}

impl Interval {
    fn is_empty(&self) -> bool {
        match self.low.limit.compared(&self.high.limit) {
            Some(Ordering::Greater) => true,
            Some(Ordering::Equal) => !(self.low.closed && self.high.closed),
            _ => false,
        }
    }
}

impl Region {
    pub(super) fn everything() -> Self {
        Self { pieces: vec![Interval { low: End::open(Limit::Below), high: End::open(Limit::Above) }] }
    }

    /// An interval from its two ends; none where an end is no place.
    pub(super) fn interval(ends: &[Value], closed: [bool; 2]) -> Option<Self> {
        let [low, high] = ends else { return None };
        let mut low = End { limit: Limit::from_value(low)?, closed: closed[0] };
        let mut high = End { limit: Limit::from_value(high)?, closed: closed[1] };
        low.closed &= !low.is_infinite();
        high.closed &= !high.is_infinite();
        Some(Self { pieces: vec![Interval { low, high }] }.sorted())
    }

    pub(super) fn point(item: &Item) -> Self {
        let end = End { limit: Limit::At(Box::new(item.clone())), closed: true };
        Self { pieces: vec![Interval { low: end.clone(), high: end }] }
    }

    /// The places before or behind an item.
    pub(super) fn half_line(item: &Item, is_before: bool, closed: bool) -> Self {
        let end = End { limit: Limit::At(Box::new(item.clone())), closed };
        let piece = if is_before {
            Interval { low: End::open(Limit::Below), high: end }
        } else {
            Interval { low: end, high: End::open(Limit::Above) }
        };
        Self { pieces: vec![piece] }
    }

    /// The region that a value is: a region, two in round brackets, a set of numbers, a list of these.
    pub(super) fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Region(region) => Some(region.clone()),
            Value::Tuple(ends) => Self::interval(ends, [false, false]),
            Value::Set(members) => {
                let points = members.iter().map(|member| match member {
                    Value::Item(item) => Some(Self::point(item)),
                    _ => None,
                });
                points.collect::<Option<Vec<_>>>().map(Self::joined)
            }
            Value::List { values, alternatives } => {
                let solved = values.iter().map(|value| match value {
                    Value::Relation(relation) => relation.region(),
                    _ => None,
                });
                if let Some(conditions) = solved.collect::<Option<Vec<_>>>() {
                    return Self::conditions(conditions, *alternatives);
                }
                let regions = values.iter().map(|value| match value {
                    Value::Item(_) | Value::Relation(_) => None,
                    value => Self::from_value(value),
                });
                regions.collect::<Option<Vec<_>>>().map(Self::joined)
            }
            Value::Relation(relation) => relation.region().map(|solved| solved.region),
            _ => None,
        }
    }

    /// The places at which all conditions of one symbol hold, or one of the alternatives; none where no place is left.
    fn conditions(conditions: Vec<Solved>, alternatives: bool) -> Option<Self> {
        let symbol = conditions.first()?.symbol.clone();
        let regions: Option<Vec<Self>> =
            conditions.into_iter().map(|solved| (solved.symbol == symbol).then_some(solved.region)).collect();
        let region = if alternatives {
            Self::joined(regions?)
        } else {
            regions?.into_iter().reduce(|left, right| left.intersection(&right))?
        };
        (!region.pieces.is_empty()).then_some(region)
    }

    fn joined(regions: Vec<Self>) -> Self {
        Self { pieces: regions.into_iter().flat_map(|region| region.pieces).collect() }.sorted()
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self::joined(vec![self, other])
    }

    pub(super) fn intersection(&self, other: &Self) -> Self {
        let mut pieces = Vec::new();
        for one in &self.pieces {
            for two in &other.pieces {
                let low = later(&one.low, &two.low, Ordering::Greater);
                let high = later(&one.high, &two.high, Ordering::Less);
                pieces.push(Interval { low: low.clone(), high: high.clone() });
            }
        }
        Self { pieces }.sorted()
    }

    pub(super) fn complement(&self) -> Self {
        self.pieces.iter().fold(Self::everything(), |rest, piece| {
            let before = Interval { low: End::open(Limit::Below), high: piece.low.flipped() };
            let behind = Interval { low: piece.high.flipped(), high: End::open(Limit::Above) };
            let outside = [before, behind]
                .into_iter()
                .filter(|piece| !matches!(piece.high.limit, Limit::Below) && !matches!(piece.low.limit, Limit::Above));
            rest.intersection(&Self { pieces: outside.collect() })
        })
    }

    /// Returns `true` if all ends are numbers, so that pieces have an order.
    pub(super) fn is_sorted(&self) -> bool {
        let is_placed = |end: &End| end.limit.place().is_some();
        self.pieces.iter().all(|piece| is_placed(&piece.low) && is_placed(&piece.high))
    }

    /// Empty pieces are dropped, the others sorted, those that touch joined; left as it is where an end has symbols.
    fn sorted(self) -> Self {
        if !self.is_sorted() {
            return self;
        }
        let mut pieces: Vec<Interval> = self.pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
        pieces.sort_by(|a, b| {
            let order = a.low.limit.compared(&b.low.limit).unwrap_or(Ordering::Equal);
            order.then(b.low.closed.cmp(&a.low.closed))
        });
        let mut joined: Vec<Interval> = Vec::new();
        for piece in pieces {
            let Some(last) = joined.last_mut() else {
                joined.push(piece);
                continue;
            };
            let touches = match last.high.limit.compared(&piece.low.limit) {
                Some(Ordering::Greater) => true,
                Some(Ordering::Equal) => last.high.closed || piece.low.closed,
                _ => false,
            };
            if !touches {
                joined.push(piece);
                continue;
            }
            match last.high.limit.compared(&piece.high.limit) {
                Some(Ordering::Less) => last.high = piece.high,
                Some(Ordering::Equal) => last.high.closed |= piece.high.closed,
                _ => {}
            }
        }
        Self { pieces: joined }
    }
}

/// The end that cuts off more: the greater of two lower ends, the lesser of two upper ones; at one place the open one.
fn later<'e>(one: &'e End, two: &'e End, wanted: Ordering) -> &'e End {
    match one.limit.compared(&two.limit) {
        Some(Ordering::Equal) | None => {
            if one.closed {
                two
            } else {
                one
            }
        }
        Some(order) if order == wanted => one,
        Some(_) => two,
    }
}
