//! The machine around the GPU.

use mage_evidence::artifact::Host;

/// Reads operating system, processor and number of logical processors; "unknown" where the system does
/// not say.
pub fn read() -> Host {
    let line = |path: &str| {
        std::fs::read_to_string(path)
            .ok()
            .map(|t| t.trim().to_string())
    };
    let release = line("/proc/sys/kernel/osrelease").unwrap_or_else(|| "unknown release".into());
    let processor = line("/proc/cpuinfo").and_then(|text| {
        let model = text.lines().find(|l| l.starts_with("model name"))?;
        Some(model.split_once(':')?.1.trim().to_string())
    });
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    Host {
        platform: format!(
            "{} {} ({release})",
            std::env::consts::OS,
            std::env::consts::ARCH
        ),
        processor: processor.unwrap_or_else(|| "unknown".into()),
        logical_processors: processors as u32,
    }
}
