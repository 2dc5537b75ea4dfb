//! One metric of two runs over their pairs: the difference with its error, interval and test.

use super::clusters::Clusters;
use super::corpus::{has_value, statistic};
use super::observed::Hit;
use super::reach::{NO_SPREAD, Reach};
use super::values::{Answers, Form, Values};
use compass_eval::evaluator::Aggregation;
use compass_stats::{
    Interval, MeanDifference, SignFlip, bootstrap, cluster_sums, clustered_mean, detectable_difference,
    detectable_share, mcnemar, normal_quantile, paired_mean, percentile_interval, sign_flip, tango, tango_of_shares,
    two_sided_t, two_sided_z,
};

/// Chance of finding the smallest difference that is called detectable.
pub const POWER: f64 = 0.8;
/// Resamples of the bootstrap, ...
const RESAMPLES: usize = 10_000;
/// ... of which fewer are drawn where more samples than this would be looked at in all.
const MOST_DRAWS: usize = 400_000_000;
const LEAST_RESAMPLES: usize = 1_000;

/// A difference of two runs, second minus first (times the scale of the setting), in the metric's unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Pairs that have a value in both runs.
    pub pairs: u64,
    /// Pairs that have none in the first run, in the second.
    pub unscored: (u64, u64),
    /// Pairs that have none in at least one of them.
    pub left_out: u64,
    pub a: f64,
    pub b: f64,
    pub difference: f64,
    pub stderr: f64,
    pub interval: Interval,
    /// Two-sided, of no difference.
    pub p: f64,
    pub method: Method,
    /// Range that the interval may reach whatever the answers without a score would have been, the interval itself included; `None`
    /// where the values have no bounds.
    pub bounds: Option<Interval>,
    /// The smallest difference that would be found with [`POWER`]; `None` where nothing would be.
    pub detectable: Option<f64>,
    /// The variance of the difference, the square of its standard error, in two parts: among questions, and among answers to one
    /// question.
    pub variance: Option<(f64, f64)>,
    pub clusters: Option<usize>,
    /// Ways in which the interval is made: the widest of these.
    pub(crate) reach: Vec<Reach>,
}

/// Test of a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// McNemar's exact test and Tango's interval.
    McNemar { gained: u64, lost: u64, mid_p: f64 },
    /// The sign-flip permutation and the t interval; over clusters where there are some.
    SignFlip { flips: SignFlip, t_p: f64 },
    /// The paired bootstrap.
    Bootstrap { resamples: usize },
    /// The normal distribution, of a number made of several.
    Normal,
}

/// Facts that hold for all metrics of two units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting<'a> {
    pub pairs: &'a [(u32, u32)],
    pub clusters: Option<&'a Clusters>,
    pub confidence: f64,
    pub seed: u64,
    /// The share of the first run's number by which the second may be worse, negative where less is better: differences are
    /// taken from what it leaves. 0 but for a relative margin.
    pub relative: f64,
}

impl Setting<'_> {
    pub(crate) fn z(&self) -> f64 {
        two_sided_z(self.confidence)
    }

    /// Returns the factor that the first run's values are multiplied by before they are taken off, where its number is `a`: a
    /// share of a negative number is one of its size.
    fn scale(&self, a: f64) -> f64 {
        if a < 0.0 { 1.0 + self.relative } else { 1.0 - self.relative }
    }

    /// Returns the clusters of these places among the pairs.
    fn clusters_at(&self, places: &[u32]) -> Option<Clusters> {
        self.clusters.map(|clusters| clusters.at(places))
    }
}

/// The normal quantile of [`POWER`].
pub(crate) fn power_z() -> f64 {
    normal_quantile(POWER)
}

