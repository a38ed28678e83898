//! Implementations played by the CPU reference, a plan of two small operations, and a bench of them.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use mage_evidence::artifact::{Build, Device, GpuState, SourceTree, TreeState};
use mage_evidence::choice::Choice;
use mage_evidence::experiment::{Case, Experiment, Protocol, Tolerance, Words};
use mage_evidence::operation::Operation;
use mage_harness::run::{Bench, Plan};
use mage_harness::{Implementation, Load, Loaded, Monitor};
use mage_kernels::inputs::{Inputs, generate};
use mage_kernels::reference::reference;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// What a played implementation does wrong.
#[derive(Clone, Copy, PartialEq)]
pub enum Fault {
    None,
    /// Writes NaN to one element in its `n`-th checked call.
    NanInCall(u32),
    /// Is off by more than the tolerance in one element.
    Wrong,
    /// Writes to its inputs.
    WritesInputs,
    /// Does not run one of the operations.
    Unavailable,
    /// Gives one sample too few.
    LosesSample,
    /// Gives a sample of zero.
    ZeroSample,
    /// Fails in its `n`-th measurement.
    Dies(u32),
}

pub struct Played {
    name: &'static str,
    fault: Fault,
    inputs: Option<Inputs>,
    checks: u32,
    measurements: u32,
    log: Rc<RefCell<Vec<String>>>,
    pause: Duration,
}

impl Implementation for Played {
    fn name(&self) -> &str {
        self.name
    }

    fn load(&mut self, load: &Load<'_>) -> anyhow::Result<Loaded> {
        assert!(
            load.directory.join("a.bin").is_file(),
            "inputs are written before they are loaded"
        );
        self.inputs = Some(load.inputs.clone());
        if self.fault == Fault::Unavailable && load.inputs.operation == Operation::Neighbor {
            return Ok(Loaded::Unavailable("no routine for it".into()));
        }
        let config = serde_json::from_str(r#"{"tile": 2}"#)?;
        let choice = (self.name == "triton").then_some(Choice {
            config,
            how: None,
            candidates: Vec::new(),
        });
        Ok(Loaded::Ready(choice))
    }

    fn kernel(&self) -> Option<&str> {
        (self.name == "rust").then_some("bias_gelu")
    }

    fn checked_call(&mut self) -> anyhow::Result<Vec<f32>> {
        self.checks += 1;
        self.log.borrow_mut().push(format!("check {}", self.name));
        let expected = reference(self.inputs.as_ref().unwrap())?;
        let mut output: Vec<f32> = expected.iter().map(|&v| v as f32).collect();
        match self.fault {
            Fault::NanInCall(n) if n == self.checks => output[5] = f32::NAN,
            Fault::Wrong => output[5] += 0.01,
            _ => {}
        }
        Ok(output)
    }

    fn measure(&mut self, warmup: u32, iterations: u32) -> anyhow::Result<Vec<f64>> {
        assert_eq!(warmup, 2);
        std::thread::sleep(self.pause);
        self.measurements += 1;
        self.log.borrow_mut().push(format!("measure {}", self.name));
        let mut samples: Vec<f64> = (0..iterations).map(|i| 5.0 + f64::from(i)).collect();
        match self.fault {
            Fault::LosesSample => drop(samples.pop()),
            Fault::ZeroSample => samples[1] = 0.0,
            Fault::Dies(n) if n == self.measurements => anyhow::bail!("an illegal memory access"),
            _ => {}
        }
        Ok(samples)
    }

    fn input_sha256(&mut self) -> anyhow::Result<BTreeMap<String, String>> {
        let mut found = self.inputs.as_ref().unwrap().sha256();
        if self.fault == Fault::WritesInputs {
            found.insert("a.bin".into(), "0".repeat(64));
        }
        Ok(found)
    }
}

pub struct PlayedMonitor(pub Device);

impl Monitor for PlayedMonitor {
    fn device(&self) -> &Device {
        &self.0
    }

    fn state(&self) -> anyhow::Result<GpuState> {
        Ok(GpuState {
            sm_clock_mhz: 1980,
            memory_clock_mhz: 3201,
            temperature_c: 30,
            power_w: 100.0,
            throttle_reasons: Vec::new(),
        })
    }
}

pub fn case(name: Operation, dims: &[u32], variant: &str) -> Case {
    Case {
        name,
        dims: dims.to_vec(),
        variant: variant.into(),
        sha256: generate(name, dims, 7).unwrap().sha256(),
    }
}

pub fn plan(output: &Path) -> Plan {
    let protocol = Protocol {
        rounds: 3,
        iterations: 4,
        warmup: 2,
        captures: 1,
        capture_iterations: 4,
    };
    let operations = vec![
        case(Operation::Gelu, &[3, 257], "bias_gelu"),
        case(Operation::Neighbor, &[7, 9, 23], "neighbor"),
    ];
    let implementations: Vec<String> = ["python", "triton", "rust"].map(String::from).into();
    let words = Words {
        summary: String::new(),
        kernel_time: String::new(),
        event_span: String::new(),
        launches: String::new(),
        improvements: String::new(),
        limits: String::new(),
    };
    Plan {
        operations: operations.iter().map(|c| c.name).collect(),
        implementations: implementations.clone(),
        experiment: Experiment {
            name: "x".into(),
            title: String::new(),
            baseline: None,
            published: None,
            seed: 7,
            implementations,
            protocol,
            ladder: None,
            tolerance: Tolerance {
                rtol: 1e-4,
                atol: 1e-4,
            },
            words,
            operations,
        },
        spec: "name = \"x\"\n".into(),
        protocol,
        namespace: "x".into(),
        output: output.to_path_buf(),
        command: vec!["mage-harness".into()],
    }
}

/// A bench whose `faulty` implementation has `fault`, and the log of what was called.
pub fn bench(faulty: &str, fault: Fault) -> (Bench, Rc<RefCell<Vec<String>>>) {
    slow_bench(faulty, fault, Duration::ZERO)
}

/// [`bench`] that takes `pause` for every measurement.
pub fn slow_bench(
    faulty: &str,
    fault: Fault,
    pause: Duration,
) -> (Bench, Rc<RefCell<Vec<String>>>) {
    let log = Rc::default();
    let played = |name: &'static str| -> Box<dyn Implementation> {
        Box::new(Played {
            name,
            fault: if name == faulty { fault } else { Fault::None },
            inputs: None,
            checks: 0,
            measurements: 0,
            log: Rc::clone(&log),
            pause,
        })
    };
    let device = Device {
        name: "Played".into(),
        compute_capability: "9.0".into(),
        multiprocessors: 1,
        memory_bytes: 1,
        l2_bytes: 1,
        max_sm_clock_mhz: 1,
        max_memory_clock_mhz: 1,
        memory_bus_bits: 1,
        driver: "1".into(),
        cuda_driver: "13.0".into(),
        uuid: None,
    };
    let bench = Bench {
        implementations: ["python", "triton", "rust"]
            .into_iter()
            .map(played)
            .collect(),
        monitor: Box::new(PlayedMonitor(device)),
        python: None,
        build: Build {
            tree: SourceTree {
                state: TreeState::Unknown,
                commit: None,
                difference_sha256: None,
            },
            source_sha256: BTreeMap::new(),
            objects_sha256: BTreeMap::new(),
            binary_sha256: String::new(),
        },
    };
    (bench, log)
}
