//! Time and memory to draw a namespace, beside the time that the same bars take from matplotlib:
//! `cargo bench -p mage-plot [-- NAMESPACE]`. `MAGE_PYTHON` names a Python with matplotlib; `python3` by default.
#![allow(clippy::print_stdout, reason = "what a benchmark is for")]

use anyhow::{Context, Result};
use mage_plot::{draw, values};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Runs of which the median is printed.
const RUNS: usize = 5;
/// What the figures of a namespace may take.
const SECONDS: f64 = 2.0;
/// See [`SECONDS`].
const MEGABYTES: f64 = 300.0;

fn main() -> Result<()> {
    // Cargo's own flags start with a dash.
    let named = std::env::args().skip(1).find(|a| !a.starts_with('-'));
    let namespace = named.unwrap_or_else(|| "mage-002".to_string());
    let root = mage_workspace::find_root()?;
    let mut seconds = Vec::new();
    let mut files = 0;
    for _ in 0..RUNS {
        let start = Instant::now();
        files = draw(&root, &namespace)?.len();
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds[RUNS / 2];
    println!(
        "mage-plot: {files} files of {namespace} in {median:.2} s, median of {RUNS} (at most {SECONDS} s)"
    );
    match peak_megabytes() {
        Some(peak) => {
            println!("mage-plot: {peak:.0} MB at most in memory (at most {MEGABYTES} MB)")
        }
        None => println!("mage-plot: this system does not say how much memory was used"),
    }
    println!("{}", matplotlib(&root, &namespace)?);
    Ok(())
}

/// The largest resident size of this process, where Linux says it.
fn peak_megabytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1e3)
}

/// The plotted values given to a script that draws them with matplotlib; its last line.
fn matplotlib(root: &Path, namespace: &str) -> Result<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/matplotlib_figures.py");
    let program = std::env::var_os("MAGE_PYTHON").unwrap_or_else(|| "python3".into());
    let started = Command::new(&program)
        .arg(&script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut python = match started {
        Ok(python) => python,
        Err(error) => {
            let program = program.display();
            return Ok(format!(
                "matplotlib: cannot run {program} ({error}), so there is nothing to compare with; MAGE_PYTHON names another"
            ));
        }
    };
    let plotted = values(root, namespace)?.to_string();
    let mut stdin = python.stdin.take().context("Python takes no input")?;
    // A script that has no matplotlib ends without reading.
    let _ = stdin.write_all(plotted.as_bytes());
    drop(stdin);
    let output = python.wait_with_output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
}
