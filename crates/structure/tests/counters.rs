//! Counters from made-up output of `ncu` to the comparison, and what is refused on the way.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

use mage_evidence::artifact::{Device, SourceTree, TreeState};
use mage_evidence::experiment::Experiment;
use mage_evidence::hash::sha256_hex;
use mage_evidence::operation::Operation;
use mage_evidence::store;
use mage_kernels::objects::objects;
use mage_kernels::resources::pins;
use mage_kernels::{inputs, variants};
use mage_simt::{Structure, execute};
use mage_structure::counters::compare::{compare, explanations};
use mage_structure::counters::metrics::{GROUPS, Group, OPCODES};
use mage_structure::counters::raw;
use mage_structure::counters::stored::{self, Launch, Read, Run, SCHEMA_VERSION};
use mage_structure::{Entry, page, report};
use std::path::Path;

const VARIANT: &str = "layer_norm";
const DIMS: [u32; 2] = [2, 768];

fn group(name: &str) -> &'static Group {
    GROUPS.iter().find(|group| group.name == name).unwrap()
}

/// What `ncu` prints of a launch with these values.
fn text(group: &Group, kernel: &str, value: impl Fn(&str) -> String) -> String {
    let quoted = |fields: Vec<String>| {
        let fields: Vec<String> = fields.iter().map(|field| format!("\"{field}\"")).collect();
        fields.join(",")
    };
    let words = |words: [&str; 11]| words.map(String::from).to_vec();
    let metrics = || group.metrics.iter().copied();
    let names = words([
        "ID",
        "Process ID",
        "Process Name",
        "Host Name",
        "Kernel Name",
        "Context",
        "Stream",
        "Block Size",
        "Grid Size",
        "Device",
        "CC",
    ]);
    let launch = words([
        "0",
        "4711",
        "mage-harness",
        "127.0.0.1",
        kernel,
        "1",
        "7",
        "(256, 1, 1)",
        "(2, 1, 1)",
        "0",
        "9.0",
    ]);
    let names = [names, metrics().map(String::from).collect()].concat();
    let units = [
        vec![String::new(); 11],
        metrics().map(|_| "inst".into()).collect(),
    ]
    .concat();
    let launch = [launch, metrics().map(value).collect()].concat();
    format!(
        "==PROF== Connected to process 4711 (/home/someone/mage-harness)\n{}\n{}\n{}\n==PROF== Disconnected\n",
        quoted(names),
        quoted(units),
        quoted(launch)
    )
}

fn opcodes() -> String {
    text(group("opcodes"), VARIANT, |_| {
        "1,012 (BAR: 320; FFMA: 690; MUFU: 2)".into()
    })
}

#[test]
fn a_launch_is_read_with_separators_and_instances() {
    let reading = raw::read(&opcodes(), group("opcodes")).unwrap();
    assert_eq!(
        (reading.kernel.as_str(), reading.grid, reading.block),
        (VARIANT, [2, 1, 1], [256, 1, 1])
    );
    let metric = &reading.metrics[0];
    assert_eq!(
        (metric.name.as_str(), metric.unit.as_str(), metric.value),
        (OPCODES, "inst", 1012)
    );
    let expected = [("BAR", 320), ("FFMA", 690), ("MUFU", 2)];
    assert_eq!(
        metric.instances,
        expected.map(|(name, value)| (name.to_owned(), value))
    );
    // Parameters of the kernel and output of the program do no harm; a fraction of zero is whole.
    let core = text(group("core"), "layer_norm(float const*)", |_| {
        "1,024.00".into()
    });
    let core = format!("{{\"kernel\":\"layer_norm\"}}\n{core}{{\"kernel\":\"layer_norm\"}}\n");
    let reading = raw::read(&core, group("core")).unwrap();
    assert_eq!(reading.kernel, VARIANT);
    assert!(reading.metrics.iter().all(|metric| metric.value == 1024));
}

