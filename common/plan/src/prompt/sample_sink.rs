//! The receiver of samples as they are rendered, one after the other.

use super::shot::Shot;
use super::structured::ShotFormat;
use crate::Sample;

/// Takes a sample with the shots known by then, of which it names some, and with how shots are joined.
pub(super) type SampleSink<'s> = dyn FnMut(Sample, &[Shot], &ShotFormat) + 's;