/// Compares a metric.
///
/// # Errors
/// Reason that it cannot be compared, in words.
pub(crate) fn estimate(a: &Values<'_>, b: &Values<'_>, setting: Setting<'_>) -> Result<Estimate, &'static str> {
    match (&a.form, &b.form) {
        (Form::None(why), _) | (_, Form::None(why)) => Err(why),
        (Form::Hits(one), Form::Hits(other)) if setting.relative != 0.0 => {
            let values = |hits: &[Hit]| hits.iter().map(|hit| value(*hit)).collect::<Vec<f64>>();
            let found = scores(&values(one), &values(other), None, a.factor, setting)?;
            let plain = hits(one, other, Setting { relative: 0.0, ..setting })?;
            // What is left of the first run's number varies, and says nothing of pairs that would be discordant.
            let found = match plain.stderr > NO_SPREAD {
                true => found,
                false => found.widened(plain.interval.shifted(setting.relative * plain.a), plain.reach),
            };
            Ok(found.scaled(a.factor))
        }
        (Form::Hits(one), Form::Hits(other)) => hits(one, other, setting).map(|found| found.scaled(a.factor)),
        (Form::Scores { values: one, answers: first }, Form::Scores { values: other, answers: second }) => {
            let answers = first.zip(*second);
            scores(one, other, answers, a.factor, setting).map(|found| found.scaled(a.factor))
        }
        (Form::Corpus { .. }, Form::Corpus { .. }) => corpus(&a.form, &b.form, setting),
        _ => Err("the two runs compute it differently"),
    }
}

/// As a score.
fn value(hit: Hit) -> f64 {
    match hit {
        Hit::Right => 1.0,
        Hit::Wrong => 0.0,
        Hit::None => f64::NAN,
    }
}

const NOTHING: &str = "no pair has a value in both runs";

fn hits(a: &[Hit], b: &[Hit], setting: Setting<'_>) -> Result<Estimate, &'static str> {
    let both: Vec<(Hit, Hit)> = setting.pairs.iter().map(|&(i, j)| (a[i as usize], b[j as usize])).collect();
    let scored = |&(one, other): &(Hit, Hit)| one != Hit::None && other != Hit::None;
    let unscored = (count(&both, |pair| pair.0 == Hit::None), count(&both, |pair| pair.1 == Hit::None));
    let places = places(&both, scored);
    let n = places.len() as u64;
    if n == 0 {
        return Err(NOTHING);
    }
    let at = |places: &[u32]| places.iter().map(|&at| both[at as usize]).collect::<Vec<_>>();
    let observed = at(&places);
    let right = |of: fn(&(Hit, Hit)) -> Hit| count(&observed, |pair| of(pair) == Hit::Right) as f64 / n as f64;
    let tested = test_hits(&observed, &places, setting)?.within(ALL_OR_NOTHING);
    // Every pair, those without a score filled in.
    let filled = |first: Hit, second: Hit| {
        let fill = |&(one, other): &(Hit, Hit)| {
            (if one == Hit::None { first } else { one }, if other == Hit::None { second } else { other })
        };
        let all: Vec<u32> = (0..both.len() as u32).collect();
        test_hits(&both.iter().map(fill).collect::<Vec<_>>(), &all, setting)
    };
    let bounds = match n == both.len() as u64 {
        true => Some(tested.interval),
        false => {
            let (low, high) = (filled(Hit::Right, Hit::Wrong)?, filled(Hit::Wrong, Hit::Right)?);
            let filled = Interval { low: low.interval.low, high: high.interval.high }.within(ALL_OR_NOTHING);
            Some(tested.interval.hull(filled))
        }
    };
    let detectable = match tested.clusters {
        Some(clusters) => detectable(tested.stderr, clusters, Some(1.0), setting),
        None if !can_reject(places.len(), setting) => None,
        None => {
            let discordant = count(&observed, |pair| pair.0 != pair.1) as f64 / n as f64;
            detectable_share(n, discordant, setting.z(), power_z())
        }
    };
    Ok(Estimate {
        pairs: n,
        unscored,
        left_out: both.len() as u64 - n,
        a: right(|pair| pair.0),
        b: right(|pair| pair.1),
        difference: tested.difference,
        stderr: tested.stderr,
        interval: tested.interval,
        p: tested.p,
        method: tested.method,
        bounds,
        detectable,
        variance: None,
        clusters: tested.clusters,
        reach: tested.reach,
    })
}

struct Tested {
    difference: f64,
    stderr: f64,
    interval: Interval,
    p: f64,
    method: Method,
    clusters: Option<usize>,
    reach: Vec<Reach>,
}

/// Pairs that all have values, at these places.
fn test_hits(pairs: &[(Hit, Hit)], places: &[u32], setting: Setting<'_>) -> Result<Tested, &'static str> {
    let n = pairs.len() as u64;
    let gained = count(pairs, |pair| *pair == (Hit::Wrong, Hit::Right));
    let lost = count(pairs, |pair| *pair == (Hit::Right, Hit::Wrong));
    if let Some(clusters) = setting.clusters_at(places) {
        let differences: Vec<f64> = pairs.iter().map(|pair| value(pair.1) - value(pair.0)).collect();
        let found = of_clusters(&differences, &clusters, setting)?;
        return Ok(found.widened_to_hits(gained, lost, n, setting));
    }
    let difference = (gained as f64 - lost as f64) / n as f64;
    let squares = (gained + lost) as f64 - n as f64 * difference * difference;
    let stderr = if n > 1 { (squares.max(0.0) / (n - 1) as f64 / n as f64).sqrt() } else { 0.0 };
    let test = mcnemar(gained, lost);
    let method = Method::McNemar { gained, lost, mid_p: test.mid };
    let interval = tango(gained, lost, n, setting.z());
    let share = |count: u64| count as f64 / n as f64;
    let reach = vec![Reach::Tango { gained: share(gained), lost: share(lost), units: 1.0, scale: 1.0 }];
    Ok(Tested { difference, stderr, interval, p: test.exact, method, clusters: None, reach })
}

/// Fewer discordant pairs than this are too few for the normal limit of McNemar's test, by the usual rule of thumb.
const FEW: u64 = 25;

impl Tested {
    /// The interval of clusters of right and wrong answers. Where few pairs are discordant it is at least that of pairs which are
    /// not clustered: the t interval does not hold there, and clusters tell no more than their pairs do. Where the sums of all
    /// clusters are alike, their robust error is 0, which is no evidence: then Tango's interval as though each cluster was one
    /// pair, which is what holds where all answers of a cluster stand or fall together.
    fn widened_to_hits(self, gained: u64, lost: u64, pairs: u64, setting: Setting<'_>) -> Self {
        if self.stderr > NO_SPREAD && gained + lost >= FEW {
            return self;
        }
        let (gained, lost) = (gained as f64 / pairs as f64, lost as f64 / pairs as f64);
        let units = match (self.stderr > NO_SPREAD, self.clusters) {
            (false, Some(clusters)) => clusters as f64 / pairs as f64,
            _ => 1.0,
        };
        let interval = tango_of_shares(gained, lost, units * pairs as f64, setting.z());
        self.widened(interval, Reach::Tango { gained, lost, units, scale: 1.0 })
    }

    /// The interval of scores between 0 and 1 whose differences are all the same: that of Tango where no pair is discordant,
    /// times how far a single difference could be from them.
    fn widened_to_shares(self, pairs: u64, setting: Setting<'_>) -> Self {
        if self.stderr > NO_SPREAD {
            return self;
        }
        let (units, furthest) =
            (self.clusters.map_or(pairs as f64, |clusters| clusters as f64), 1.0 + self.difference.abs());
        let interval = tango_of_shares(0.0, 0.0, units, setting.z()).scaled(furthest).shifted(self.difference);
        let units = units / pairs as f64;
        self.widened(interval, Reach::Tango { gained: 0.0, lost: 0.0, units, scale: furthest })
    }

    fn widened(mut self, interval: Interval, reach: Reach) -> Self {
        self.interval = self.interval.hull(interval);
        self.reach.push(reach);
        self
    }

    /// No further than a difference can be.
    fn within(self, possible: Interval) -> Self {
        Self { interval: self.interval.within(possible), ..self }
    }
}

/// The differences that two shares can have.
const ALL_OR_NOTHING: Interval = Interval { low: -1.0, high: 1.0 };

const ONE_PAIR: &str = "one pair has no error";
pub(crate) const ONE_CLUSTER: &str = "all its questions are of one cluster, which has no error";

fn of_clusters(differences: &[f64], clusters: &Clusters, setting: Setting<'_>) -> Result<Tested, &'static str> {
    let mean = clustered_mean(differences, &clusters.of, clusters.count).ok_or(ONE_CLUSTER)?;
    let flips = sign_flip(&cluster_sums(differences, &clusters.of, clusters.count), setting.seed);
    Ok(of_mean(mean, flips, differences.len(), Some(clusters.count), setting))
}

fn of_mean(
    mean: MeanDifference,
    flips: SignFlip,
    pairs: usize,
    clusters: Option<usize>,
    setting: Setting<'_>,
) -> Tested {
    let half = two_sided_t(setting.confidence, mean.freedom) * mean.stderr;
    Tested {
        difference: mean.mean,
        stderr: mean.stderr,
        interval: Interval::around(mean.mean, half),
        p: flips.p(),
        method: Method::SignFlip { flips, t_p: mean.p },
        clusters,
        reach: vec![Reach::Student { stderr: mean.stderr, units: clusters.unwrap_or(pairs) as f64 / pairs as f64 }],
    }
}

fn test_scores(differences: &[f64], places: &[u32], setting: Setting<'_>) -> Result<Tested, &'static str> {
    if let Some(clusters) = setting.clusters_at(places) {
        return of_clusters(differences, &clusters, setting);
    }
    let mean = paired_mean(differences).ok_or(ONE_PAIR)?;
    Ok(of_mean(mean, sign_flip(differences, setting.seed), differences.len(), None, setting))
}

fn scores(
    a: &[f64],
    b: &[f64],
    answers: Option<(Answers<'_>, Answers<'_>)>,
    factor: f64,
    setting: Setting<'_>,
) -> Result<Estimate, &'static str> {
    let both: Vec<(f64, f64)> = setting.pairs.iter().map(|&(i, j)| (a[i as usize], b[j as usize])).collect();
    let unscored = (count(&both, |pair| pair.0.is_nan()), count(&both, |pair| pair.1.is_nan()));
    let places = places(&both, |pair| !pair.0.is_nan() && !pair.1.is_nan());
    if places.is_empty() {
        return Err(NOTHING);
    }
    let observed: Vec<(f64, f64)> = places.iter().map(|&at| both[at as usize]).collect();
    let n = observed.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| observed.iter().map(of).sum::<f64>() / n;
    let (a, b) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let scale = setting.scale(a);
    let differences: Vec<f64> = observed.iter().map(|(one, other)| other - scale * one).collect();
    // A share of what is asked lies between 0 and 1; a score in another unit may be anything.
    let in_bounds = |value: f64| value.is_nan() || (0.0..=1.0).contains(&value);
    let is_bounded = factor != 1.0 && both.iter().all(|pair| in_bounds(pair.0) && in_bounds(pair.1));
    let tested = test_scores(&differences, &places, setting)?;
    let possible = Interval { low: -scale, high: 1.0 };
    let tested = match is_bounded {
        true => tested.widened_to_shares(places.len() as u64, setting).within(possible),
        false => tested,
    };
    let bounds = match (observed.len() == both.len(), is_bounded) {
        (true, _) => Some(tested.interval),
        (false, false) => None,
        (false, true) => {
            let filled = |first: f64, second: f64| {
                let fill = |value: f64, with: f64| if value.is_nan() { with } else { value };
                let differences: Vec<f64> =
                    both.iter().map(|pair| fill(pair.1, second) - scale * fill(pair.0, first)).collect();
                let all: Vec<u32> = (0..both.len() as u32).collect();
                test_scores(&differences, &all, setting)
            };
            {
                let (low, high) = (filled(1.0, 0.0)?.interval.low, filled(0.0, 1.0)?.interval.high);
                Some(tested.interval.hull(Interval { low, high }.within(possible)))
            }
        }
    };
    let variance = answers.map(|(first, second)| {
        let of = |place: &u32| {
            let (i, j) = setting.pairs[*place as usize];
            among_answers(first.at(i), second.at(j), scale)
        };
        let whole = tested.stderr * tested.stderr;
        // Both are estimates: the part may come out larger than the whole.
        let answers = (places.iter().map(of).sum::<f64>() / n / n).min(whole);
        (whole - answers, answers)
    });
    Ok(Estimate {
        pairs: observed.len() as u64,
        unscored,
        left_out: (both.len() - observed.len()) as u64,
        a,
        b,
        difference: tested.difference,
        stderr: tested.stderr,
        interval: tested.interval,
        p: tested.p,
        method: tested.method,
        bounds,
        detectable: {
            let units = tested.clusters.unwrap_or(observed.len());
            detectable(tested.stderr, units, is_bounded.then_some(1.0), setting)
        },
        variance,
        clusters: tested.clusters,
        reach: tested.reach,
    })
}

/// The variance of a question's mean difference among its answers: that of the differences of the answers which were drawn one
/// after another, over how many there are. Of runs that draw with the same seeds these answers are not independent, and only
/// their differences have the right variance; of independent ones it is the same to take the answers in any order.
fn among_answers(a: &[f32], b: &[f32], scale: f64) -> f64 {
    let differences: Vec<f64> =
        a.iter().zip(b).map(|(one, other)| f64::from(*other) - scale * f64::from(*one)).collect();
    paired_mean(&differences).map_or(0.0, |found| found.stderr * found.stderr)
}

fn corpus(a: &Form<'_>, b: &Form<'_>, setting: Setting<'_>) -> Result<Estimate, &'static str> {
    let (Form::Corpus { items: one, rule }, Form::Corpus { items: other, rule: second }) = (a, b) else {
        return Err("the two runs compute it differently");
    };
    if rule != second {
        return Err("the two runs compute it differently");
    }
    let valued: Vec<(bool, bool)> =
        setting.pairs.iter().map(|&(i, j)| (has_value(one, i), has_value(other, j))).collect();
    let unscored = (count(&valued, |pair| !pair.0), count(&valued, |pair| !pair.1));
    let places = places(&valued, |pair| pair.0 && pair.1);
    let pairs: Vec<(u32, u32)> = places.iter().map(|&at| setting.pairs[at as usize]).collect();
    if pairs.is_empty() {
        return Err(NOTHING);
    }
    let of = |column, places: Vec<u32>| statistic(rule, column, &places).ok_or("its values cannot be resampled");
    let first = of(one, pairs.iter().map(|pair| pair.0).collect())?;
    let second = of(other, pairs.iter().map(|pair| pair.1).collect())?;
    let all: Vec<u32> = (0..pairs.len() as u32).collect();
    let value = |statistic: &dyn Fn(&[u32]) -> Option<f64>| statistic(&all).filter(|value| value.is_finite());
    let undefined = "it is not defined over these samples";
    let (a, b) = (value(&first).ok_or(undefined)?, value(&second).ok_or(undefined)?);
    let resamples = (MOST_DRAWS / pairs.len()).clamp(LEAST_RESAMPLES, RESAMPLES);
    let clusters = setting.clusters_at(&places);
    let scale = setting.scale(a);
    let difference = |drawn: &[u32]| Some(second(drawn)? - scale * first(drawn)?);
    let drawn = match &clusters {
        None if pairs.len() < 2 => return Err(ONE_PAIR),
        None => bootstrap(pairs.len(), resamples, setting.seed, difference),
        Some(clusters) if clusters.count < 2 => return Err(ONE_CLUSTER),
        Some(clusters) => {
            let mut members = vec![Vec::new(); clusters.count];
            clusters.of.iter().zip(0..).for_each(|(cluster, at)| members[*cluster as usize].push(at));
            let mut samples: Vec<u32> = Vec::new();
            bootstrap(clusters.count, resamples, setting.seed, |drawn| {
                samples.clear();
                drawn.iter().for_each(|cluster| samples.extend(&members[*cluster as usize]));
                difference(&samples)
            })
        }
    };
    let drawn = drawn.ok_or(NOTHING)?;
    let drawn_interval = percentile_interval(&drawn.differences, setting.confidence).ok_or(NOTHING)?;
    let change = b - scale * a;
    let units = clusters.as_ref().map_or(pairs.len(), |clusters| clusters.count);
    let share = units as f64 / pairs.len() as f64;
    let mut reach = vec![Reach::Bootstrap { down: change - drawn_interval.low, up: drawn_interval.high - change }];
    let mut interval = drawn_interval;
    // Draws of a few vary too little: by the bias of a variance, and since they hold no other value than these.
    let stderr = drawn.stderr * (units as f64 / (units - 1) as f64).sqrt();
    if stderr > NO_SPREAD && units < FEW as usize {
        let half = two_sided_t(setting.confidence, (units - 1) as f64) * stderr;
        interval = interval.hull(Interval::around(change, half));
        reach.push(Reach::Student { stderr, units: share });
    }
    // What is the same in every draw tells of no spread.
    if let (true, Some(range)) = (stderr <= NO_SPREAD, range(rule)) {
        let furthest = range + change.abs();
        let nothing_differs = tango_of_shares(0.0, 0.0, units as f64, setting.z()).scaled(furthest).shifted(change);
        interval = interval.hull(nothing_differs);
        reach.push(Reach::Tango { gained: 0.0, lost: 0.0, units: share, scale: furthest });
    }
    if let Some(range) = range(rule) {
        interval = interval.within(Interval { low: -range * scale, high: range });
    }
    // No test can say more of so many that all differ one way than that every sign is as likely as the other.
    let p = if a == b && drawn.stderr == 0.0 { 1.0 } else { drawn.p.max(least_p(units)) };
    Ok(Estimate {
        pairs: pairs.len() as u64,
        unscored,
        left_out: (setting.pairs.len() - pairs.len()) as u64,
        a,
        b,
        difference: change,
        stderr,
        interval,
        p,
        method: Method::Bootstrap { resamples },
        bounds: (pairs.len() == setting.pairs.len()).then_some(interval),
        detectable: detectable(stderr, units, range(rule), setting),
        variance: None,
        clusters: clusters.map(|clusters| clusters.count),
        reach,
    })
}

/// Returns the greatest distance of two numbers of the corpus; `None` where there is no end.
fn range(rule: &Aggregation) -> Option<f64> {
    match rule {
        Aggregation::F1 { .. } | Aggregation::AucRoc | Aggregation::Bleu { .. } | Aggregation::Chrf { .. } => {
            Some(100.0)
        }
        Aggregation::Matthews { scale } => Some(2.0 * scale.factor()),
        _ => None,
    }
}

/// The smallest p-value that so many units can have: that of all differing one way, of which each was as likely as the other.
fn least_p(units: usize) -> f64 {
    0.5_f64.powi(i32::try_from(units).unwrap_or(i32::MAX).saturating_sub(1))
}

/// Returns whether this number of units can tell of any difference at all.
fn can_reject(units: usize, setting: Setting<'_>) -> bool {
    least_p(units) <= 1.0 - setting.confidence
}

/// The smallest difference of means of so many units that would be found; `None` where nothing differs, which tells of no spread,
/// and where no difference would be, as far as they go.
fn detectable(stderr: f64, units: usize, furthest: Option<f64>, setting: Setting<'_>) -> Option<f64> {
    if stderr <= NO_SPREAD || !can_reject(units, setting) {
        return None;
    }
    let quantile = |confidence: f64| two_sided_t(confidence, (units - 1) as f64);
    let found = detectable_difference(stderr, quantile(setting.confidence), quantile(2.0 * POWER - 1.0));
    (furthest.is_none_or(|furthest| found <= furthest)).then_some(found)
}

fn count<T>(items: &[T], is_meant: impl Fn(&T) -> bool) -> u64 {
    items.iter().filter(|item| is_meant(item)).count() as u64
}

fn places<T>(items: &[T], is_meant: impl Fn(&T) -> bool) -> Vec<u32> {
    items.iter().zip(0..).filter(|(item, _)| is_meant(item)).map(|(_, at)| at).collect()
}

impl Estimate {
    /// With the interval reaching at least as far as another one.
    fn widened(mut self, interval: Interval, reach: Vec<Reach>) -> Self {
        self.interval = self.interval.hull(interval);
        self.bounds = self.bounds.map(|bounds| bounds.hull(interval));
        self.reach.extend(reach);
        self
    }

    /// In a unit that is `factor` times smaller.
    fn scaled(self, factor: f64) -> Self {
        let squared = factor * factor;
        Self {
            a: self.a * factor,
            b: self.b * factor,
            difference: self.difference * factor,
            stderr: self.stderr * factor,
            interval: self.interval.scaled(factor),
            bounds: self.bounds.map(|bounds| bounds.scaled(factor)),
            detectable: self.detectable.map(|difference| difference * factor),
            variance: self.variance.map(|(questions, answers)| (questions * squared, answers * squared)),
            reach: self.reach.into_iter().map(|reach| reach.scaled(factor)).collect(),
            ..self
        }
    }
}