#[test]
fn what_ncu_does_not_say_is_refused_by_column() {
    let read = |text: &str| raw::read(text, group("opcodes")).unwrap_err().to_string();
    let good = opcodes();
    let launch = good.lines().nth(3).unwrap();
    let cases: Vec<(String, &str)> = vec![
        (String::new(), "found \"nothing\", expected a table"),
        (
            "==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM - no permission\n".into(),
            "ERR_NVGPUCTRPERM",
        ),
        (
            good.replace(launch, ""),
            "found 0 launches, expected one; run ncu with --launch-count 1",
        ),
        (
            good.replace(launch, &format!("{launch}\n{launch}")),
            "found 2 launches",
        ),
        (
            good.replace(launch, "\"0\",\"1\""),
            "rows as long as the first",
        ),
        (
            good.replace(OPCODES, "inst_executed"),
            "sass__inst_executed_per_opcode: found the columns Block Size,",
        ),
        (
            good.replace("\"Stream\"", &format!("\"{OPCODES}\"")),
            "expected this column, once",
        ),
        (
            good.replace("1,012 (BAR: 320; FFMA: 690; MUFU: 2)", "1012"),
            "--print-metric-instances details",
        ),
        (
            good.replace("1,012 (", "n/a ("),
            "found \"n/a (BAR: 320; FFMA: 690; MUFU: 2)\", expected a whole number",
        ),
        (
            good.replace("1,012", "1013"),
            "instances that add up to the total",
        ),
        (good.replace("MUFU", "BAR"), "each instance once"),
        (good.replace("MUFU: 2)", "MUFU: 2"), "a closing parenthesis"),
        (
            good.replace("MUFU: 2", "MUFU: 2.5"),
            "instances as `NAME: whole number`",
        ),
        (
            good.replace("MUFU", "<b>"),
            "instances as `NAME: whole number`",
        ),
        (
            good.replace("690", "99999999999999999999"),
            "instances as `NAME: whole number`",
        ),
        (
            good.replace("690", "18446744073709551615"),
            "instances that add up to the total",
        ),
        (
            good.replace("\"inst\"", "\"Kinst\""),
            "found the unit \"Kinst\", expected a base unit; run ncu with --print-units base",
        ),
        (
            good.replace("(2, 1, 1)", "2x1"),
            "Grid Size: found \"2x1\", expected three extents",
        ),
        (
            good.replace("(256, 1, 1)", "(256, 1)"),
            "Block Size: found \"(256, 1)\"",
        ),
        (
            good.replace("\"Kernel Name\"", "\"Name\""),
            "Kernel Name: found the columns",
        ),
    ];
    for (text, expected) in cases {
        let error = read(&text);
        assert!(error.contains(expected), "{error}\nwithout {expected}");
    }
}

fn run(failed: Option<&str>) -> Run {
    let readings = GROUPS.iter().map(|group| Read {
        group: group.name.into(),
        command: vec!["ncu".into(), group.name.into()],
        failed: (!group.required)
            .then_some(failed)
            .flatten()
            .map(String::from),
    });
    Run {
        schema_version: SCHEMA_VERSION,
        utc: "2026-11-29T20:00:00Z".into(),
        experiment: "mage-002".into(),
        ncu: "Version 2025.3.1.0 (build 36398880)".into(),
        device: Device {
            name: "NVIDIA H200".into(),
            compute_capability: "9.0".into(),
            multiprocessors: 132,
            memory_bytes: 1 << 37,
            l2_bytes: 1 << 25,
            max_sm_clock_mhz: 1980,
            max_memory_clock_mhz: 3201,
            memory_bus_bits: 6144,
            driver: "580.159.04".into(),
            cuda_driver: "13.0".into(),
            uuid: None,
        },
        tree: SourceTree {
            state: TreeState::Unknown,
            commit: None,
            difference_sha256: None,
        },
        objects_sha256: objects()
            .iter()
            .map(|o| (o.file_name(), o.sha256()))
            .collect(),
        harness_sha256: sha256_hex(b"harness"),
        launches: vec![Launch {
            variant: VARIANT.into(),
            operation: Operation::LayerNorm,
            dims: DIMS.to_vec(),
            readings: readings.collect(),
            kept: None,
        }],
    }
}

