//! State of a run: its record, its view, and the lines that people read meanwhile.

mod board;
mod facts;
mod fitted;
mod followed_bar;
mod live_metric;
mod pace;
mod plan_bar;
mod recent;
mod refusals;
mod shown;
mod snapshot;
mod stage_bar;
mod text;
mod view;

pub use board::ProgressBoard;
pub use facts::{Diverged, EndpointFacts, RunFacts, WorkerFacts};
pub use followed_bar::FollowedBar;
pub use live_metric::LiveMetric;
pub use pace::Pace;
pub use plan_bar::PlanBar;
pub use refusals::Refusals;
pub use snapshot::Snapshot;
pub use stage_bar::StageBar;
pub use view::{Histogram, Latencies, RunView, ShardTotals, WorkerView};
