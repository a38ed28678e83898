//! Simulated sessions, with a known truth: how often a winner is named where there is none, and how often a
//! true difference is found. Seeds are fixed, so each rate is one number.

use super::{
    Floor, LOOK_LEVEL, LOOKS, Ratio, Unit, mean, median, paired, paired_in_cycles,
    paired_in_cycles_at, student_t, unpaired,
};
use crate::ab::{ARMS, CYCLE, Cache, Judged, ORDERS, Times};
use crate::verdict::{Question, Verdict, judge};

/// SplitMix64 (Steele, Lea and Flood, 2014) and Box and Muller's transform.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self, deviation: f64) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        deviation * radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// What disturbs a session, as parts of 1 of the time.
#[derive(Clone, Copy)]
struct Noise {
    /// What a session does to all cases.
    session: f64,
    /// What a session does to one case.
    session_case: f64,
    /// What a round does to all cases.
    round: f64,
    /// What a round does to one case.
    round_case: f64,
    /// Growth a round.
    drift: f64,
    /// Growth a place in the order.
    slot: f64,
}

const NOISE: Noise = Noise {
    session: 0.01,
    session_case: 0.008,
    round: 0.02,
    round_case: 0.005,
    drift: 0.003,
    slot: 0.01,
};

/// Medians of the rounds of each case; case `i` has place `(i + round) % places` in its group's order.
fn session(
    random: &mut Random,
    noise: Noise,
    cases: usize,
    rounds: usize,
    places: usize,
) -> Vec<Vec<f64>> {
    let common = random.normal(noise.session);
    let own: Vec<f64> = (0..cases)
        .map(|_| random.normal(noise.session_case))
        .collect();
    let mut medians = vec![Vec::new(); cases];
    for round in 0..rounds {
        let of_round = random.normal(noise.round) + noise.drift * round as f64;
        for (case, medians) in medians.iter_mut().enumerate() {
            let place = ((case + round) % places) as f64;
            let log = common
                + own[case]
                + of_round
                + noise.slot * place
                + random.normal(noise.round_case);
            medians.push(100.0 * log.exp());
        }
    }
    medians
}

fn verdict(ratio: &Ratio, floor: Option<Floor>) -> Verdict {
    judge(&Question {
        ratio,
        floor,
        tick: 0.0,
        throttled: &[],
        unchanged: false,
        margin: 0.01,
        process_effect: 0.0,
    })
    .verdict
}

fn rate(trials: usize, seed: u64, mut winner: impl FnMut(&mut Random) -> Verdict) -> f64 {
    let mut random = Random(seed);
    let named = (0..trials)
        .filter(|_| matches!(winner(&mut random), Verdict::Faster | Verdict::Slower))
        .count();
    named as f64 / trials as f64
}

const TRIALS: usize = 4000;
/// 5% and three standard errors of a rate over [`TRIALS`].
const LIMIT: f64 = 0.05 + 3.0 * 0.0035;

/// Two sessions; the last case is judged, `difference` apart from what it was; the others are controls.
fn between(
    random: &mut Random,
    noise: Noise,
    cases: usize,
    rounds: usize,
    difference: f64,
    unit: Unit,
) -> Verdict {
    let a = session(random, noise, cases, rounds, 3);
    let b = session(random, noise, cases, rounds, 3);
    let ratios: Vec<Ratio> = (0..cases)
        .map(|case| unpaired(&a[case], &b[case], unit).unwrap())
        .collect();
    let controls: Vec<f64> = ratios[..cases - 1].iter().map(|r| r.log).collect();
    let mut judged = ratios[cases - 1];
    judged.log += difference.ln_1p();
    verdict(&judged, Floor::of_controls(&controls))
}

#[test]
fn between_sessions_a_winner_that_is_none_is_named_within_the_level() {
    for (cases, rounds) in [(4, 3), (14, 3), (14, 9)] {
        let found = rate(TRIALS, 1, |r| {
            between(r, NOISE, cases, rounds, 0.0, Unit::Round)
        });
        assert!(found <= LIMIT, "{cases} cases, {rounds} rounds: {found}");
    }
    // Sessions that differ in nothing but their rounds.
    let quiet = Noise {
        session: 0.0,
        session_case: 0.0,
        ..NOISE
    };
    let found = rate(TRIALS, 2, |r| between(r, quiet, 14, 3, 0.0, Unit::Round));
    assert!(found <= LIMIT, "quiet sessions: {found}");
}

