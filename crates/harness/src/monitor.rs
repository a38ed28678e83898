//! What the GPU says of itself, through NVML.

use anyhow::Context;
use mage_evidence::artifact::{Device, GpuState};
use mage_kernels::launch::Gpu;
use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};

/// Reads the device and its state.
pub trait Monitor {
    /// The device and its limits.
    fn device(&self) -> &Device;

    /// Its state now.
    ///
    /// # Errors
    /// Whatever the driver reports.
    fn state(&self) -> anyhow::Result<GpuState>;
}

/// The real monitor.
pub struct NvmlMonitor {
    nvml: Nvml,
    pci_bus_id: String,
    device: Device,
}

impl NvmlMonitor {
    /// Opens NVML for the device that `gpu` is.
    ///
    /// # Errors
    /// Where NVML is not installed or does not know the device.
    pub fn open(gpu: &Gpu) -> anyhow::Result<Self> {
        let nvml =
            Nvml::init().context("cannot open NVML (libnvidia-ml), which comes with the driver")?;
        let pci_bus_id = gpu.pci_bus_id()?;
        let (major, minor) = gpu.compute_capability()?;
        let cuda = nvml
            .sys_cuda_driver_version()
            .context("NVML: CUDA version")?;
        let device = {
            let handle = nvml
                .device_by_pci_bus_id(pci_bus_id.as_str())
                .with_context(|| format!("NVML does not know the device {pci_bus_id}"))?;
            Device {
                name: gpu.name()?,
                compute_capability: format!("{major}.{minor}"),
                multiprocessors: gpu.multiprocessors()?,
                memory_bytes: gpu.memory_bytes()?,
                l2_bytes: gpu.l2_bytes()?,
                max_sm_clock_mhz: handle
                    .max_clock_info(Clock::SM)
                    .context("NVML: largest SM clock")?,
                max_memory_clock_mhz: handle
                    .max_clock_info(Clock::Memory)
                    .context("NVML: largest memory clock")?,
                memory_bus_bits: gpu.memory_bus_bits()?,
                driver: nvml.sys_driver_version().context("NVML: driver version")?,
                cuda_driver: format!("{}.{}", cuda / 1000, cuda % 1000 / 10),
                uuid: Some(gpu.uuid()?),
            }
        };
        Ok(Self {
            nvml,
            pci_bus_id,
            device,
        })
    }
}

impl Monitor for NvmlMonitor {
    fn device(&self) -> &Device {
        &self.device
    }

    fn state(&self) -> anyhow::Result<GpuState> {
        let handle = self.nvml.device_by_pci_bus_id(self.pci_bus_id.as_str())?;
        let reasons = handle
            .current_throttle_reasons()
            .context("NVML: throttle reasons")?;
        Ok(GpuState {
            sm_clock_mhz: handle.clock_info(Clock::SM).context("NVML: SM clock")?,
            memory_clock_mhz: handle
                .clock_info(Clock::Memory)
                .context("NVML: memory clock")?,
            temperature_c: handle
                .temperature(TemperatureSensor::Gpu)
                .context("NVML: temperature")?,
            power_w: f64::from(handle.power_usage().context("NVML: power")?) / 1000.0,
            throttle_reasons: names(reasons),
        })
    }
}

/// NVML's names of the reasons that are set.
fn names(reasons: ThrottleReasons) -> Vec<String> {
    reasons
        .iter_names()
        .filter(|(_, flag)| !flag.is_empty())
        .map(|(name, _)| name.to_ascii_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throttle_reasons_are_named() {
        assert!(names(ThrottleReasons::NONE).is_empty());
        let two = ThrottleReasons::SW_POWER_CAP | ThrottleReasons::GPU_IDLE;
        assert_eq!(names(two), ["gpu_idle", "sw_power_cap"]);
    }
}