/// What `counters measure` leaves.
fn measured(directory: &Path, run: &Run) {
    store::write_json(&directory.join(Run::FILE), run).unwrap();
    for group in &GROUPS {
        let text = match group.instances {
            true => opcodes(),
            false => text(group, VARIANT, |metric| match metric {
                "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum" => "5120".into(),
                "launch__registers_per_thread" => "27".into(),
                _ => "0".into(),
            }),
        };
        std::fs::write(
            directory.join(format!("{VARIANT}.{}.csv", group.name)),
            text,
        )
        .unwrap();
    }
}

fn entry() -> Entry {
    let variant = variants::find(VARIANT).unwrap();
    let inputs = inputs::generate(variant.operation, &DIMS, inputs::SEED).unwrap();
    let counts = execute(variant, &inputs).unwrap().counts;
    Entry {
        variant: VARIANT.into(),
        operation: variant.operation,
        measured: true,
        source_sha256: String::new(),
        resources: pins().objects[VARIANT],
        structure: Structure::of(variant, &DIMS, &counts),
        counts,
    }
}

#[test]
fn counters_are_kept_without_the_machine_and_compared() {
    let (root, source) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    measured(source.path(), &run(None));
    let kept = stored::import(root.path(), source.path(), None).unwrap();
    assert_eq!(kept, root.path().join("artifacts/structure-h200"));
    for entry in std::fs::read_dir(&kept).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(
            !text.contains("someone") && !text.contains("4711") && !text.contains("127.0"),
            "{text}"
        );
    }
    let again = stored::import(root.path(), source.path(), None)
        .unwrap_err()
        .to_string();
    assert!(
        again.contains("structure-h200: found a directory"),
        "{again}"
    );

    let all = stored::all(root.path()).unwrap();
    let entry = entry();
    let comparison = compare(&all[0], std::slice::from_ref(&entry), &[]).unwrap();
    let rows = &comparison.variants[0].rows;
    let of = |quantity: &str| rows.iter().find(|row| row.quantity == quantity).unwrap();
    assert!(of("registers").equal() && of("multiply_adds").equal());
    // 2 blocks of 8 warps, 20 barriers each.
    assert_eq!((of("barriers").counted, of("barriers").counter), (320, 320));
    // An opcode that is not listed was not executed.
    assert_eq!((of("shuffles").counted, of("shuffles").counter), (0, 0));
    assert!(!of("global_loads").equal());
    assert!(
        comparison
            .unexplained()
            .contains(&"layer_norm: global_loads".to_owned())
    );

    let because = |quantity: &str| {
        format!(
            "[[explanation]]\nrun = \"structure-h200\"\nquantity = \"{quantity}\"\n\
             variants = [\"layer_norm\", \"triangle\"]\nbecause = \"made | up\"\n"
        )
    };
    let explained = explanations(&because("global_loads")).unwrap();
    let comparison = compare(&all[0], std::slice::from_ref(&entry), &explained).unwrap();
    assert!(
        !comparison
            .unexplained()
            .contains(&"layer_norm: global_loads".to_owned())
    );
    for (text, expected) in [
        (
            because("barriers"),
            "explanation[0]: found layer_norm: barriers, which is equal, expected a difference",
        ),
        (
            because("global_loads").repeat(2),
            "explanation[1]: found layer_norm: global_loads, which has one",
        ),
    ] {
        let refused = explanations(&text).unwrap();
        let error = compare(&all[0], std::slice::from_ref(&entry), &refused).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let experiment = Experiment::load(&root, "mage-002").unwrap();
    let report = mage_structure::Report::new(&experiment, vec![entry], vec![], vec![comparison]);
    let page = page::markdown(&report);
    assert!(
        page.contains("| barriers (warp instructions) | 320 | 320 | = |  |"),
        "{page}"
    );
    assert!(
        page.contains("made \\| up |") && page.contains("not explained yet |"),
        "{page}"
    );
    assert!(page.contains(
        "claim 9): the note says \"each tree reduction passes five barriers\"; found: 10"
    ));
    let json = store::to_json(&report).unwrap();
    assert_eq!(
        serde_json::from_str::<mage_structure::Report>(&json).unwrap(),
        report
    );
}

