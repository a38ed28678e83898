//! Numbers as `ncu` prints them: separators of thousands, scaled units, none at all.

/// A number in a base unit, or what stood there in place of one.
#[derive(Debug, Clone, PartialEq)]
pub enum Number {
    /// A number and its unit without a prefix; times in `nsecond`.
    Read(f64, String),
    /// `n/a`, `nan` or nothing: the counter has no value here.
    None(String),
}

/// Reads a cell and its unit.
///
/// # Errors
/// What is wrong with it: neither a number nor one of the words for none.
pub fn number(text: &str, unit: &str) -> Result<Number, String> {
    let text = text.trim();
    if ["", "n/a", "nan", "-nan", "inf", "(!) n/a", "no data"]
        .contains(&text.to_lowercase().as_str())
    {
        let said = match text.is_empty() {
            true => "nothing".to_owned(),
            false => text.to_owned(),
        };
        return Ok(Number::None(said));
    }
    let value =
        plain(text).ok_or_else(|| format!("{:?}", text.chars().take(80).collect::<String>()))?;
    let (factor, unit) = base(unit.trim());
    Ok(Number::Read(value * factor, unit))
}

/// `1,234.5`, `1234.5` or `1.2e+09`. A separator stands before every three digits or nowhere.
fn plain(text: &str) -> Option<f64> {
    let (whole, rest) = match text.find(['.', 'e', 'E']) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let mut groups = whole.split(',');
    let first = groups.next()?;
    let separated = whole.contains(',');
    let first_fits = digits(first) && (!separated || first.len() <= 3);
    if !first_fits || !groups.all(|group| group.len() == 3 && digits(group)) {
        return None;
    }
    let text = format!("{}{rest}", whole.replace(',', ""));
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// The factor to the base unit, and that unit. `ncu` scales by thousands.
fn base(unit: &str) -> (f64, String) {
    let (first, rest) = match unit.find('/') {
        Some(at) => unit.split_at(at),
        None => (unit, ""),
    };
    // Times become nanoseconds, which the duration of a kernel is whole in; rates are left alone.
    if rest.is_empty() {
        let times = [
            ("nsecond", 1.0),
            ("ns", 1.0),
            ("usecond", 1e3),
            ("us", 1e3),
            ("msecond", 1e6),
            ("ms", 1e6),
            ("second", 1e9),
            ("s", 1e9),
        ];
        if let Some((_, factor)) = times.iter().find(|(name, _)| *name == first) {
            return (*factor, "nsecond".to_owned());
        }
    }
    let mut letters = first.chars();
    let factor = match letters.next() {
        Some('K') => 1e3,
        Some('M') => 1e6,
        Some('G') => 1e9,
        Some('T') => 1e12,
        _ => 1.0,
    };
    let scaled = factor > 1.0 && letters.next().is_some_and(char::is_lowercase);
    match scaled {
        true => (factor, format!("{}{rest}", &first[1..])),
        false => (1.0, unit.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_in_base_units() {
        for (text, unit, value, base) in [
            ("6,144", "nsecond", 6144.0, "nsecond"),
            ("6.14", "usecond", 6140.0, "nsecond"),
            ("1.5", "msecond", 1.5e6, "nsecond"),
            ("2", "second", 2e9, "nsecond"),
            ("12.58", "Mbyte", 12.58e6, "byte"),
            ("1,234.5", "Kbyte", 1_234_500.0, "byte"),
            ("12582912", "byte", 12_582_912.0, "byte"),
            ("3.3", "Tbyte/second", 3.3e12, "byte/second"),
            ("16.38", "Kbyte/block", 16_380.0, "byte/block"),
            ("32", "register/thread", 32.0, "register/thread"),
            ("45.5", "%", 45.5, "%"),
            ("0", "", 0.0, ""),
            ("1.2e+09", "inst", 1.2e9, "inst"),
            ("1,234,567", "inst", 1_234_567.0, "inst"),
        ] {
            let Number::Read(found, unit) = number(text, unit).unwrap() else {
                panic!("{text}");
            };
            assert!((found - value).abs() <= 1e-9 * value, "{text}: {found}");
            assert_eq!(unit, base, "{text}");
        }
    }

    #[test]
    fn what_is_none_is_no_zero_and_what_is_no_number_is_refused() {
        for none in ["n/a", "N/A", "", " ", "nan", "inf"] {
            assert!(
                matches!(number(none, "byte"), Ok(Number::None(_))),
                "{none}"
            );
        }
        for bad in [
            "1.234,5", "12,34", "1,23", ",123", "1234,567", "0x10", "-1", "one", "1 2", "1e999",
            ".",
        ] {
            assert!(
                number(bad, "byte").is_err(),
                "{bad}: {:?}",
                number(bad, "byte")
            );
        }
    }
}
