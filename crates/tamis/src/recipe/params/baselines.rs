//! Methods that papers compare with: `tsgd`, `fofs`, `sofs`, `sadmm`, `single-stage`.

use super::{default_l1, default_rate, scheduled};
use crate::recipe::ScheduleKind;
use crate::recipe::table::{Range, params};

params! {
    /// Parameters of `tsgd`.
    pub struct TsgdParams {
        /// c: the first step [default: 0.5, 1 for the schedule inverse, less for large rows].
        learning_rate: Option<f64> = None, LEARNING_RATE, Range::above(0.0);
        /// Learning-rate schedule, the same for all weights [default: inverse-sqrt].
        schedule: Option<ScheduleKind> = None, SCHEDULE;
        /// q of the schedule power: c/t^q.
        power: f64 = 0.5, POWER, Range::at_least(0.0).at_most(1.0);
    }
}
scheduled!(TsgdParams, ScheduleKind::InverseSqrt, default_rate);

params! {
    /// Parameters of `fofs`.
    pub struct FofsParams {
        /// λ: weight decay; weights stay in a ball of radius 1/√λ.
        fofs_lambda: f64 = 0.01, FOFS_LAMBDA, Range::above(0.0).at_most(1.0);
        /// η: the step [default: 0.2, less for large rows].
        learning_rate: Option<f64> = None, LEARNING_RATE, Range::above(0.0);
        /// Learning-rate schedule, the same for all weights [default: constant].
        schedule: Option<ScheduleKind> = None, SCHEDULE;
        /// q of the schedule power: c/t^q.
        power: f64 = 0.5, POWER, Range::at_least(0.0).at_most(1.0);
    }
}
scheduled!(FofsParams, ScheduleKind::Constant, |_| 0.2);

params! {
    /// Parameters of `sofs`.
    pub struct SofsParams {
        /// r: regularization of AROW; larger means smaller updates.
        sofs_r: f64 = 1.0, SOFS_R, Range::above(0.0);
    }
}

params! {
    /// Parameters of `sadmm`.
    pub struct SadmmParams {
        /// λ₁: L1 strength, more is sparser [default: 0.0001, 0 if k is given].
        l1: Option<f64> = None, L1, Range::at_least(0.0);
        /// ρ: strength of the augmented Lagrangian.
        admm_rho: f64 = 1.0, ADMM_RHO, Range::above(0.0);
        /// c: the first step [default: 0.5, 1 for the schedule inverse, less for large rows].
        learning_rate: Option<f64> = None, LEARNING_RATE, Range::above(0.0);
        /// Learning-rate schedule, the same for all weights [default: inverse-sqrt].
        schedule: Option<ScheduleKind> = None, SCHEDULE;
        /// q of the schedule power: c/t^q.
        power: f64 = 0.5, POWER, Range::at_least(0.0).at_most(1.0);
    }
}
scheduled!(SadmmParams, ScheduleKind::InverseSqrt, default_rate);

impl SadmmParams {
    /// λ₁ in force.
    pub fn l1(&self, k: Option<usize>) -> f64 {
        self.l1.unwrap_or_else(|| default_l1(k))
    }
}

params! {
    /// Parameters of `single-stage`.
    pub struct SingleStageParams {
        /// B: the largest ‖w‖₁, in scaled units [default: 10; two-stage finds it from the data].
        radius: Option<f64> = None, RADIUS, Range::above(0.0);
        /// c: the first step [default: 0.5, 1 for the schedule inverse].
        learning_rate: Option<f64> = None, LEARNING_RATE, Range::above(0.0);
        /// Learning-rate schedule, the same for all weights [default: inverse-sqrt].
        schedule: Option<ScheduleKind> = None, SCHEDULE;
        /// q of the schedule power: c/t^q.
        power: f64 = 0.5, POWER, Range::at_least(0.0).at_most(1.0);
    }
}
scheduled!(SingleStageParams, ScheduleKind::InverseSqrt, default_rate);

impl SingleStageParams {
    /// B in force.
    pub fn radius(&self) -> f64 {
        self.radius.unwrap_or(10.0)
    }
}
