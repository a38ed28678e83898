//! Evidence that another program wrote: the original project's files have the common fields and may hold
//! more, and some of what is common in another form.

use crate::artifact::GpuState;
use crate::error::Invalid;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// A GPU state in this project's form, or whatever another program noted in its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum State {
    /// This project's.
    Own(GpuState),
    /// Another's; nothing is read from it.
    Other(Value),
}

impl State {
    /// This project's form, or an error naming `field`.
    ///
    /// # Errors
    /// [`Invalid`] where it is another's.
    pub fn own(&self, field: &str) -> Result<&GpuState, Invalid> {
        match self {
            Self::Own(state) => Ok(state),
            Self::Other(value) => {
                let found: String = value.to_string().chars().take(80).collect();
                Err(Invalid::new(
                    field,
                    found,
                    "clocks, temperature, power and throttle reasons, as this schema version has them",
                ))
            }
        }
    }

    /// Reasons that held clocks down, by NVML's names; idling and clocks that someone set hold nothing down.
    pub fn throttling(&self) -> Vec<String> {
        match self {
            Self::Own(state) => state.throttling(),
            Self::Other(_) => Vec::new(),
        }
    }
}

impl Default for State {
    fn default() -> Self {
        Self::Other(Value::Null)
    }
}

impl From<GpuState> for State {
    fn from(state: GpuState) -> Self {
        Self::Own(state)
    }
}

/// A whole number, also where it was written as a quotient: `1.0`.
pub(crate) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let number = f64::deserialize(deserializer)?;
    if number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number) {
        return Ok(number as u32);
    }
    Err(serde::de::Error::custom(format!(
        "found {number}, expected a whole number from 0 to {}",
        u32::MAX
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Row {
        #[serde(deserialize_with = "whole")]
        launches: u32,
    }

    #[test]
    fn quotients_that_are_whole_are_read() {
        let read = |text: &str| serde_json::from_str::<Row>(text).map(|row| row.launches);
        assert_eq!(read(r#"{"launches": 3}"#).unwrap(), 3);
        assert_eq!(read(r#"{"launches": 3.0}"#).unwrap(), 3);
        for bad in ["2.5", "-1", "4294967296", "\"1\"", "null"] {
            assert!(read(&format!("{{\"launches\": {bad}}}")).is_err(), "{bad}");
        }
    }

    #[test]
    fn states_are_read_in_either_form_and_told_apart() {
        let own = r#"{"sm_clock_mhz": 1980, "memory_clock_mhz": 3201, "temperature_c": 40, "power_w": 75.5, "throttle_reasons": ["gpu_idle", "hw_slowdown"]}"#;
        let state: State = serde_json::from_str(own).unwrap();
        assert_eq!(state.own("x").unwrap().temperature_c, 40);
        assert_eq!(state.throttling(), ["hw_slowdown"]);
        for other in [r#""2520 MHz, 61 C""#, r#"{"clocks": "P0"}"#, "null", "[]"] {
            let state: State = serde_json::from_str(other).unwrap();
            assert_eq!(state.own("gpu_state").unwrap_err().field, "gpu_state");
            assert!(state.throttling().is_empty());
        }
    }
}
