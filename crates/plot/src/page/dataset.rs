//! Metadata for machines: schema.org's Dataset as JSON-LD.

use super::Page;
use serde_json::{Value, json};

impl Page<'_> {
    /// The page's data set: what was measured, when, how, and where each file is.
    pub(super) fn dataset(&self) -> Value {
        let data = self.data;
        let figures = self.figures.iter().flat_map(|figure| {
            let file = self.figure(figure);
            [
                (format!("{file}.csv"), "text/csv"),
                (format!("{file}.svg"), "image/svg+xml"),
                (format!("{file}.png"), "image/png"),
            ]
            .map(|(address, format)| {
                json!({
                    "@type": "DataDownload",
                    "name": figure.frame.title,
                    "contentUrl": address,
                    "encodingFormat": format,
                })
            })
        });
        let evidence = data.files.iter().map(|file| {
            json!({
                "@type": "DataDownload",
                "name": file.label,
                "contentUrl": self.to(&file.path),
                "encodingFormat": "application/json",
                "contentSize": format!("{} B", file.bytes),
                "sha256": file.sha256,
            })
        });
        let distribution: Vec<Value> = evidence.chain(figures).collect();
        json!({
            "@context": "https://schema.org",
            "@type": "Dataset",
            "name": format!("{}: {}", data.namespace, self.title),
            "identifier": data.namespace,
            "description": description(&data.experiment.words.summary, &self.description),
            "dateCreated": data.results.utc,
            "license": "https://www.apache.org/licenses/LICENSE-2.0",
            "isAccessibleForFree": true,
            "measurementTechnique": technique(self),
            "variableMeasured": variables(self),
            "distribution": distribution,
        })
    }
}

/// The summary without its Markdown, and what it is of.
fn description(summary: &str, of: &str) -> String {
    let plain = summary.trim().replace(['`', '*'], "");
    format!("{of}. {plain}").trim_end_matches(". ").to_string()
}

fn technique<'a>(page: &Page<'a>) -> Vec<&'a str> {
    let data = page.data;
    let kernel = data.profiles.iter().map(|p| p.timing.as_str());
    std::iter::once(data.results.timing.as_str())
        .chain(kernel)
        .collect()
}

fn variables(page: &Page<'_>) -> Vec<Value> {
    let variable =
        |name: &str, unit: &str| json!({"@type": "PropertyValue", "name": name, "unitText": unit});
    let mut all = vec![variable("event span", "microseconds")];
    if page.data.profiles.is_some() {
        all.push(variable("kernel time", "microseconds"));
        all.push(variable("launches", "kernel launches a call"));
    }
    all
}

/// JSON for the inside of a script element: no character there can end the element or open a comment.
pub(super) fn script_safe(value: &Value) -> String {
    value
        .to_string()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_the_script_and_the_value_is_the_same() {
        let value = json!({"name": "</script><!-- & \u{2028} \"x\""});
        let text = script_safe(&value);
        assert!(!text.contains(['<', '>', '&', '\u{2028}']), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
