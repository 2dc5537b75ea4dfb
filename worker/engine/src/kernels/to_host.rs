//! Copies to the host that do not hold up the device's later work.

use crate::cuda::CudaEvent;
use tch::{Device, TchError, Tensor};

/// Numbers on their way to the host.
pub(crate) struct ToHost {
    /// On the host; complete once `copied` is past.
    numbers: Tensor,
    copied: Option<CudaEvent>,
}

impl ToHost {
    /// Begins a copy, behind the device's earlier work.
    pub(super) fn begin(numbers: &Tensor) -> Result<Self, TchError> {
        let Device::Cuda(ordinal) = numbers.device() else {
            return Ok(Self { numbers: numbers.shallow_clone(), copied: None });
        };
        // To memory that the driver does not move: libtorch allocates it where a copy is not waited for.
        let there = numbers.f_internal_to_copy((numbers.kind(), Device::Cpu), true)?;
        match CudaEvent::record(ordinal)? {
            Some(copied) => Ok(Self { numbers: there, copied: Some(copied) }),
            None => Ok(Self { numbers: numbers.f_to_device(Device::Cpu)?, copied: None }),
        }
    }

    /// Returns whether the numbers have arrived, so that reading them does not wait.
    pub(crate) fn is_there(&self) -> bool {
        self.copied.as_ref().is_none_or(CudaEvent::is_past)
    }

    /// Returns the numbers, once they have arrived: the host waits for this copy and for no later work.
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
