//! The time for which nothing has been left to do but what no worker has room for.

/// Time since which nothing is left to do but what no worker has room for, and the time at which that is to be said again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoomWait {
    pub(super) since: Option<u64>,
    pub(super) say_at: u64,
}
