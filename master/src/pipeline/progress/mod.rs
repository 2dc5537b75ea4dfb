//! Progress for people: a bar per stage on a terminal, a line with a time stamp now and then in a log; on standard error.

mod board;
mod fitted;
mod followed_bar;
mod pace;
mod plan_bar;
mod shown;
mod snapshot;
mod stage_bar;
mod text;

pub use board::ProgressBoard;
pub use followed_bar::FollowedBar;
pub(super) use pace::Pace;
pub(super) use plan_bar::PlanBar;
pub use snapshot::Snapshot;
pub use stage_bar::StageBar;
