//! Numbers as readers of figures and pages see them, formatted in one place, so that the same value looks
//! the same everywhere and no locale takes part.

/// Stands where nothing was measured.
pub const MISSING: &str = "—";

/// Microseconds without their unit, three figures at least: one decimal from 10 up, none from 1000 up.
pub fn time(us: f64) -> String {
    let text = match us {
        v if v >= 999.95 => group(&format!("{v:.0}")),
        v if v >= 9.995 => format!("{v:.1}"),
        v if v >= 0.9995 => format!("{v:.2}"),
        v => format!("{v:.3}"),
    };
    minus(&text)
}

/// A change in percent with its sign: `−58.8%`, `+1.2%`, `0.0%`.
pub fn percent(change: f64) -> String {
    match format!("{change:+.1}").as_str() {
        "+0.0" | "-0.0" => "0.0%".to_string(),
        text => minus(&format!("{text}%")),
    }
}

/// A part of 1 as a share without a sign: `3.2%`, `13.3%`.
pub fn share(part: f64) -> String {
    format!("{:.1}%", part * 100.0)
}

/// A ratio: `2.60×`; fewer decimals where it is large.
pub fn ratio(value: f64) -> String {
    match value {
        v if v >= 99.95 => format!("{}×", group(&format!("{v:.0}"))),
        v if v >= 9.995 => format!("{v:.1}×"),
        v if v >= 0.0995 => format!("{v:.2}×"),
        v if v >= 0.00995 => format!("{v:.3}×"),
        v => format!("{v:.4}×"),
    }
}

/// A multiple on a scale, without needless digits: `1×`, `1.25×`.
pub fn multiple(value: f64) -> String {
    format!("{}×", (value * 1000.0).round() / 1000.0)
}

/// A power of ten without noise: `0.001`, `100`, `10,000`, `1e−6`.
pub fn plain(value: f64) -> String {
    let exponent = value.log10().round() as i32;
    match exponent {
        0..=4 => group(&format!("{value:.0}")),
        -3..=-1 => format!(
            "{value:.digits$}",
            digits = exponent.unsigned_abs() as usize
        ),
        _ => minus(&format!("1e{exponent}")),
    }
}

/// A count a unit of work: `2`, `0.125`, `0.0313`.
pub fn rate(value: f64) -> String {
    match value {
        0.0 => "0".to_string(),
        v if v >= 999.5 => group(&format!("{v:.0}")),
        v => {
            // Three figures.
            let digits = (2.0 - v.log10().floor()).clamp(0.0, 9.0) as usize;
            let text = format!("{v:.digits$}");
            match text.contains('.') {
                true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
                false => text,
            }
        }
    }
}

/// A whole number with its thousands set apart: `65,536`.
pub fn whole(value: u64) -> String {
    group(&value.to_string())
}

/// A file's size: `141 kB`, `2.1 MB`.
pub fn bytes(value: u64) -> String {
    match value as f64 {
        v if v < 1e3 => format!("{v} B"),
        v if v < 999.5e3 => format!("{:.0} kB", v / 1e3),
        v => format!("{:.1} MB", v / 1e6),
    }
}

/// `one`, or `value` and `many`: `1 capture`, `3 captures`.
pub fn plural(value: u64, one: &str, many: &str) -> String {
    format!("{} {}", whole(value), if value == 1 { one } else { many })
}

/// Change from `before` to `after` in percent.
pub fn change(before: f64, after: f64) -> f64 {
    (after / before - 1.0) * 100.0
}

/// A word or sentence with its first letter large.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

fn group(digits: &str) -> String {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", digits),
    };
    let mut out = String::from(sign);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The typographic minus sign.
fn minus(text: &str) -> String {
    text.replacen('-', "\u{2212}", 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_from_a_nanosecond_to_ten_milliseconds() {
        let shown = [
            0.001, 0.9994, 0.9996, 4.3549, 9.994, 9.996, 344.04, 999.94, 999.96, 10000.0,
        ]
        .map(time);
        assert_eq!(
            shown,
            [
                "0.001", "0.999", "1.00", "4.35", "9.99", "10.0", "344.0", "999.9", "1,000",
                "10,000"
            ]
        );
    }

    #[test]
    fn changes_carry_a_sign_unless_they_are_none() {
        let shown = [-58.81, -0.04, 0.04, 1.25, 1234.5].map(percent);
        assert_eq!(shown, ["−58.8%", "0.0%", "0.0%", "+1.2%", "+1234.5%"]);
        assert_eq!(percent(change(344.0, 141.7)), "−58.8%");
        assert_eq!([0.03, 0.133].map(share), ["3.0%", "13.3%"]);
    }

    #[test]
    fn ratios_keep_two_or_three_figures() {
        let shown = [0.00123, 0.0608, 0.5, 2.597, 12.34, 300.4].map(ratio);
        let expected = ["0.0012×", "0.061×", "0.50×", "2.60×", "12.3×", "300×"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn rates_have_three_figures() {
        let shown = [0.0, 2.0, 0.125, 0.03125, 2.3077, 43.0, 1234.5].map(rate);
        let expected = ["0", "2", "0.125", "0.0312", "2.31", "43", "1,234"];
        assert_eq!(shown, expected);
        assert_eq!(
            [1.0, 0.9, 1.25, 1.1 + 0.1].map(multiple),
            ["1×", "0.9×", "1.25×", "1.2×"]
        );
    }

    #[test]
    fn sizes_have_a_unit() {
        let shown = [12, 141_615, 999_600, 2_100_000].map(bytes);
        assert_eq!(shown, ["12 B", "142 kB", "1.0 MB", "2.1 MB"]);
    }

    #[test]
    fn counts_agree_with_their_noun() {
        assert_eq!(plural(1, "capture", "captures"), "1 capture");
        assert_eq!(plural(65536, "edge", "edges"), "65,536 edges");
    }
}
