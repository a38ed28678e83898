//! The step in which a clock counts, as its own samples show it.

/// The resolution that CUDA states for event times, in microseconds ("approximately 0.5 microseconds",
/// CUDA Driver API, `cuEventElapsedTime`).
pub const NOMINAL_TICK_US: f64 = 0.5;

/// Elapsed times are single precision and rescaled: values of one tick count differ by less than this part.
const SAME: f64 = 1e-5;

/// The clock's step in microseconds: the smallest gap between two different samples, at most
/// [`NOMINAL_TICK_US`], which is also the answer where all samples are equal. Values that are not finite are
/// ignored.
///
/// A difference below one tick is not resolved by any number of samples whose spread is below it: the
/// median of a flat distribution is one of its few values.
pub fn tick(samples: &[f64]) -> f64 {
    let mut sorted: Vec<f64> = samples.iter().copied().filter(|s| s.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted
        .windows(2)
        .map(|pair| (pair[1] - pair[0], pair[1].abs()))
        .filter(|(gap, value)| *gap > SAME * value)
        .fold(NOMINAL_TICK_US, |least, (gap, _)| least.min(gap))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_is_read_from_the_samples() {
        let samples: Vec<f64> = [400, 401, 403, 403, 440]
            .map(|ticks| f64::from(f32::from(ticks as u16) * 0.032e-3) * 1000.0)
            .into();
        assert!((tick(&samples) - 0.032).abs() < 1e-4, "{}", tick(&samples));
    }

    #[test]
    fn flat_samples_have_the_nominal_step() {
        assert_eq!(tick(&[5.12; 100]), NOMINAL_TICK_US);
        assert_eq!(tick(&[]), NOMINAL_TICK_US);
        assert_eq!(tick(&[5.12, f64::NAN]), NOMINAL_TICK_US);
        assert_eq!(tick(&[5.0, 9.0]), NOMINAL_TICK_US, "never coarser");
    }
}
