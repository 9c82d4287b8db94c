//! Penalties on one standardised coefficient, and the minimiser each has in one dimension.
//!
//! Source: Sun et al. 2018, section 3.5, equations (11) and (12); MCP: Zhang 2010; SCAD: Fan & Li 2001; elastic net:
//! Zou & Hastie 2005. On standardised moments the curvature of the loss in one coordinate is 1, so coordinate descent
//! needs
//! ```text
//! Θ(t; λ) = argmin_β  ½β² − tβ + P(β; λ)
//! lasso        S(t, λ)                     S(t, a) = sign(t)·max(|t| − a, 0)
//! elastic net  S(t, ρλ)/(1 + (1 − ρ)λ)
//! MCP          S(t, λ)/(1 − 1/b) up to |t| = bλ, then t                                                (12)
//! SCAD         S(t, λ) up to 2λ, S(t, aλ/(a − 1))/(1 − 1/(a − 1)) up to aλ, then t
//! ```
//! | symbol | field | default |
//! |---|---|---|
//! | λ | `penalty` | by k, by a criterion or given; in units of the target, as scikit-learn's `alpha` on standardised columns |
//! | ρ | `l1_ratio` | 0.5, scikit-learn's `l1_ratio` |
//! | b | `concavity` of MCP | 3, Breheny & Huang 2011 |
//! | a | `concavity` of SCAD | 3.7, Fan & Li 2001 |
//!
//! The ridge part of the elastic net depends on the unit of the target, as in scikit-learn: where the target varies
//! much, a share near 1 or `--refit` keeps it from shrinking everything.
//!
//! Departure (E26): the paper takes gradient steps with Θ(·; ηλ), which is not the proximal map of ηP for MCP; with
//! coordinate descent the curvature is 1 and (12) is exact.

/// A penalty; λ is given with each question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Penalty {
    /// λ|β|.
    Lasso,
    /// λ(ρ|β| + (1 − ρ)β²/2), ρ in (0, 1].
    ElasticNet(f64),
    /// Minimax concave, b > 1.
    Mcp(f64),
    /// Smoothly clipped absolute deviation, a > 2.
    Scad(f64),
}

/// S(t, a).
fn soft(t: f64, a: f64) -> f64 {
    t.signum() * (t.abs() - a).max(0.0)
}

impl Penalty {
    /// P(β; λ).
    pub fn value(self, beta: f64, lambda: f64) -> f64 {
        let size = beta.abs();
        match self {
            Penalty::Lasso => lambda * size,
            Penalty::ElasticNet(share) => lambda * (share * size + (1.0 - share) * size * size / 2.0),
            Penalty::Mcp(b) if size <= b * lambda => lambda * size - size * size / (2.0 * b),
            Penalty::Mcp(b) => b * lambda * lambda / 2.0,
            Penalty::Scad(_) if size <= lambda => lambda * size,
            Penalty::Scad(a) if size <= a * lambda => {
                (2.0 * a * lambda * size - size * size - lambda * lambda) / (2.0 * (a - 1.0))
            }
            Penalty::Scad(a) => lambda * lambda * (a + 1.0) / 2.0,
        }
    }

    /// Θ(t; λ).
    #[inline]
    pub fn threshold(self, t: f64, lambda: f64) -> f64 {
        match self {
            Penalty::Lasso => soft(t, lambda),
            Penalty::ElasticNet(share) => soft(t, share * lambda) / (1.0 + (1.0 - share) * lambda),
            Penalty::Mcp(b) if t.abs() <= b * lambda => soft(t, lambda) / (1.0 - 1.0 / b),
            Penalty::Scad(_) if t.abs() <= 2.0 * lambda => soft(t, lambda),
            Penalty::Scad(a) if t.abs() <= a * lambda => soft(t, a * lambda / (a - 1.0)) / (1.0 - 1.0 / (a - 1.0)),
            Penalty::Mcp(_) | Penalty::Scad(_) => t,
        }
    }

    /// Where β ≠ 0 the slope is l·sign(β) + q·β: the l and q of the piece that β lies in.
    pub fn piece(self, beta: f64, lambda: f64) -> (f64, f64) {
        let size = beta.abs();
        match self {
            Penalty::Lasso => (lambda, 0.0),
            Penalty::ElasticNet(share) => (share * lambda, (1.0 - share) * lambda),
            Penalty::Mcp(b) if size <= b * lambda => (lambda, -1.0 / b),
            Penalty::Scad(_) if size <= lambda => (lambda, 0.0),
            Penalty::Scad(a) if size <= a * lambda => (a * lambda / (a - 1.0), -1.0 / (a - 1.0)),
            Penalty::Mcp(_) | Penalty::Scad(_) => (0.0, 0.0),
        }
    }

    /// A coefficient of zero stays zero while the size of its gradient is at most this.
    pub fn entry(self, lambda: f64) -> f64 {
        match self {
            Penalty::ElasticNet(share) => share * lambda,
            _ => lambda,
        }
    }

    /// Whether the problem is convex: then there is a duality gap.
    pub fn is_convex(self) -> bool {
        matches!(self, Penalty::Lasso | Penalty::ElasticNet(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Penalty; 4] = [Penalty::Lasso, Penalty::ElasticNet(0.4), Penalty::Mcp(3.0), Penalty::Scad(3.7)];

    #[test]
    fn the_threshold_minimises() {
        for penalty in ALL {
            for lambda in [0.3, 1.0] {
                for step in -60..=60 {
                    let t = f64::from(step) / 10.0;
                    let cost = |beta: f64| 0.5 * beta * beta - t * beta + penalty.value(beta, lambda);
                    let found = penalty.threshold(t, lambda);
                    let best = (-8000..=8000).map(|i| cost(f64::from(i) / 1000.0)).fold(f64::INFINITY, f64::min);
                    assert!(cost(found) <= best + 1e-12, "{penalty:?} {lambda} {t}: {found}");
                }
            }
        }
    }

    #[test]
    fn pieces_are_slopes_and_join() {
        for penalty in ALL {
            for size in [0.05, 0.4, 0.9, 1.3, 2.0, 2.9, 3.5, 5.0] {
                let (l, q) = penalty.piece(size, 1.0);
                let slope = (penalty.value(size + 1e-6, 1.0) - penalty.value(size - 1e-6, 1.0)) / 2e-6;
                assert!((l + q * size - slope).abs() < 1e-6, "{penalty:?} {size}");
                assert_eq!(penalty.value(-size, 1.0), penalty.value(size, 1.0));
            }
        }
    }

    #[test]
    fn by_hand() {
        assert_eq!(Penalty::Mcp(2.0).threshold(1.5, 1.0), 1.0);
        assert_eq!(Penalty::Mcp(2.0).threshold(-2.5, 1.0), -2.5);
        assert_eq!(Penalty::Scad(3.0).threshold(2.5, 1.0), 2.0);
        assert_eq!(Penalty::ElasticNet(0.5).threshold(3.0, 2.0), 1.0);
    }
}
