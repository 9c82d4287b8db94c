//! The state of a learner as named arrays of numbers, for checkpoints.

use std::collections::BTreeMap;

use thiserror::Error;

/// Something made of a fixed count of `f64`.
pub trait ToF64s: Sized {
    /// The number of values.
    const WIDTH: usize;
    /// Appends them.
    fn pack(&self, out: &mut Vec<f64>);
    /// Reads `WIDTH` of them.
    fn unpack(fields: &[f64]) -> Self;
}

impl ToF64s for () {
    const WIDTH: usize = 0;
    fn pack(&self, _out: &mut Vec<f64>) {}
    fn unpack(_fields: &[f64]) -> Self {}
}

impl ToF64s for f64 {
    const WIDTH: usize = 1;
    fn pack(&self, out: &mut Vec<f64>) {
        out.push(*self);
    }
    fn unpack(fields: &[f64]) -> Self {
        fields[0]
    }
}

/// A state array is missing or does not fit.
#[derive(Debug, Error, PartialEq)]
#[error("state {name:?} {problem}")]
pub struct StateError {
    /// The name of the array.
    pub name: String,
    /// The reason.
    pub problem: &'static str,
}

/// Named arrays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    arrays: BTreeMap<String, Vec<f64>>,
    prefix: String,
}

impl State {
    /// Arrays with their names.
    pub fn arrays(&self) -> &BTreeMap<String, Vec<f64>> {
        &self.arrays
    }

    /// A state of the given arrays.
    pub fn from_arrays(arrays: BTreeMap<String, Vec<f64>>) -> Self {
        State { arrays, prefix: String::new() }
    }

    /// Sets a prefix for all further names (several learners share one state).
    pub fn set_prefix(&mut self, prefix: String) {
        self.prefix = prefix;
    }

    /// Stores numbers.
    pub fn put(&mut self, name: &str, numbers: Vec<f64>) {
        self.arrays.insert(format!("{}{name}", self.prefix), numbers);
    }

    /// Stores a whole number, exactly.
    pub fn put_count(&mut self, name: &str, count: u64) {
        self.put(name, vec![(count >> 32) as f64, (count & 0xffff_ffff) as f64]);
    }

    /// Stores packed things.
    pub fn put_all<P: ToF64s>(&mut self, name: &str, things: &[P]) {
        let mut numbers = Vec::with_capacity(things.len() * P::WIDTH + 1);
        numbers.push(things.len() as f64);
        things.iter().for_each(|thing| thing.pack(&mut numbers));
        self.put(name, numbers);
    }

    /// Takes numbers out.
    pub fn take(&mut self, name: &str) -> Result<Vec<f64>, StateError> {
        let name = format!("{}{name}", self.prefix);
        self.arrays.remove(&name).ok_or(StateError { name, problem: "is missing" })
    }

    /// Takes exactly `N` numbers out.
    pub fn take_fixed<const N: usize>(&mut self, name: &str) -> Result<[f64; N], StateError> {
        let numbers = self.take(name)?;
        numbers.try_into().map_err(|_| self.wrong_shape(name))
    }

    /// Takes a whole number out.
    pub fn take_count(&mut self, name: &str) -> Result<u64, StateError> {
        let [high, low] = self.take_fixed(name)?;
        // No count comes near 2⁶², and adding to it must not overflow.
        if !(0.0..2f64.powi(30)).contains(&high) || !(0.0..2f64.powi(32)).contains(&low) {
            return Err(self.wrong_shape(name));
        }
        Ok(((high as u64) << 32) | low as u64)
    }

    /// Takes packed things out.
    pub fn take_all<P: ToF64s>(&mut self, name: &str) -> Result<Vec<P>, StateError> {
        let numbers = self.take(name)?;
        let (count, fields) = numbers.split_first().ok_or_else(|| self.wrong_shape(name))?;
        let count = *count as usize;
        if Some(fields.len()) != count.checked_mul(P::WIDTH) || (P::WIDTH == 0 && count > u32::MAX as usize) {
            return Err(self.wrong_shape(name));
        }
        Ok((0..count).map(|i| P::unpack(&fields[i * P::WIDTH..(i + 1) * P::WIDTH])).collect())
    }

    /// The error for an array of the wrong length.
    pub fn wrong_shape(&self, name: &str) -> StateError {
        StateError { name: format!("{}{name}", self.prefix), problem: "does not fit this learner" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out() {
        let mut state = State::default();
        state.set_prefix("3/".into());
        state.put_count("steps", (1 << 60) + 7);
        state.put_all("weights", &[1.5, -0.0, f64::MIN_POSITIVE]);
        assert_eq!(state.take_count("steps"), Ok((1 << 60) + 7));
        assert_eq!(
            state.take_all::<f64>("weights").unwrap().map_bits(),
            [1.5, -0.0, f64::MIN_POSITIVE].to_vec().map_bits()
        );
        assert_eq!(state.take("steps").unwrap_err().to_string(), "state \"3/steps\" is missing");
    }

    trait MapBits {
        fn map_bits(self) -> Vec<u64>;
    }
    impl MapBits for Vec<f64> {
        fn map_bits(self) -> Vec<u64> {
            self.into_iter().map(f64::to_bits).collect()
        }
    }

    #[test]
    fn a_wrong_length_is_told() {
        let mut state = State::default();
        state.put("weights", vec![3.0, 1.0]);
        assert_eq!(state.take_all::<f64>("weights").unwrap_err().problem, "does not fit this learner");
    }
}