#[test]
fn a_group_that_this_ncu_does_not_know_is_left_out() {
    let (root, source) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    measured(source.path(), &run(Some("Failed to find metric")));
    stored::import(root.path(), source.path(), Some("structure-x")).unwrap();
    let all = stored::all(root.path()).unwrap();
    assert_eq!(
        all[0].run.launches[0].readings[1].failed.as_deref(),
        Some("Failed to find metric")
    );
    let comparison = compare(&all[0], &[entry()], &[]).unwrap();
    let rows = &comparison.variants[0].rows;
    assert!(rows.iter().any(|row| row.quantity == "global_loads"));
    assert!(rows.iter().all(|row| row.quantity != "barriers"));
}

#[test]
fn another_object_or_other_dims_are_not_compared() {
    let (root, source) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    measured(source.path(), &run(None));
    stored::import(root.path(), source.path(), None).unwrap();
    let reason = |change: fn(&mut stored::Stored)| {
        let mut stored = stored::all(root.path()).unwrap().remove(0);
        change(&mut stored);
        let comparison = compare(&stored, &[entry()], &[]).unwrap();
        comparison.variants[0].left_out.clone()
    };
    assert_eq!(reason(|_| ()), None);
    let object = |s: &mut stored::Stored| {
        s.run.objects_sha256.clear();
    };
    assert_eq!(
        reason(object).as_deref(),
        Some("its object has changed since")
    );
    let dims = |s: &mut stored::Stored| s.run.launches[0].dims = vec![4, 768];
    assert_eq!(reason(dims).as_deref(), Some("it was run at other dims"));
    let none = |s: &mut stored::Stored| s.run.launches.clear();
    assert_eq!(reason(none).as_deref(), Some("it was not run"));
}

#[test]
fn an_import_proves_kernel_shape_and_record() {
    let refused = |change: &dyn Fn(&Path, &mut Run), name: Option<&str>| {
        let (root, source) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut run = run(None);
        measured(source.path(), &run);
        change(source.path(), &mut run);
        store::write_json(&source.path().join(Run::FILE), &run).unwrap();
        let error = stored::import(root.path(), source.path(), name).unwrap_err();
        let left = root.path().join("artifacts");
        let left = left
            .is_dir()
            .then(|| std::fs::read_dir(left).unwrap().count());
        assert_eq!(left.unwrap_or(0), 0, "nothing is left behind");
        format!("{error:#}")
    };
    let edit = |from: &'static str, to: &'static str| {
        move |source: &Path, _: &mut Run| {
            let path = source.join("layer_norm.opcodes.csv");
            let text = std::fs::read_to_string(&path).unwrap().replace(from, to);
            std::fs::write(path, text).unwrap();
        }
    };
    let cases: Vec<(String, &str)> = vec![
        (
            refused(&edit("\"layer_norm\"", "\"memset\""), None),
            "layer_norm.opcodes.csv: Kernel Name: found memset, expected layer_norm",
        ),
        (
            refused(&edit("(2, 1, 1)", "(3, 1, 1)"), None),
            "Grid Size: found [3, 1, 1], expected [2, 1, 1]",
        ),
        (
            refused(&|_, run| run.schema_version = 9, None),
            "run.json: schema_version: found 9, expected 1",
        ),
        (
            refused(&|_, run| run.launches[0].variant = "../x".into(), None),
            "run.json: launches[0].variant: found \"../x\", expected a known variant",
        ),
        (
            refused(&|_, run| run.launches[0].variant = "triangle".into(), None),
            "expected a variant of layernorm",
        ),
        (
            refused(&|_, run| run.launches.push(run.launches[0].clone()), None),
            "launches[1].variant: found \"layer_norm\" again",
        ),
        (
            refused(&|_, run| run.launches[0].dims = vec![0, 0], None),
            "launches[0].dims",
        ),
        (
            refused(
                &|_, run| run.launches[0].readings[0].group = "all".into(),
                None,
            ),
            "readings.group: found \"all\", expected a known group",
        ),
        (
            refused(
                &|source, _| std::fs::remove_file(source.join("layer_norm.core.csv")).unwrap(),
                None,
            ),
            "layer_norm.core.csv: cannot read",
        ),
        (
            refused(&|_, _| (), Some("h200")),
            "--name: found \"h200\", expected a name that begins with structure-",
        ),
        (
            refused(&|_, _| (), Some("../h200")),
            "--name: found \"../h200\"",
        ),
    ];
    for (error, expected) in cases {
        assert!(error.contains(expected), "{error}\nwithout {expected}");
    }
}

