//! Loading of the kernels, only where they compute the same as their twins.

use super::checks::different_from_twins;
use super::kernels::Fused;
use crate::kernels::Reference;
use tch::Device;

impl Fused {
    /// Loads the kernels on a device, and compares them with their twins there.
    ///
    /// # Errors
    /// Why they are not used, for the user.
    pub(crate) fn new(device: Device) -> Result<Self, String> {
        let Device::Cuda(ordinal) = device else { return Err("there is no GPU".into()) };
        let fused = Self::loaded(ordinal)?;
        match different_from_twins(&fused, &Reference, device) {
            Ok(different) => match different.into_iter().find(|one| !one.is_good) {
                Some(wrong) => Err(format!("{} is off by {:.1e} on this GPU", wrong.name, wrong.off)),
                None => Ok(fused),
            },
            Err(error) => Err(format!("they fail on this GPU: {error}")),
        }
    }
}
