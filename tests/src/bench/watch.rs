//! Two clocks: the wall's, and the processor time of this process, which a busy machine does not stretch.

use std::time::Instant;

/// A measurement that has begun.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    begin: Instant,
    processor: f64,
}

/// Seconds by both clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seconds {
    pub wall: f64,
    /// Processor time of all threads together.
    pub processor: f64,
}

impl Watch {
    /// Begins now.
    pub fn start() -> Self {
        Self { begin: Instant::now(), processor: processor_seconds() }
    }

    /// Seconds since the beginning.
    pub fn seconds(&self) -> Seconds {
        Seconds { wall: self.begin.elapsed().as_secs_f64(), processor: processor_seconds() - self.processor }
    }
}

impl std::ops::AddAssign for Seconds {
    fn add_assign(&mut self, other: Self) {
        self.wall += other.wall;
        self.processor += other.processor;
    }
}

impl std::ops::Mul<f64> for Seconds {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Self { wall: self.wall * factor, processor: self.processor * factor }
    }
}

impl std::fmt::Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2} s ({:.2} s of processor time)", self.wall, self.processor)
    }
}

/// Prints the two ratios of the usual way to the engine, the wall's last.
pub fn print_ratio(usual: Seconds, engine: Seconds) {
    println!("by processor time: {:.2}", usual.processor / engine.processor);
    println!("ratio: {:.2}", usual.wall / engine.wall);
}

/// Returns the seconds that Linux has counted for this process's threads: utime and stime of /proc/self/stat, in hundredths of a
/// second. Not a number elsewhere.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in brackets may hold spaces; the state follows it, and eleven fields later the times.
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    let mut times = after.split_whitespace().skip(11).map_while(|field| field.parse::<f64>().ok());
    match (times.next(), times.next()) {
        (Some(user), Some(system)) => (user + system) / 100.0,
        _ => f64::NAN,
    }
}
