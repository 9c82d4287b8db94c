//! The numbers and switches of the paper, as plain data.

use serde::{Deserialize, Serialize};

use super::PaperError;

/// When an update of a feature counts towards its gravity and its votes (E6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Count {
    /// x_j ≠ 0 and the loss has a slope: the weight was really updated, as the text says.
    #[default]
    Informative,
    /// x_j ≠ 0: the letter of Algorithms 2 and 3. With hinge loss it pulls every weight that is right to zero.
    Present,
}

/// What κ, the denominator of Π, counts (E4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// Bursts with at least one counted update: the denominator of (8).
    #[default]
    Bursts,
    /// The updates themselves: the letter of section 5. Π of a feature in every row is then at most 1/K.
    Updates,
}

/// Which way up the annealing curve stands (E2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Curve {
    /// As in the text and Figure 2: β₀ while nothing is purged, 0 when all is.
    #[default]
    Corrected,
    /// The letter of (12): 0 while nothing is purged, so that nothing ever is.
    Printed,
}

/// The numbers of Algorithm 4 and section 5; the head of the module says where the defaults are from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Settings {
    /// M: paths, each over its own permutation of the rows.
    pub paths: u32,
    /// K₀: rows a burst.
    pub burst: u32,
    /// n_K: bursts a stage.
    pub bursts: u32,
    /// β₀: the largest rejection rate.
    pub rejection: f64,
    /// γ: how fast the rejection rate falls as features are purged.
    pub annealing: f64,
    /// π₀: a feature with a smaller Π is purged.
    pub cutoff: f64,
    /// η: the constant step size.
    pub rate: f64,
    /// Passes of each path over the rows. At least one stage follows the pilot, however few rows there are.
    pub passes: u32,
    /// The run also ends when no mean weight has moved by more than this share of the largest over a pass; 0 is never.
    pub tolerance: f64,
    /// δ_K: a feature is judged once its evidence κ is above this; until then evidence is carried over.
    pub evidence: u32,
    /// α: bursts grow to ⌈K₀·ln(1/(αd))⌉; `None` keeps them at K₀.
    pub growth: Option<f64>,
    /// p: all columns, also those that never occur; `None` counts those that do.
    pub columns: Option<u64>,
    /// Whether there is an intercept; the paper has none.
    pub intercept: bool,
    /// When an update counts.
    pub count: Count,
    /// What κ counts.
    pub evidence_in: Evidence,
    /// Which annealing curve.
    pub curve: Curve,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            paths: 16,
            burst: 5,
            bursts: 5,
            rejection: 0.7,
            annealing: -1.0,
            cutoff: 0.7,
            rate: 0.1,
            passes: 30,
            tolerance: 0.0,
            evidence: 0,
            growth: None,
            columns: None,
            intercept: false,
            count: Count::Informative,
            evidence_in: Evidence::Bursts,
            curve: Curve::Corrected,
        }
    }
}

/// More paths than this are a mistake, and would only exhaust memory.
const MOST_PATHS: u32 = 4096;
/// Rows a burst and bursts a stage stop here: counters of a burst have 32 bits.
const MOST_BURSTS: u32 = 1_000_000;

impl Settings {
    /// Whether every number lies in its interval.
    pub fn check(&self) -> Result<(), PaperError> {
        let share = "a number from 0 to 1";
        let count = "a whole number from 1 to 1000000";
        let growth = self.growth.unwrap_or(1.0);
        let rules = [
            ("paths", f64::from(self.paths), (1..=MOST_PATHS).contains(&self.paths), "a whole number from 1 to 4096"),
            ("burst", f64::from(self.burst), (1..=MOST_BURSTS).contains(&self.burst), count),
            ("bursts", f64::from(self.bursts), (1..=MOST_BURSTS).contains(&self.bursts), count),
            ("rejection", self.rejection, (0.0..=1.0).contains(&self.rejection), share),
            ("annealing", self.annealing, self.annealing.is_finite(), "a finite number"),
            ("cutoff", self.cutoff, (0.0..=1.0).contains(&self.cutoff), share),
            ("rate", self.rate, self.rate > 0.0 && self.rate.is_finite(), "a finite number above 0"),
            ("passes", f64::from(self.passes), self.passes > 0, "a whole number of at least 1"),
            ("tolerance", self.tolerance, self.tolerance >= 0.0, "a number of at least 0"),
            ("growth", growth, growth > 0.0 && growth.is_finite(), "a finite number above 0"),
        ];
        match rules.into_iter().find(|(_, _, holds, _)| !holds) {
            Some((name, found, _, expected)) => Err(PaperError::Setting { name, found, expected }),
            None => Ok(()),
        }
    }

