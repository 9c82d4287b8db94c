//! Literal step sizes: η_tj = h_t · a_j for every weight j, where one of the two factors is 1.

use tamis::recipe::{ScheduleKind, Steps};

/// The step sizes of p weights and, at the last position, of the intercept.
pub(super) struct Rates {
    kind: ScheduleKind,
    start: f64,
    power: f64,
    step: u64,
    /// Σ g_j², for `auto` each multiplied by ‖x/s‖².
    energy: Vec<f64>,
    /// s_j: the largest |x_j| so far.
    largest: Vec<f64>,
}

impl Rates {
    pub fn new(steps: Steps, p: usize) -> Self {
        Rates {
            kind: steps.schedule,
            start: steps.learning_rate,
            power: steps.power,
            step: 0,
            energy: vec![0.0; p + 1],
            largest: vec![0.0; p + 1],
        }
    }

    /// Before a row is learned: with `auto`, a weight is rescaled if the largest value of its feature grows.
    pub fn carry(&self, x: &[f64], w: &mut [f64]) {
        for ((w, x), s) in w.iter_mut().zip(x).zip(&self.largest) {
            if self.kind == ScheduleKind::Auto && *s > 0.0 && x.abs() > *s {
                *w *= s / x.abs();
            }
        }
    }

    /// Begins the next step, on row `x` with gradient slope·x; the intercept is a feature that is always 1.
    pub fn observe(&mut self, x: &[f64], slope: f64) {
        self.step += 1;
        let x: Vec<f64> = x.iter().copied().chain([1.0]).collect();
        for (s, x) in self.largest.iter_mut().zip(&x) {
            *s = s.max(x.abs());
        }
        let relative = x.iter().zip(&self.largest).filter(|(_, s)| **s > 0.0).map(|(x, s)| (x / s) * (x / s));
        let length = if self.kind == ScheduleKind::Auto { relative.sum() } else { 1.0 };
        for (energy, x) in self.energy.iter_mut().zip(&x) {
            *energy += (slope * x) * (slope * x) * length;
        }
    }

    /// h_t of the current step.
    pub fn global(&self) -> f64 {
        let t = self.step as f64;
        match self.kind {
            ScheduleKind::Constant => self.start,
            ScheduleKind::InverseSqrt => self.start / t.sqrt(),
            ScheduleKind::Inverse => self.start / t,
            ScheduleKind::Power => self.start / t.powf(self.power),
            ScheduleKind::Adagrad | ScheduleKind::Auto => 1.0,
        }
    }

    /// The current a_j; 0 for a weight that never had a gradient.
    pub fn own(&self, j: usize) -> f64 {
        let divisor = match self.kind {
            ScheduleKind::Adagrad => self.energy[j].sqrt(),
            ScheduleKind::Auto => self.largest[j] * self.energy[j].sqrt(),
            _ => return 1.0,
        };
        if divisor > 0.0 { self.start / divisor } else { 0.0 }
    }

    /// η_tj.
    pub fn of(&self, j: usize) -> f64 {
        self.global() * self.own(j)
    }
}
