//! Launchers: they start and stop workers, and say how a start went. The scheduler never depends on which one did.

mod local;

pub use local::{LaunchError, LaunchEvent, LocalLauncher, Programs, find_worker, is_local, sees_gpu};