#[test]
fn single_captures_are_judged_within_the_level_by_their_controls() {
    for cases in [3, 4, 14] {
        let found = rate(TRIALS, 3, |r| {
            between(r, NOISE, cases, 1, 0.0, Unit::Capture)
        });
        assert!(found <= LIMIT, "{cases} cases: {found}");
    }
}

/// Rounds alone would not do: they do not know how far sessions differ.
#[test]
fn without_a_floor_sessions_would_pass_for_differences() {
    let found = rate(TRIALS, 4, |r| {
        let a = session(r, NOISE, 1, 9, 3);
        let b = session(r, NOISE, 1, 9, 3);
        let ratio = unpaired(&a[0], &b[0], Unit::Round).unwrap();
        verdict(&ratio, Floor::of_controls(&[0.0, 0.0]))
    });
    assert!(found > 0.1, "{found}");
}

#[test]
fn between_sessions_a_large_difference_is_found() {
    for (difference, at_least) in [(-0.4, 0.99), (0.1, 0.75)] {
        let found = rate(1000, 5, |r| {
            between(r, NOISE, 14, 3, difference, Unit::Round)
        });
        assert!(found >= at_least, "{difference}: {found}");
    }
}

/// One session, arms A, A again and B in rotating order; B is `difference` slower.
fn within(random: &mut Random, cycles: usize, difference: f64) -> Verdict {
    let noise = Noise {
        session_case: 0.0,
        ..NOISE
    };
    let arms = session(random, noise, 3, 3 * cycles, 3);
    let aa = paired_in_cycles(&arms[0], &arms[1], 3).unwrap();
    let mut ab = paired_in_cycles(&arms[0], &arms[2], 3).unwrap();
    ab.log += difference.ln_1p();
    verdict(&ab, Floor::of_identical(&aa))
}

#[test]
fn within_a_session_a_winner_that_is_none_is_named_within_the_level() {
    for cycles in [3, 4, 12] {
        let found = rate(TRIALS, 6, |r| within(r, cycles, 0.0));
        assert!(found <= LIMIT, "{cycles} cycles: {found}");
    }
}

/// What the module's documentation says.
#[test]
fn a_true_percent_is_found_as_often_as_documented() {
    let power = |cycles| rate(1000, 7, |r| within(r, cycles, 0.01));
    let found = [3, 6, 12].map(power);
    assert!(found[0] < 0.5, "{found:?}");
    assert!(found[1] > 0.8, "{found:?}");
    assert!(found[2] > 0.95, "{found:?}");
}

/// A session of `cycles` cycles as `ab` measures them: places, drift and rounds; B is `difference` slower.
fn interleaved(random: &mut Random, cycles: usize, difference: f64) -> Times {
    let mut times = Times {
        tick_us: 1e-9,
        ..Times::default()
    };
    for round in 0..cycles * CYCLE {
        let of_round = random.normal(NOISE.round) + NOISE.drift / 100.0 * round as f64;
        for (place, arm) in ORDERS[round % CYCLE].into_iter().enumerate() {
            let own = if arm == 2 { difference.ln_1p() } else { 0.0 };
            let log = of_round + NOISE.slot * place as f64 + own + random.normal(NOISE.round_case);
            [&mut times.a_us, &mut times.again_us, &mut times.b_us][arm].push(100.0 * log.exp());
        }
    }
    times
}

/// The first `cycles` cycles.
fn until(times: &Times, cycles: usize) -> Times {
    let cut = |arm: &[f64]| arm[..cycles * CYCLE].to_vec();
    Times {
        a_us: cut(&times.a_us),
        again_us: cut(&times.again_us),
        b_us: cut(&times.b_us),
        tick_us: times.tick_us,
    }
}

