//! How `ncu` is asked for the counters of one variant.

use super::metrics::Group;
use std::ffi::OsString;
use std::path::Path;

/// Calls before the one that is read.
pub const WARMUP: u32 = 5;

/// What is launched under `ncu`.
#[derive(Debug, Clone)]
pub struct Target<'a> {
    /// `mage-harness`.
    pub harness: &'a Path,
    /// The experiment.
    pub experiment: &'a str,
    /// The operation.
    pub operation: &'a str,
    /// The variant.
    pub variant: &'a str,
    /// Directory of inputs.
    pub inputs: &'a Path,
}

/// The whole command line that reads a group of one variant into `file`: the launch after [`WARMUP`] others.
/// Clocks are left alone; no counter here depends on time.
pub fn command_line(ncu: &Path, group: &Group, file: &Path, target: &Target<'_>) -> Vec<OsString> {
    let mut line: Vec<OsString> = vec![ncu.into(), "--log-file".into(), file.into()];
    let mut words = |words: &[&str]| line.extend(words.iter().map(OsString::from));
    words(&["--csv", "--page", "raw", "--print-units", "base"]);
    if group.instances {
        words(&["--print-metric-instances", "details"]);
    }
    words(&["--clock-control", "none"]);
    words(&["--launch-skip", &WARMUP.to_string(), "--launch-count", "1"]);
    words(&["--metrics", &group.metrics.join(",")]);
    line.push(target.harness.into());
    let mut words = |words: &[&str]| line.extend(words.iter().map(OsString::from));
    words(&["capture", "--experiment", target.experiment]);
    words(&["--op", target.operation, "--implementation", "rust"]);
    words(&["--variant", target.variant]);
    words(&["--iterations", "1", "--warmup", &WARMUP.to_string()]);
    words(&["--inputs"]);
    line.push(target.inputs.into());
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::metrics::GROUPS;

    #[test]
    fn the_command_line_asks_for_one_launch_after_the_warm_up() {
        let target = Target {
            harness: Path::new("target/release/mage-harness"),
            experiment: "mage-002",
            operation: "matmul",
            variant: "tiled_matmul_8x4",
            inputs: Path::new("target/inputs"),
        };
        let line = command_line(
            Path::new("ncu"),
            &GROUPS[1],
            Path::new("raw/x.csv"),
            &target,
        );
        let line: Vec<&str> = line.iter().map(|word| word.to_str().unwrap()).collect();
        assert_eq!(
            line.join(" "),
            "ncu --log-file raw/x.csv --csv --page raw --print-units base --print-metric-instances details \
             --clock-control none --launch-skip 5 --launch-count 1 --metrics sass__inst_executed_per_opcode \
             target/release/mage-harness capture --experiment mage-002 --op matmul --implementation rust \
             --variant tiled_matmul_8x4 --iterations 1 --warmup 5 --inputs target/inputs"
        );
    }
}
