//! Copies to the host that do not hold up what a device is asked for after them.

use crate::cuda::CudaEvent;
use tch::{Device, TchError, Tensor};

/// Numbers on their way to the host.
pub(crate) struct ToHost {
    /// On the host; complete once `copied` has come to pass.
    numbers: Tensor,
    copied: Option<CudaEvent>,
}

impl ToHost {
    /// Begins a copy, behind what the device was asked for so far.
    pub(super) fn begin(numbers: &Tensor) -> Result<Self, TchError> {
        let Device::Cuda(ordinal) = numbers.device() else {
            return Ok(Self { numbers: numbers.shallow_clone(), copied: None });
        };
        // To memory that the driver does not move: libtorch takes such where a copy is not waited for.
        let there = numbers.f_internal_to_copy((numbers.kind(), Device::Cpu), true)?;
        match CudaEvent::record(ordinal)? {
            Some(copied) => Ok(Self { numbers: there, copied: Some(copied) }),
            None => Ok(Self { numbers: numbers.f_to_device(Device::Cpu)?, copied: None }),
        }
    }

    /// Whether they are there, so that reading them does not wait.
    pub(crate) fn is_there(&self) -> bool {
        self.copied.as_ref().is_none_or(CudaEvent::is_past)
    }

    /// Returns the numbers, once they are there: the host waits for this copy and for nothing that was asked for after it.
    pub(crate) fn wait(self) -> Result<Tensor, TchError> {
        if let Some(copied) = self.copied {
            copied.wait()?;
        }
        Ok(self.numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_the_host_is_there_at_once() {
        let numbers = ToHost::begin(&Tensor::from_slice(&[3i64, 4])).unwrap();
        assert!(numbers.is_there());
        assert_eq!(Vec::<i64>::try_from(&numbers.wait().unwrap()).unwrap(), [3, 4]);
    }
}