fn at_look(times: &Times, cycles: usize) -> Verdict {
    let times = until(times, cycles);
    let judged = Judged::of(Cache::Hot, &times, &[], false, 0.01, 0.0).unwrap();
    judged.judgement.verdict
}

/// Ended by whoever wants a winner: at the first look that names one.
#[test]
fn planned_looks_keep_the_level_whatever_ends_the_session() {
    assert_eq!(ARMS, 3);
    let looks = &LOOKS[..3];
    let most = looks[2];
    let mut bare = 0;
    let found = rate(1000, 9, |r| {
        let times = interleaved(r, most, 0.0);
        let misses = |cycles: &usize| {
            let times = until(&times, *cycles);
            let ratio = paired_in_cycles_at(&times.a_us, &times.b_us, CYCLE, LOOK_LEVEL).unwrap();
            ratio.log.abs() > ratio.half.unwrap()
        };
        bare += usize::from(looks.iter().any(misses));
        let verdicts = looks.iter().map(|cycles| at_look(&times, *cycles));
        let winner = |v: &Verdict| matches!(v, Verdict::Faster | Verdict::Slower);
        verdicts
            .into_iter()
            .find(winner)
            .unwrap_or(Verdict::Equivalent)
    });
    assert!(found <= 0.05, "{found}");
    // The ratio's own interval, without the floor's help.
    let bare = bare as f64 / 1000.0;
    assert!(bare <= 0.05 + 3.0 * 0.007, "{bare}");
}

/// The wrong way, for comparison: looking after every cycle at the full level.
#[test]
fn looking_whenever_one_likes_names_winners_where_there_are_none() {
    let found = rate(400, 10, |r| {
        let times = interleaved(r, 96, 0.0);
        let misses = |cycles: usize| {
            let times = until(&times, cycles);
            let ratio = paired_in_cycles(&times.a_us, &times.b_us, CYCLE).unwrap();
            ratio.log.abs() > ratio.half.unwrap()
        };
        match (3..=96).any(misses) {
            true => Verdict::Faster,
            false => Verdict::Equivalent,
        }
    });
    assert!(found > 0.15, "{found}");
}

#[test]
fn a_true_percent_is_found_at_the_second_look() {
    let found = rate(400, 11, |r| {
        at_look(&interleaved(r, LOOKS[1], 0.01), LOOKS[1])
    });
    assert!(found > 0.95, "{found}");
}

/// The unit matters: what a place in the order does is no scatter of rounds.
#[test]
fn the_cycle_is_the_unit_of_an_interleaved_session() {
    let times = interleaved(&mut Random(12), 48, 0.0);
    let rounds = paired(&times.a_us, &times.b_us, Unit::Round).unwrap();
    let cycles = paired_in_cycles(&times.a_us, &times.b_us, CYCLE).unwrap();
    assert!(cycles.half.unwrap() < rounds.half.unwrap());
}

/// The wrong test, for comparison: Welch's t on all samples of three rounds.
#[test]
fn pooled_samples_name_winners_where_there_are_none() {
    let mut random = Random(8);
    let trials = 400;
    let named = (0..trials)
        .filter(|_| {
            let mut arm = || -> (Vec<f64>, Vec<f64>) {
                let rounds: Vec<Vec<f64>> = (0..3)
                    .map(|_| {
                        let shift = random.normal(NOISE.round_case);
                        (0..100)
                            .map(|_| (shift + random.normal(0.03)).exp())
                            .collect()
                    })
                    .collect();
                let medians = rounds.iter().map(|r| median(r).unwrap()).collect();
                (rounds.concat(), medians)
            };
            let ((a, _), (b, _)) = (arm(), arm());
            let variance = |v: &[f64]| {
                let m = mean(v).unwrap();
                v.iter().map(|x| (x - m).powi(2)).sum::<f64>() / (v.len() - 1) as f64
            };
            let error = ((variance(&a) + variance(&b)) / 300.0).sqrt();
            (mean(&a).unwrap() - mean(&b).unwrap()).abs() > student_t(598.0) * error
        })
        .count();
    assert!(
        named as f64 / f64::from(trials) > 0.2,
        "{named} of {trials}"
    );
}
