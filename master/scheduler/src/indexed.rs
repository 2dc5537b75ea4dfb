//! The part of the indexes that is about one worker: kept in the worker, so that a change of it is seen.

/// Values that the indexes hold of one worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Indexed {
    /// Its load, if it can take another grant.
    pub(super) load: Option<u32>,
    pub(super) is_connected: bool,
    /// Set if it asks for grants and its node does not fail.
    pub(super) is_sound: bool,
    /// Set if it may still get tasks of the models that its slots hold, and gets on with them.
    pub(super) serves: bool,
}
