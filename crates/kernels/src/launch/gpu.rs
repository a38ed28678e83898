//! The device, its context and the one stream that everything runs on.

use super::{LaunchError, failed};
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUresult};
use cudarc::driver::{CudaContext, CudaStream, DriverError, result};
use std::fmt;
use std::sync::Arc;

/// A CUDA device with its context and stream.
#[derive(Debug, Clone)]
pub struct Gpu {
    pub(super) context: Arc<CudaContext>,
    pub(super) stream: Arc<CudaStream>,
}

/// Why there is no device to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Absent {
    /// The driver's library is not installed.
    NoDriver,
    /// The driver is there and finds no device.
    NoDevice,
    /// The driver is there and cannot start.
    Broken(String),
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDriver => write!(f, "no NVIDIA driver (libcuda) is installed"),
            Self::NoDevice => write!(f, "the NVIDIA driver finds no device"),
            Self::Broken(reason) => write!(f, "the NVIDIA driver cannot start ({reason})"),
        }
    }
}

impl std::error::Error for Absent {}

impl Gpu {
    /// Opens device 0 with a stream of its own.
    ///
    /// # Errors
    /// [`Absent`] where there is no driver or no device.
    pub fn open() -> Result<Self, Absent> {
        // SAFETY: only asks the loader whether the library can be loaded.
        #[allow(unsafe_code)]
        let present = unsafe { sys::is_culib_present() };
        if !present {
            return Err(Absent::NoDriver);
        }
        let absent = |error: DriverError| match error.0 {
            CUresult::CUDA_ERROR_NO_DEVICE => Absent::NoDevice,
            _ => Absent::Broken(error.to_string()),
        };
        let context = CudaContext::new(0).map_err(absent)?;
        let stream = context.new_stream().map_err(absent)?;
        Ok(Self { context, stream })
    }

    /// Product name.
    ///
    /// # Errors
    /// [`LaunchError`] where the driver refuses.
    pub fn name(&self) -> Result<String, LaunchError> {
        self.context
            .name()
            .map_err(failed("read the device's name"))
    }

    /// Which card it is, as `nvidia-smi` names it: `GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` (`cuDeviceGetUuid`).
    ///
    /// # Errors
    /// [`LaunchError`] where the driver refuses.
    pub fn uuid(&self) -> Result<String, LaunchError> {
        let uuid = self
            .context
            .uuid()
            .map_err(failed("read the device's UUID"))?;
        Ok(uuid_text(uuid.bytes.map(|byte| byte.to_ne_bytes()[0])))
    }

    /// Compute capability, major and minor.
    ///
    /// # Errors
    /// [`LaunchError`] where the driver refuses.
    pub fn compute_capability(&self) -> Result<(u32, u32), LaunchError> {
        let (major, minor) = self
            .context
            .compute_capability()
            .map_err(failed("read the compute capability"))?;
        Ok((major.unsigned_abs(), minor.unsigned_abs()))
    }

    /// Number of streaming multiprocessors.
    ///
    /// # Errors
    /// [`LaunchError`] where the driver refuses.
    pub fn multiprocessors(&self) -> Result<u32, LaunchError> {
        self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
    }

    /// L2 cache in bytes.
    ///
    /// # Errors
    /// [`LaunchError`] where the driver refuses.
    pub fn l2_bytes(&self) -> Result<u64, LaunchError> {
        Ok(self
            .attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?
            .into())
    }

    /// Width of the memory bus in bits.
    ///
    /// # Errors
    /// [`LaunchError`] where the driver refuses.
    pub fn memory_bus_bits(&self) -> Result<u32, LaunchError> {
        self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)
    }

    /// Device memory in bytes.
    ///
    /// # Errors
    /// [`LaunchError`] where the driver refuses.
    pub fn memory_bytes(&self) -> Result<u64, LaunchError> {
        let bytes = self
            .context
            .total_mem()
            .map_err(failed("read the memory size"))?;
        Ok(bytes as u64)
    }

    /// The device's place on the PCI bus, `0000:1b:00.0`, by which NVML knows it.
    ///
    /// # Errors
    /// [`LaunchError`] where the driver refuses.
    pub fn pci_bus_id(&self) -> Result<String, LaunchError> {
        let domain = self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)?;
        let bus = self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)?;
        let device = self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)?;
        Ok(format!("{domain:04x}:{bus:02x}:{device:02x}.0"))
    }

    /// Waits until everything on the stream is done.
    ///
    /// # Errors
    /// [`LaunchError`], also for errors of earlier launches.
    pub fn synchronize(&self) -> Result<(), LaunchError> {
        self.stream
            .synchronize()
            .map_err(failed("finish the work on the stream"))
    }

    /// Opens a capture range for a profiler (`cuProfilerStart`).
    ///
    /// # Errors
    /// [`LaunchError`] where the driver refuses.
    pub fn profiler_start(&self) -> Result<(), LaunchError> {
        cudarc::driver::safe::profiler_start().map_err(failed("open the capture range"))
    }

    /// Closes the capture range (`cuProfilerStop`).
    ///
    /// # Errors
    /// [`LaunchError`] where the driver refuses.
    pub fn profiler_stop(&self) -> Result<(), LaunchError> {
        cudarc::driver::safe::profiler_stop().map_err(failed("close the capture range"))
    }

    fn attribute(&self, attribute: Attribute) -> Result<u32, LaunchError> {
        // SAFETY: the context keeps its device valid.
        #[allow(unsafe_code)]
        let value = unsafe { result::device::get_attribute(self.context.cu_device(), attribute) };
        value
            .map(i32::unsigned_abs)
            .map_err(failed(format!("read {attribute:?}")))
    }
}

/// A UUID in the form in which `nvidia-smi` shows it.
fn uuid_text(bytes: [u8; 16]) -> String {
    let mut text = String::from("GPU");
    for (i, byte) in bytes.iter().enumerate() {
        let dash = if [0, 4, 6, 8, 10].contains(&i) {
            "-"
        } else {
            ""
        };
        text.push_str(&format!("{dash}{byte:02x}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_written_as_nvidia_smi_does() {
        let bytes = [
            0x0a, 0xb1, 0xc2, 0xd3, 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99,
            0xfe, 0xff,
        ];
        assert_eq!(uuid_text(bytes), "GPU-0ab1c2d3-0011-2233-4455-66778899feff");
    }
}
