//! Data sets that are worth running: how far the trend of the last steps goes, over how much neighbours differ.

use super::board::Board;

/// Steps that are looked at.
const LAST: usize = 10;
/// Fewer tell nothing.
const LEAST: usize = 4;

/// A data set's metric over the last steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Signal {
    pub dataset: String,
    pub metric: String,
    pub steps: usize,
    /// Change of the least-squares line from the first of these steps to the last, ...
    pub trend: f64,
    /// ... over the standard deviation of the differences of neighbours. `None` where neighbours do not differ.
    pub ratio: Option<f64>,
}

/// Returns the signal of every metric that at least four steps have, the best first. A step that several entries have counts once,
/// the first.
pub fn signals(board: &Board) -> Vec<Signal> {
    if !board.has_steps() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for dataset in &board.datasets {
        let mut names: Vec<&str> = Vec::new();
        for cell in board.entries.iter().filter_map(|entry| entry.cells.get(dataset)).flatten() {
            if !names.contains(&cell.metric.as_str()) {
                names.push(&cell.metric);
            }
        }
        for metric in names {
            let mut points: Vec<(f64, f64)> = Vec::new();
            for entry in &board.entries {
                let cell = entry.cells.get(dataset).and_then(|cells| cells.iter().find(|cell| cell.metric == metric));
                if let (Some(step), Some(cell)) = (entry.step, cell)
                    && points.last().is_none_or(|(last, _)| *last != step as f64)
                {
                    points.push((step as f64, cell.value));
                }
            }
            let last = &points[points.len().saturating_sub(LAST)..];
            found.extend(signal(dataset, metric, last));
        }
    }
    found.sort_by(|a, b| b.ratio.unwrap_or(0.0).total_cmp(&a.ratio.unwrap_or(0.0)));
    found
}

fn signal(dataset: &str, metric: &str, points: &[(f64, f64)]) -> Option<Signal> {
    let n = points.len();
    if n < LEAST {
        return None;
    }
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n as f64;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let covariance: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let spread: f64 = points.iter().map(|point| (point.0 - x) * (point.0 - x)).sum();
    let trend = covariance / spread * (points[n - 1].0 - points[0].0);
    let steps: Vec<f64> = points.windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
    let centre = steps.iter().sum::<f64>() / steps.len() as f64;
    let squares: f64 = steps.iter().map(|step| (step - centre) * (step - centre)).sum();
    let noise = (squares / (steps.len() - 1) as f64).sqrt();
    let ratio = (noise > 0.0).then(|| trend.abs() / noise);
    Some(Signal { dataset: dataset.to_owned(), metric: metric.to_owned(), steps: n, trend, ratio })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREND: f64 = 6.666666666666666;
    const RATIO: f64 = 6.236095644623236;

    #[test]
    fn a_line_with_noise_and_a_flat_one() {
        let points: Vec<(f64, f64)> =
            (0..8).map(|at| (f64::from(at) * 100.0, f64::from(at) + if at % 2 == 0 { 0.5 } else { -0.5 })).collect();
        let found = signal("d", "accuracy", &points).unwrap();
        // numpy: polyfit(x, y, 1)[0] * 700, and over diff(y).std(ddof=1)
        assert!((found.trend - TREND).abs() < 1e-12, "{found:?}");
        assert!((found.ratio.unwrap() - RATIO).abs() < 1e-12, "{found:?}");
        assert_eq!(signal("d", "a", &points[..3]), None);
        let flat: Vec<(f64, f64)> = (0..5).map(|at| (f64::from(at), 3.0)).collect();
        assert_eq!(signal("d", "a", &flat).unwrap().ratio, None);
    }
}