#[test]
fn a_stored_file_that_was_edited_is_refused() {
    let (root, source) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    measured(source.path(), &run(None));
    let kept = stored::import(root.path(), source.path(), None).unwrap();
    let (csv, json) = (kept.join("layer_norm.csv"), kept.join(Run::FILE));
    let good = std::fs::read_to_string(&csv).unwrap();
    let refused = |text: &str| {
        // With the hash made to fit, the content itself is judged.
        std::fs::write(&csv, text).unwrap();
        let by_hash = stored::all(root.path()).unwrap_err().to_string();
        let mut run = Run::read(&kept).unwrap();
        run.launches[0].kept.as_mut().unwrap().sha256 = sha256_hex(text.as_bytes());
        store::write_json(&json, &run).unwrap();
        (by_hash, stored::all(root.path()).unwrap_err().to_string())
    };
    for (text, expected) in [
        (
            good.replace("unit", "u"),
            "layer_norm.csv: line 1: found \"metric,u,value\", expected metric,unit,value",
        ),
        (
            good.replace(",5120", ",-1"),
            "expected a whole number as value",
        ),
        (format!("{good}a,b\n"), "expected metric, unit, value"),
        (format!("{good}a,b,1\na,b,1\n"), "expected each metric once"),
    ] {
        let (by_hash, by_content) = refused(&text);
        assert!(
            by_hash.contains("layer_norm.csv: SHA-256: found"),
            "{by_hash}"
        );
        assert!(
            by_content.contains(expected),
            "{by_content}\nwithout {expected}"
        );
    }
    let mut run = Run::read(&kept).unwrap();
    run.launches[0].kept.as_mut().unwrap().file = "../../secret.csv".into();
    store::write_json(&json, &run).unwrap();
    let error = stored::all(root.path()).unwrap_err().to_string();
    assert!(
        error.contains("launches[0].kept.file: found ../../secret.csv, expected layer_norm.csv"),
        "{error}"
    );
}

#[test]
fn explanations_name_what_there_is() {
    let one = "[[explanation]]\nrun = \"r\"\nquantity = \"barriers\"\nvariants = [\"triangle\"]\nbecause = \"b\"\n";
    assert_eq!(explanations(one).unwrap().len(), 1);
    assert_eq!(explanations("# nothing yet\n").unwrap().len(), 0);
    for (from, to, expected) in [
        (
            "barriers",
            "walls",
            "explanation[0].quantity: found \"walls\", expected one of registers,",
        ),
        (
            "triangle",
            "square",
            "explanation[0].variants: found \"square\", expected known variants",
        ),
        (
            "[\"triangle\"]",
            "[]",
            "explanation[0].variants: found \"\", expected at least one variant",
        ),
        (
            "\"b\"",
            "\" \"",
            "explanation[0].because: found \" \", expected a reason",
        ),
        ("run", "ran", "expected tables [[explanation]]"),
    ] {
        let error = explanations(&one.replace(from, to))
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_selection_is_every_variant_of_the_experiment_and_its_baseline() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut experiment = Experiment::load(&root, "mage-002").unwrap();
    assert_eq!(report::selection(&experiment, None).unwrap().len(), 9);
    let matmul = report::selection(&experiment, Some(Operation::Matmul)).unwrap();
    let ids: Vec<&str> = matmul.iter().map(|(_, variant)| variant.id).collect();
    assert_eq!(
        ids,
        ["tiled_matmul", "tiled_matmul_registers", "tiled_matmul_8x4"]
    );
    experiment
        .operations
        .retain(|case| case.name != Operation::Matmul);
    let error = report::selection(&experiment, Some(Operation::Matmul)).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("--op: found matmul, expected one of the experiment's: gelu,")
    );
}
