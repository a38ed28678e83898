//! In which order the arms of a ladder are made ready and take their turns: where the buffers of a kernel lie, and what
//! ran before it, have an effect of their own on its time, and no arm may keep one place.

/// The order in which kernels are made ready in a capture, counted from 1, which decides where their buffers lie. Over
/// as many captures as there are items each item has each place once. The kernels are made ready a second time in the
/// reverse of this order.
pub(super) fn places<T>(mut items: Vec<T>, capture: u32) -> Vec<T> {
    let shift = capture as usize - 1;
    rotate(&mut items, shift);
    items
}

/// The order of turn `turn`, from 0, of a capture with `turns` of them. The turns of all captures go on from each
/// other: every other one runs backwards, and after each such pair the order rotates.
pub(super) fn turn<T>(mut items: Vec<T>, capture: u32, turns: u32, turn: u32) -> Vec<T> {
    let of_all = (capture as usize - 1) * turns as usize + turn as usize;
    rotate(&mut items, of_all / 2);
    if !of_all.is_multiple_of(2) {
        items.reverse();
    }
    items
}

/// Which of its two kernels an arm calls in a turn: both in turn, and each first in every other capture, so that
/// neither keeps to one direction of the order.
pub(super) fn kernel(capture: u32, turn: u32) -> usize {
    ((capture - 1 + turn) % 2) as usize
}

/// Rotates by `times` strides.
fn rotate<T>(items: &mut [T], times: usize) {
    let count = items.len();
    if count > 0 {
        items.rotate_left(times % count * stride(count) % count);
    }
}

/// A number of places with no common divisor with `count`, so that each rotation comes up once in `count`; near the
/// golden section of it, so that the first few lie far from each other.
fn stride(count: usize) -> usize {
    let golden = count * 618 / 1000;
    (1..count)
        .filter(|stride| divisor(*stride, count) == 1)
        .min_by_key(|stride| stride.abs_diff(golden))
        .unwrap_or(1)
}

fn divisor(a: usize, b: usize) -> usize {
    match b {
        0 => a,
        b => divisor(b, a % b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At which place each of `count` items is.
    fn place_of(order: &[usize]) -> Vec<usize> {
        let mut places = vec![0; order.len()];
        for (place, item) in order.iter().enumerate() {
            places[*item] = place;
        }
        places
    }

    #[test]
    fn each_arm_has_each_place_once_over_as_many_captures_as_arms() {
        for count in 1..=40usize {
            let mut seen = vec![vec![0; count]; count];
            for capture in 1..=count as u32 {
                for (item, place) in place_of(&places((0..count).collect(), capture))
                    .into_iter()
                    .enumerate()
                {
                    seen[item][place] += 1;
                }
            }
            assert!(seen.iter().flatten().all(|times| *times == 1), "{count}");
        }
    }

    #[test]
    fn few_captures_already_differ_in_place() {
        for count in 6..=40usize {
            let of_captures: Vec<Vec<usize>> = (1..=5)
                .map(|capture| place_of(&places((0..count).collect(), capture)))
                .collect();
            for item in 0..count {
                let mut places: Vec<usize> = of_captures.iter().map(|of| of[item]).collect();
                places.sort_unstable();
                places.dedup();
                assert_eq!(places.len(), 5, "{item} of {count}");
            }
        }
    }

    /// A pair of turns has every arm as early as late; with an odd number of turns one is left over.
    #[test]
    fn the_mean_position_in_a_turn_is_the_middle() {
        for (count, captures, turns) in [(7usize, 5u32, 10u32), (24, 5, 10), (25, 3, 10), (9, 5, 3)]
        {
            let middle = (count - 1) as f64 / 2.0;
            let all = captures * turns;
            let mut sums = vec![0; count];
            for capture in 1..=captures {
                for number in 0..turns {
                    let order = turn((0..count).collect(), capture, turns, number);
                    for (item, place) in place_of(&order).into_iter().enumerate() {
                        sums[item] += place;
                    }
                }
            }
            for sum in sums {
                let off = (sum as f64 / f64::from(all) - middle).abs();
                let bound = match all % 2 {
                    0 => 0.0,
                    _ => middle / f64::from(all),
                };
                assert!(off <= bound + 1e-9, "{count} arms: {off}");
            }
        }
    }

    #[test]
    fn each_arm_has_each_position_in_a_turn_equally_often() {
        for count in 1..=25usize {
            let mut seen = vec![vec![0; count]; count];
            // Two turns a capture: as many captures as arms are a full circle.
            for capture in 1..=count as u32 {
                for number in 0..2 {
                    let order = turn((0..count).collect(), capture, 2, number);
                    for (item, place) in place_of(&order).into_iter().enumerate() {
                        seen[item][place] += 1;
                    }
                }
            }
            assert!(seen.iter().flatten().all(|times| *times == 2), "{count}");
        }
    }

    #[test]
    fn both_kernels_take_as_many_turns_in_either_direction() {
        let mut seen = [[0; 2]; 2];
        for capture in 1..=2 {
            for number in 0..10 {
                let backwards = turn(vec![0, 1, 2], capture, 10, number)
                    != turn(vec![0, 1, 2], capture, 10, number / 2 * 2);
                seen[kernel(capture, number)][usize::from(backwards)] += 1;
            }
        }
        assert_eq!(seen, [[5, 5], [5, 5]]);
        assert_eq!(kernel(1, 0), 0);
    }
}
