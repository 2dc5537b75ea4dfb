//! Counts of how often each class is gold, predicted and both, and what scikit-learn makes of them: Matthews's correlation, F1,
//! accuracy.

use std::collections::BTreeMap;

/// The gold and the predicted class of every sample, as numbers in the order of the classes' names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Classes {
    /// Gold, predicted.
    pairs: Vec<(usize, usize)>,
    /// The classes that occur on either side, in order.
    names: Vec<String>,
}

impl Classes {
    /// The classes of samples, `(gold, predicted)` each.
    pub fn new(samples: &[(&str, &str)]) -> Self {
        let mut numbers: BTreeMap<&str, usize> =
            samples.iter().flat_map(|&(gold, predicted)| [gold, predicted]).map(|name| (name, 0)).collect();
        numbers.values_mut().enumerate().for_each(|(at, number)| *number = at);
        let pairs = samples.iter().map(|(gold, predicted)| (numbers[gold], numbers[predicted])).collect();
        Self { pairs, names: numbers.into_keys().map(str::to_owned).collect() }
    }

    /// The number of the class of this name; `None` where it occurs on neither side.
    pub fn number(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|other| other == name)
    }

    /// Adds up all samples.
    pub fn totals(&self) -> ClassTotals {
        self.totals_of(0..self.pairs.len())
    }

    /// Adds up the samples at these places; one may be there more than once.
    pub fn totals_of(&self, samples: impl IntoIterator<Item = usize>) -> ClassTotals {
        let mut totals = ClassTotals { classes: vec![ClassTotal::default(); self.names.len()] };
        for at in samples {
            let (gold, predicted) = self.pairs[at];
            totals.classes[gold].gold += 1;
            totals.classes[predicted].predicted += 1;
            totals.classes[gold].correct += u64::from(gold == predicted);
        }
        totals
    }
}

/// The margins and the diagonal of a confusion matrix; no metric here needs more of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassTotals {
    /// In the order of the classes' names.
    classes: Vec<ClassTotal>,
}

/// Counts of how often a class is gold, predicted, and both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ClassTotal {
    gold: u64,
    predicted: u64,
    correct: u64,
}

impl ClassTotal {
    fn f1(self) -> f64 {
        let both = self.gold + self.predicted;
        if both == 0 { 0.0 } else { 2.0 * self.correct as f64 / both as f64 }
    }
}

impl ClassTotals {
    /// `accuracy_score`; NaN without samples.
    pub fn accuracy(&self) -> f64 {
        self.correct() as f64 / self.samples() as f64
    }

    /// `matthews_corrcoef` for any number of classes (Gorodkin 2004), in -1..=1; 0 when either side has one class only.
    pub fn matthews_correlation(&self) -> f64 {
        let samples = self.samples() as f64;
        let dot = |a: fn(&ClassTotal) -> u64, b: fn(&ClassTotal) -> u64| {
            self.classes.iter().map(|class| a(class) as f64 * b(class) as f64).sum::<f64>()
        };
        let (gold, predicted) = (|class: &ClassTotal| class.gold, |class: &ClassTotal| class.predicted);
        let covariance = self.correct() as f64 * samples - dot(gold, predicted);
        let spread = (samples * samples - dot(predicted, predicted)) * (samples * samples - dot(gold, gold));
        if spread == 0.0 { 0.0 } else { covariance / spread.sqrt() }
    }

    /// `f1_score(average="binary")` of the class with this number against all others; 0 where it is undefined.
    pub fn f1(&self, class: usize) -> f64 {
        self.classes[class].f1()
    }

    /// `f1_score(average="macro")`: the plain mean over all classes that occur on either side.
    pub fn macro_f1(&self) -> f64 {
        let occurring = self.classes.iter().filter(|class| class.gold + class.predicted > 0);
        occurring.clone().map(|class| class.f1()).sum::<f64>() / occurring.count() as f64
    }

    /// `f1_score(average="weighted")`: the mean over classes weighted by how often they are gold.
    pub fn weighted_f1(&self) -> f64 {
        self.classes.iter().map(|class| class.f1() * class.gold as f64).sum::<f64>() / self.samples() as f64
    }

    /// `f1_score(average="micro")`: over all decisions; with one class per sample it is the accuracy.
    pub fn micro_f1(&self) -> f64 {
        self.accuracy()
    }

    fn samples(&self) -> u64 {
        self.classes.iter().map(|class| class.gold).sum()
    }

    fn correct(&self) -> u64 {
        self.classes.iter().map(|class| class.correct).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quadratic number of steps would take hours here.
    #[test]
    fn as_many_classes_as_samples() {
        let names: Vec<String> = (0..200_000).map(|at| format!("class {at}")).collect();
        let pairs: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), name.as_str())).collect();
        let totals = Classes::new(&pairs).totals();
        assert_eq!([totals.matthews_correlation(), totals.macro_f1(), totals.accuracy()], [1.0; 3]);
    }

    #[test]
    fn a_class_that_was_not_drawn_is_not_averaged() {
        let classes = Classes::new(&[("a", "a"), ("b", "a")]);
        assert_eq!(classes.totals_of([0, 0]).macro_f1(), 1.0);
        assert_eq!(classes.totals().macro_f1(), (2.0 / 3.0) / 2.0);
    }
}
