//! Cosine and sine by polynomials, without branches: the compiler vectorises loops over them, and the result does not
//! depend on the mathematical library of the system.
//!
//! The argument is reduced to [−π/4, π/4] by subtracting a multiple of π/2 in three parts (Cody & Waite 1980); the
//! polynomials there are the Taylor series up to x¹⁷ and x¹⁸, whose next term is below 2⁻⁶³. The error is a few units in
//! the last place for arguments up to 10⁵; the frequencies and inputs of a kernel model stay far below.
//!
//! [`cos_sin_all`] and [`cos_all`] are compiled a second time for AVX2, and use it where the processor has it. Products
//! and sums are not fused, so that the result has the same bits on any processor.

/// π/2 in three parts; products of the first two with a whole number below 2²⁰ are exact.
const HALF_PI: [f64; 3] = [1.570_796_326_734_125_6, 6.077_100_506_303_966e-11, 2.022_266_248_795_950_7e-21];
/// Adding and subtracting it rounds to a whole number, whose lowest bits are those of the sum.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// Replaces every angle by the cosine of `angle + shift`, and writes the sines.
pub fn cos_sin_all(angles: &mut [f64], shift: f64, sines: &mut [f64]) {
    pulp::Arch::new().dispatch(|| {
        for (angle, sine) in angles.iter_mut().zip(sines) {
            (*angle, *sine) = cos_sin(*angle + shift);
        }
    });
}

/// Replaces every angle by the cosine of `angle + shift`.
pub fn cos_all(angles: &mut [f64], shift: f64) {
    pulp::Arch::new().dispatch(|| angles.iter_mut().for_each(|angle| *angle = cos_sin(*angle + shift).0));
}

/// cos x and sin x.
#[inline(always)]
pub fn cos_sin(x: f64) -> (f64, f64) {
    let shifted = x * std::f64::consts::FRAC_2_PI + ROUND;
    let quarter = shifted.to_bits();
    let turns = shifted - ROUND;
    let r = ((x - turns * HALF_PI[0]) - turns * HALF_PI[1]) - turns * HALF_PI[2];
    let square = r * r;
    let sine = r + r * square * polynomial(square, &SINE);
    let cosine = 1.0 - 0.5 * square + square * square * polynomial(square, &COSINE);
    let is_odd = quarter & 1 == 1;
    let (cosine, sine) = (if is_odd { sine } else { cosine }, if is_odd { cosine } else { sine });
    // Quarters 1 and 2 have a negative cosine, 2 and 3 a negative sine.
    let minus_cosine = if (quarter + 1) & 2 == 2 { -1.0 } else { 1.0 };
    let minus_sine = if quarter & 2 == 2 { -1.0 } else { 1.0 };
    (minus_cosine * cosine, minus_sine * sine)
}

/// −1/3!, 1/5!, …
const SINE: [f64; 8] = [
    -1.0 / 6.0,
    1.0 / 120.0,
    -1.0 / 5_040.0,
    1.0 / 362_880.0,
    -1.0 / 39_916_800.0,
    1.0 / 6_227_020_800.0,
    -1.0 / 1_307_674_368_000.0,
    1.0 / 355_687_428_096_000.0,
];
/// 1/4!, −1/6!, …
const COSINE: [f64; 8] = [
    1.0 / 24.0,
    -1.0 / 720.0,
    1.0 / 40_320.0,
    -1.0 / 3_628_800.0,
    1.0 / 479_001_600.0,
    -1.0 / 87_178_291_200.0,
    1.0 / 20_922_789_888_000.0,
    -1.0 / 6_402_373_705_728_000.0,
];

#[inline(always)]
fn polynomial(x: f64, coefficients: &[f64; 8]) -> f64 {
    let [a, b, c, d, e, f, g, h] = coefficients;
    a + x * (b + x * (c + x * (d + x * (e + x * (f + x * (g + x * h))))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_angles_have_the_bits_of_each() {
        let angles: Vec<f64> = (0..1003).map(|step| f64::from(step) * 0.37 - 150.0).collect();
        let (mut both, mut sines, mut alone) = (angles.clone(), vec![0.0; angles.len()], angles.clone());
        cos_sin_all(&mut both, 0.25, &mut sines);
        cos_all(&mut alone, 0.25);
        for (place, angle) in angles.iter().enumerate() {
            let (cosine, sine) = cos_sin(angle + 0.25);
            assert_eq!([both[place], sines[place], alone[place]], [cosine, sine, cosine]);
        }
    }

    #[test]
    fn it_agrees_with_the_library() {
        for step in -200_000..200_000_i32 {
            let x = f64::from(step) * 0.001_7 + f64::from(step % 7) * 1e-9;
            let (cosine, sine) = cos_sin(x);
            assert!((cosine - x.cos()).abs() < 4e-16 && (sine - x.sin()).abs() < 4e-16, "{x}: {cosine} {sine}");
        }
        assert_eq!(cos_sin(0.0), (1.0, 0.0));
        for x in [1e4, -98_765.4] {
            assert!((cos_sin(x).0 - x.cos()).abs() < 1e-14, "{x}");
        }
    }
}
