//! Test that a quantity stays flat: the mean of its second tenth of the time against that of its last.

/// A quantity that is measured again and again, with what it may grow by.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    name: &'static str,
    unit: &'static str,
    /// Growth that counts as none: a share of the second tenth's mean, and an amount beside it.
    share: f64,
    amount: f64,
    /// Values, each with the tenth that it was measured in.
    values: Vec<(usize, f64)>,
}

/// Tenths of the time.
pub(crate) const TENTHS: usize = 10;

impl Series {
    pub(crate) fn new(name: &'static str, unit: &'static str, share: f64, amount: f64) -> Self {
        Self { name, unit, share, amount, values: Vec::new() }
    }

    pub(crate) fn add(&mut self, tenth: usize, value: f64) {
        self.values.push((tenth, value));
    }

    fn mean(&self, tenth: usize) -> f64 {
        let of_it: Vec<f64> = self.values.iter().filter(|(at, _)| *at == tenth).map(|(_, value)| *value).collect();
        of_it.iter().sum::<f64>() / of_it.len() as f64
    }

    /// Returns whether it stays flat; without values in either tenth it does not.
    pub(crate) fn is_flat(&self) -> bool {
        let (early, late) = (self.mean(1), self.mean(TENTHS - 1));
        late <= early * (1.0 + self.share) + self.amount
    }

    /// A row of the table: name, first and last value, the two means, what is allowed, the outcome.
    pub(crate) fn row(&self) -> [String; 7] {
        let (early, late) = (self.mean(1), self.mean(TENTHS - 1));
        let one = |value: Option<&(usize, f64)>| value.map_or("-".into(), |(_, value)| format!("{value:.1}"));
        let allowed = early * (1.0 + self.share) + self.amount;
        [
            format!("{}, {}", self.name, self.unit),
            one(self.values.first()),
            one(self.values.last()),
            format!("{early:.1}"),
            format!("{late:.1}"),
            format!("{allowed:.1}"),
            if self.is_flat() { "flat".into() } else { "GROWS".into() },
        ]
    }
}
