//! The language of scripts: a setting, the moments that are waited for, what happens at them, and what must come of it.

mod acts;
mod checks;
mod moment;
mod play;
mod setting;

pub(crate) use moment::{
    begun, busy, computed, connected, elapsed, epoch, epoch_of, is_over, never_more_than, recorded, recorded_by,
    recorded_of, saw, waits,
};
pub(crate) use play::Play;
pub(crate) use setting::Script;
