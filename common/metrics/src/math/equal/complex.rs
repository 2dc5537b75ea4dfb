//! Complex numbers with a bound of their rounding error.
//!
//! Elementary functions are `libm`'s, so that values are the same on every machine.

/// Distance of 1 from the next double.
const ROUNDING: f64 = f64::EPSILON;
/// Smallest size at which doubles have all their digits; what is smaller, and not zero, is no value.
const SMALLEST: f64 = 1e-290;

/// Returns `true` for whole numbers whose next one is a double too.
fn is_exact(number: f64) -> bool {
    number == number.trunc() && number.abs() < 9e15
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Complex {
    pub(super) re: f64,
    pub(super) im: f64,
    /// Bound of the distance from the exact value, to first order.
    pub(super) error: f64,
}

impl Complex {
    pub(super) const NONE: Self = Self { re: f64::NAN, im: 0.0, error: 0.0 };
    pub(super) const IMAGINARY: Self = Self { re: 0.0, im: 1.0, error: 0.0 };

    /// A real number, exact where it is whole.
    pub(super) fn real(re: f64) -> Self {
        Self { re, im: 0.0, error: if is_exact(re) { 0.0 } else { re.abs() * ROUNDING } }
    }

    pub(super) fn is_real(self) -> bool {
        self.im == 0.0
    }

    fn is_zero(self) -> bool {
        self.re == 0.0 && self.im == 0.0
    }

    pub(super) fn is_finite(self) -> bool {
        self.re.is_finite() && self.im.is_finite() && self.error.is_finite()
    }

    pub(super) fn size(self) -> f64 {
        if self.is_real() { self.re.abs() } else { libm::hypot(self.re, self.im) }
    }

    /// With the error of its own rounding, and with what its operands bring.
    fn rounded(self, brought: f64) -> Self {
        let is_exact = brought == 0.0 && self.is_real() && is_exact(self.re);
        let error = if is_exact { 0.0 } else { self.size() * ROUNDING + brought };
        let is_lost = self.size() < SMALLEST;
        if is_lost { Self::NONE } else { Self { error, ..self } }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im, error: self.error + other.error }
    }

    pub(super) fn negated(self) -> Self {
        Self { re: -self.re, im: -self.im, ..self }
    }

    pub(super) fn times(self, other: Self) -> Self {
        let error = self.size() * other.error + other.size() * self.error;
        if self.is_zero() || other.is_zero() {
            return Self { error, ..Self::real(if self.is_finite() && other.is_finite() { 0.0 } else { f64::NAN }) };
        }
        let (re, im) = if self.is_real() && other.is_real() {
            (self.re * other.re, 0.0)
        } else {
            (self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)
        };
        Self { re, im, error }.rounded(error)
    }

    pub(super) fn inverted(self) -> Self {
        let square = self.re * self.re + self.im * self.im;
        let (re, im) = if self.is_real() { (1.0 / self.re, 0.0) } else { (self.re / square, -self.im / square) };
        Self { re, im, error: 0.0 }.rounded(self.error / square)
    }

    fn exponential(self) -> Self {
        let size = libm::exp(self.re);
        let (re, im) =
            if self.is_real() { (size, 0.0) } else { (size * libm::cos(self.im), size * libm::sin(self.im)) };
        Self { re, im, error: 0.0 }.rounded(size * (self.error + ROUNDING))
    }

    pub(super) fn logarithm(self) -> Self {
        if self.is_zero() {
            return Self::NONE;
        }
        let error = self.error / self.size() + ROUNDING;
        if self.is_real() && self.re > 0.0 {
            return Self { error, ..Self::real(libm::log(self.re)) };
        }
        Self { re: libm::log(self.size()), im: libm::atan2(self.im, self.re), error }
    }

    pub(super) fn power(self, exponent: Self) -> Self {
        if exponent.is_real() && exponent.re == exponent.re.trunc() && exponent.re.abs() <= 64.0 {
            let mut power = Self::real(1.0);
            for _ in 0..exponent.re.abs() as u32 {
                power = power.times(self);
            }
            return if exponent.re < 0.0 { power.inverted() } else { power };
        }
        if self.is_zero() {
            return if exponent.re > 0.0 { self } else { Self::NONE };
        }
        if self.is_real() && self.re > 0.0 && exponent.is_real() {
            return self.real_power(exponent);
        }
        self.logarithm().times(exponent).exponential()
    }

    /// A real power of a positive number.
    pub(super) fn real_power(self, exponent: Self) -> Self {
        let power = libm::pow(self.re, exponent.re);
        let brought = exponent.re.abs() * self.error / self.re + libm::log(self.re).abs() * exponent.error;
        Self { re: power, im: 0.0, error: 0.0 }.rounded(power * brought)
    }

    pub(super) fn sine(self) -> Self {
        let (re, im) = if self.is_real() {
            (libm::sin(self.re), 0.0)
        } else {
            (libm::sin(self.re) * libm::cosh(self.im), libm::cos(self.re) * libm::sinh(self.im))
        };
        Self { re, im, error: (self.error + ROUNDING) * libm::cosh(self.im) }
    }

    pub(super) fn cosine(self) -> Self {
        let (re, im) = if self.is_real() {
            (libm::cos(self.re), 0.0)
        } else {
            (libm::cos(self.re) * libm::cosh(self.im), -libm::sin(self.re) * libm::sinh(self.im))
        };
        Self { re, im, error: (self.error + ROUNDING) * libm::cosh(self.im) }
    }

    /// A function of real numbers, which multiplies the error by `slope`.
    pub(super) fn mapped(self, function: fn(f64) -> f64, slope: f64) -> Self {
        if !self.is_real() {
            return Self::NONE;
        }
        let re = function(self.re);
        Self { re, im: 0.0, error: self.error * slope + re.abs() * ROUNDING }
    }
}
