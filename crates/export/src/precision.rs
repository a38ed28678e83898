//! The arithmetic of each implementation, said from what was recorded: PyTorch's switches, the configuration that an
//! implementation chose, what a kernel multiplies.

use mage_evidence::artifact::{Python, Run, Samples};
use mage_evidence::choice::Config;
use mage_evidence::implementation::label;
use mage_evidence::operation::Operation;
use serde_json::Value;
use std::collections::BTreeMap;

/// What nobody has to explain.
const FP32: &str = "IEEE FP32";
/// What a Triton product of tiles is told for FP32.
const IEEE: &str = "input_precision=\"ieee\"";

/// The arithmetic of a run. In evidence of schema 1.0 it was the same for every operation and implementation; in later
/// evidence what is not FP32 throughout is named with its operation.
pub(crate) fn of(run: &Run, samples: &[Samples], schema_1_0: bool) -> String {
    let mut words = vec![FP32.to_string()];
    if let Some(python) = &run.python {
        words.push(format!("PyTorch with TF32 off ({})", switches(python)));
    }
    if run.implementations.iter().any(|name| name == "triton") {
        words.push(match schema_1_0 {
            true => format!("{IEEE} in every Triton dot"),
            false => format!("{IEEE} in every dot of {}", label("triton")),
        });
    }
    if !schema_1_0 {
        for samples in samples {
            for (name, arithmetic) in of_operation(run, samples) {
                if !arithmetic.starts_with(FP32) {
                    let operation = samples.operation.label();
                    words.push(format!("{operation}, {}: {arithmetic}", label(&name)));
                }
            }
        }
    }
    words.join("; ")
}

/// The arithmetic of each implementation that ran an operation.
pub(crate) fn of_operation(run: &Run, samples: &Samples) -> BTreeMap<String, String> {
    let names = samples.available(&run.implementations);
    let said = |name: String| {
        let arithmetic = of_implementation(run, samples, &name);
        (name, arithmetic)
    };
    names.into_iter().map(said).collect()
}

fn of_implementation(run: &Run, samples: &Samples, name: &str) -> String {
    if let Some(products) = samples.products.get(name) {
        return products.clone();
    }
    // `Run::check` has refused everything but TF32 off.
    let tf32 = match run.python {
        Some(_) => format!("{FP32}, TF32 off"),
        None => FP32.to_string(),
    };
    let config = samples.choices.get(name).map(|choice| &choice.config);
    match (name, config) {
        ("python" | "cusparse", _) => tf32,
        ("torch-compile", Some(config)) => format!("{tf32}; {}", emitted(config)),
        ("torch-compile", None) => tf32,
        ("triton", _) if has_dot(samples.operation) => format!("{FP32}, {IEEE}"),
        ("triton-tuned", Some(config)) => tuned(config),
        _ => FP32.to_string(),
    }
}

fn switches(python: &Python) -> String {
    format!(
        "allow_tf32 {} for products and {} for cuDNN, matmul precision {}",
        python.tf32.matmul_allow_tf32,
        python.tf32.cudnn_allow_tf32,
        python.tf32.float32_matmul_precision
    )
}

/// Whether the fixed Triton kernel of an operation multiplies tiles.
fn has_dot(operation: Operation) -> bool {
    matches!(operation, Operation::Matmul | Operation::Triangle)
}

/// What a chosen configuration of the tuned Triton kernels multiplies.
fn tuned(config: &Config) -> String {
    let text = |key: &str| config.get(key).and_then(Value::as_str);
    match (text("precision"), text("form")) {
        (Some("ieee"), _) => format!("{FP32}, {IEEE}"),
        (Some(precision), _) => {
            let products = match precision {
                "tf32" => "one product of values rounded to TF32",
                "tf32x3" => "three products of TF32 parts",
                "bf16x3" => "three products of BF16 parts",
                "bf16x6" => "six products of BF16 parts",
                _ => "products as Triton defines them",
            };
            format!("{products} for one of FP32 (input_precision=\"{precision}\"), summed in FP32")
        }
        (None, Some("split")) => {
            "three products of BF16 halves for one of FP32, which a launch of its own makes, summed in FP32".into()
        }
        (None, _) => FP32.into(),
    }
}

/// What the compiler made of the expression: kernels of its own, calls of libraries, or both.
fn emitted(config: &Config) -> String {
    let emitted = |key: &str| -> &[Value] {
        let found = config.get("emitted").and_then(|emitted| emitted.get(key));
        found.and_then(Value::as_array).map_or(&[], Vec::as_slice)
    };
    let mut parts: Vec<&str> = emitted("library_calls")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    if !emitted("kernels").is_empty() {
        parts.insert(0, "generated kernels");
    }
    match parts.is_empty() {
        true => "what was emitted is not recorded".into(),
        false => parts.join(" and "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn config(value: Value) -> Config {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_tuned_configuration_says_what_it_multiplies() {
        for (value, expected) in [
            (
                json!({"form": "direct", "precision": "ieee"}),
                "IEEE FP32, input_precision=\"ieee\"",
            ),
            (
                json!({"form": "direct", "precision": "bf16x3"}),
                "three products of BF16 parts for one of FP32 (input_precision=\"bf16x3\"), summed in FP32",
            ),
            (
                json!({"form": "batched", "precision": "tf32"}),
                "one product of values rounded to TF32 for one of FP32 (input_precision=\"tf32\"), summed in FP32",
            ),
            (
                json!({"form": "batched", "precision": "new"}),
                "products as Triton defines them for one of FP32 (input_precision=\"new\"), summed in FP32",
            ),
            (
                json!({"form": "split", "boxes": true}),
                "three products of BF16 halves for one of FP32, which a launch of its own makes, summed in FP32",
            ),
            (json!({"form": "broadcast"}), "IEEE FP32"),
        ] {
            assert_eq!(tuned(&config(value)), expected);
        }
    }

    #[test]
    fn what_was_emitted_is_named() {
        let of = |value| emitted(&config(json!({"emitted": value})));
        assert_eq!(
            of(json!({"kernels": [], "library_calls": ["extern_kernels.mm"]})),
            "extern_kernels.mm"
        );
        assert_eq!(
            of(json!({"kernels": [{"kernel": "k"}], "library_calls": ["extern_kernels.bmm"]})),
            "generated kernels and extern_kernels.bmm"
        );
        assert_eq!(of(json!({})), "what was emitted is not recorded");
    }
}
