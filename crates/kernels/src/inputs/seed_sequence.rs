//! numpy's `SeedSequence`: how an integer seed becomes the words that start a bit generator.
//!
//! The algorithm is M. E. O'Neill's `seed_seq_fe`, as `numpy.random.SeedSequence` documents it, with a
//! pool of four 32-bit words, no spawn key, and every product and difference modulo 2^32.

const POOL: usize = 4;
const INIT_A: u32 = 0x43b0_d7e5;
const MULT_A: u32 = 0x931e_8875;
const INIT_B: u32 = 0x8b51_f9dd;
const MULT_B: u32 = 0x58f3_8ded;
const MIX_LEFT: u32 = 0xca01_f9dd;
const MIX_RIGHT: u32 = 0x4973_f715;

/// The first four 64-bit words of `SeedSequence(seed).generate_state(4, uint64)`.
pub fn state(seed: u64) -> [u64; 4] {
    let pool = pool(seed);
    let mut constant = INIT_B;
    let mut words = [0u32; 8];
    for (i, word) in words.iter_mut().enumerate() {
        *word = hash(pool[i % POOL], &mut constant, MULT_B);
    }
    std::array::from_fn(|i| u64::from(words[2 * i]) | u64::from(words[2 * i + 1]) << 32)
}

fn pool(seed: u64) -> [u32; POOL] {
    // Low word first; the words that a seed lacks are hashed as zeros.
    let entropy = [seed as u32, (seed >> 32) as u32, 0, 0];
    let mut constant = INIT_A;
    let mut pool = entropy.map(|word| hash(word, &mut constant, MULT_A));
    for source in 0..POOL {
        for target in 0..POOL {
            if source != target {
                pool[target] = mix(pool[target], hash(pool[source], &mut constant, MULT_A));
            }
        }
    }
    pool
}

fn hash(word: u32, constant: &mut u32, multiplier: u32) -> u32 {
    let word = word ^ *constant;
    *constant = constant.wrapping_mul(multiplier);
    let word = word.wrapping_mul(*constant);
    word ^ word >> 16
}

fn mix(left: u32, right: u32) -> u32 {
    let word = left
        .wrapping_mul(MIX_LEFT)
        .wrapping_sub(right.wrapping_mul(MIX_RIGHT));
    word ^ word >> 16
}
