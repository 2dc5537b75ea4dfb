//! The standard normal distribution.

use libm::{erfc, exp, log};
use std::f64::consts::{PI, SQRT_2};

/// P(Z > x).
pub fn normal_tail(x: f64) -> f64 {
    0.5 * erfc(x / SQRT_2)
}

/// The x of which P(Z <= x) = `p`, for 0 < p < 1; infinite at the ends, NaN beyond.
///
/// Wichura's algorithm AS 241 (PPND16), with one step of Newton's method.
pub fn normal_quantile(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p == 0.0 || p == 1.0 {
        return if p == 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    let x = wichura(p);
    // The tail on x's own side has no cancellation.
    let error = if x > 0.0 { (1.0 - p) - normal_tail(x) } else { normal_tail(-x) - p };
    let density = exp(-0.5 * x * x) / (2.0 * PI).sqrt();
    if density > 0.0 { x - error / density } else { x }
}

/// The z of which P(|Z| <= z) = `confidence`.
pub fn two_sided_z(confidence: f64) -> f64 {
    -normal_quantile(0.5 * (1.0 - confidence))
}

fn polynomial(coefficients: [f64; 8], at: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |value, coefficient| value * at + coefficient)
}

fn wichura(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * polynomial(CENTRE.0, r) / polynomial(CENTRE.1, r);
    }
    let r = (-log(if q < 0.0 { p } else { 1.0 - p })).sqrt();
    let value = match r <= 5.0 {
        true => polynomial(MIDDLE.0, r - 1.6) / polynomial(MIDDLE.1, r - 1.6),
        false => polynomial(FAR.0, r - 5.0) / polynomial(FAR.1, r - 5.0),
    };
    if q < 0.0 { -value } else { value }
}

type Ratio = ([f64; 8], [f64; 8]);

const CENTRE: Ratio = (
    [
        3.387_132_872_796_366_5,
        133.141_667_891_784_38,
        1_971.590_950_306_551_3,
        13_731.693_765_509_46,
        45_921.953_931_549_87,
        67_265.770_927_008_7,
        33_430.575_583_588_13,
        2_509.080_928_730_122_7,
    ],
    [
        1.0,
        42.313_330_701_600_91,
        687.187_007_492_057_9,
        5_394.196_021_424_751,
        21_213.794_301_586_597,
        39_307.895_800_092_71,
        28_729.085_735_721_943,
        5_226.495_278_852_854,
    ],
);

const MIDDLE: Ratio = (
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        0.241_780_725_177_450_6,
        0.022_723_844_989_269_184,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        0.689_767_334_985_1,
        0.148_103_976_427_480_08,
        0.015_198_666_563_616_457,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_8e-9,
    ],
);

const FAR: Ratio = (
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        0.296_560_571_828_504_87,
        0.026_532_189_526_576_124,
        1.242_660_947_388_078_4e-3,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        0.599_832_206_555_888,
        0.136_929_880_922_735_8,
        0.014_875_361_290_850_615,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_7e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
);
