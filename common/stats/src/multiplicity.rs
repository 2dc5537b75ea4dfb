//! Corrections for several tests at a time.

/// p-values adjusted by Holm's step-down rule (1979), in the order given: the chance of any false alarm stays below the level.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let order = ascending(p);
    let (mut adjusted, mut largest) = (vec![0.0; p.len()], 0.0_f64);
    for (rank, &at) in order.iter().enumerate() {
        largest = largest.max((p.len() - rank) as f64 * p[at]).min(1.0);
        adjusted[at] = largest;
    }
    adjusted
}

/// p-values adjusted by the rule of Benjamini and Hochberg (1995), in the order given: of the alarms no greater share is false
/// than the level.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let order = ascending(p);
    let (mut adjusted, mut least) = (vec![0.0; p.len()], 1.0_f64);
    for (rank, &at) in order.iter().enumerate().rev() {
        least = least.min(p[at] / ((rank + 1) as f64 / p.len() as f64));
        adjusted[at] = least;
    }
    adjusted
}

fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    order
}