    /// Bytes a run over so many rows, feature ids and non-zeros will take beside the rows, to be checked before it
    /// starts. Rows are taken to be of average length, bursts not to grow: they do so when few features are left.
    pub fn bytes(&self, rows: usize, span: usize, entries: usize) -> u64 {
        let [rows, span, entries] = [rows, span, entries].map(|count| count as u64);
        let (paths, bursts) = (u64::from(self.paths), u64::from(self.bursts));
        let touched = u64::from(self.burst).saturating_mul(entries.div_ceil(rows.max(1))).min(span);
        let records = bursts.saturating_mul(touched);
        let of_path =
            span.saturating_mul(16).saturating_add(rows.saturating_mul(4)).saturating_add(records.saturating_mul(24));
        // A copy of the rows is made when less than half of their entries are left.
        paths.saturating_mul(of_path).saturating_add(entries.saturating_mul(6)).saturating_add(span.saturating_mul(40))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_section_6_and_allowed() {
        let settings = Settings::default();
        assert_eq!((settings.paths, settings.burst, settings.bursts, settings.rejection), (16, 5, 5, 0.7));
        assert_eq!(settings.check(), Ok(()));
    }

    #[test]
    fn a_number_out_of_its_interval_is_named() {
        type Break = fn(&mut Settings);
        let broken: [(&str, Break); 10] = [
            ("paths", |s| s.paths = 4097),
            ("burst", |s| s.burst = 0),
            ("bursts", |s| s.bursts = 0),
            ("rejection", |s| s.rejection = 1.5),
            ("annealing", |s| s.annealing = f64::NAN),
            ("cutoff", |s| s.cutoff = -0.1),
            ("rate", |s| s.rate = 0.0),
            ("passes", |s| s.passes = 0),
            ("tolerance", |s| s.tolerance = f64::NAN),
            ("growth", |s| s.growth = Some(0.0)),
        ];
        for (name, breaks) in broken {
            let mut settings = Settings::default();
            breaks(&mut settings);
            let text = settings.check().unwrap_err().to_string();
            assert!(text.starts_with(&format!("preset paper: {name} must be a ")), "{text}");
        }
        let text = Settings { rejection: 1.5, ..Settings::default() }.check().unwrap_err().to_string();
        assert_eq!(text, "preset paper: rejection must be a number from 0 to 1, got 1.5");
    }

    #[test]
    fn settings_are_plain_data() {
        let settings = Settings { growth: Some(0.5), count: Count::Present, ..Settings::default() };
        let text = serde_json::to_string(&settings).unwrap();
        assert!(text.contains(r#""count":"present","evidence-in":"bursts","curve":"corrected""#), "{text}");
        assert_eq!(serde_json::from_str::<Settings>(&text).unwrap(), settings);
        assert_eq!(serde_json::from_str::<Settings>("{}").unwrap(), Settings::default());
        assert!(serde_json::from_str::<Settings>(r#"{"gamma": 1}"#).is_err());
    }

    #[test]
    fn memory_grows_with_paths_and_never_overflows() {
        let settings = Settings::default();
        let one = Settings { paths: 1, ..settings.clone() };
        assert!(settings.bytes(300, 20_000, 30_000) > 16 * 20_000 * 16);
        assert!(settings.bytes(300, 20_000, 30_000) > 5 * one.bytes(300, 20_000, 30_000));
        assert_eq!(settings.bytes(usize::MAX, usize::MAX, usize::MAX), u64::MAX);
    }
}
