//! Numbers as JSON writes them.

/// What a number needs to be held as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// A whole number that 64 bits hold. `is_large` if a double may not hold it.
    Whole { is_large: bool },
    /// Zero with a minus sign, and without a fraction, which only a double keeps.
    MinusZero,
    /// A number with a fraction or an exponent, which a double writes with the same digits.
    Double,
    /// A number that neither 64 bits nor a double hold.
    Other,
    /// A number whose exponent Arrow's reader refuses even in columns that it leaves out.
    Huge,
}

/// The largest whole number up to which a double has all.
const MAX_EXACT: u64 = 1 << 53;

/// So many digits are those of a double, whatever they are.
const SURE_DIGITS: usize = 15;

/// No double needs more digits.
const MAX_DIGITS: usize = 17;

/// The largest exponent that Arrow's reader takes after a whole number.
const MAX_EXPONENT: i64 = 308;

/// The powers of ten at which doubles have all of their digits.
const SURE_EXPONENTS: std::ops::RangeInclusive<i64> = -290..=290;

/// Reads a number at the beginning of a text; returns it with its length, and None if the text
/// begins with no number.
pub fn number(text: &[u8]) -> Option<(Number, usize)> {
    let is_negative = text.first() == Some(&b'-');
    let start = usize::from(is_negative);
    let whole = digits(&text[start..]);
    let mut at = start + whole;
    if whole == 0 || (whole > 1 && text[start] == b'0') {
        return None;
    }
    let mut is_whole = true;
    if text.get(at) == Some(&b'.') {
        let fraction = digits(&text[at + 1..]);
        if fraction == 0 {
            return None;
        }
        at += 1 + fraction;
        is_whole = false;
    }
    let mantissa = at;
    if matches!(text.get(at), Some(b'e' | b'E')) {
        at += 1 + usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(&text[at..]);
        if exponent == 0 {
            return None;
        }
        at += exponent;
        is_whole = false;
    }
    if is_whole {
        let integer = integer(&text[start..at], is_negative);
        return Some((integer.unwrap_or(Number::Other), at));
    }
    let exponent = &text[mantissa..at];
    if is_huge(exponent) {
        return Some((Number::Huge, at));
    }
    let is_double = is_double(&text[start..mantissa], exponent, &text[start..at]);
    Some((
        if is_double {
            Number::Double
        } else {
            Number::Other
        },
        at,
    ))
}

fn is_huge(exponent: &[u8]) -> bool {
    let [_, power @ ..] = exponent else {
        return false;
    };
    if power.first() == Some(&b'-') {
        return false;
    }
    let power = std::str::from_utf8(power).map(str::parse::<i64>);
    !matches!(power, Ok(Ok(..=MAX_EXPONENT)))
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn integer(digits: &[u8], is_negative: bool) -> Option<Number> {
    let mut value = 0u64;
    for digit in digits {
        value = value
            .checked_mul(10)?
            .checked_add(u64::from(digit - b'0'))?;
    }
    if value > i64::MAX as u64 + u64::from(is_negative) {
        return None;
    }
    if value == 0 && is_negative {
        return Some(Number::MinusZero);
    }
    let is_large = value > MAX_EXACT;
    Some(Number::Whole { is_large })
}

/// Returns whether the double next to a number has its digits, and no others.
fn is_double(mantissa: &[u8], exponent: &[u8], number: &[u8]) -> bool {
    if exponent.is_empty() && mantissa.len() <= SURE_DIGITS {
        return true;
    }
    let Some((digits, power)) = parts(mantissa, exponent) else {
        return false;
    };
    if digits.is_empty() || (digits.len() <= SURE_DIGITS && SURE_EXPONENTS.contains(&power)) {
        return true;
    }
    if digits.len() > MAX_DIGITS {
        return false;
    }
    let text = std::str::from_utf8(number).unwrap_or_default();
    let shortest = text.parse::<f64>().map(|double| format!("{double:e}"));
    let Some((mantissa, exponent)) = shortest.as_deref().ok().and_then(|s| s.split_once('e'))
    else {
        return false; // infinite
    };
    parts(mantissa.as_bytes(), format!("e{exponent}").as_bytes()) == Some((digits, power))
}

/// Returns the digits of a number without zeros at either end, and the power of ten of the first
/// one. None for an exponent that no double has.
fn parts(mantissa: &[u8], exponent: &[u8]) -> Option<(Vec<u8>, i64)> {
    const MAX_EXPONENT_CHARS: usize = 8;
    let mut power = match exponent {
        [] => 0,
        [_, power @ ..] if power.len() <= MAX_EXPONENT_CHARS => {
            std::str::from_utf8(power).ok()?.parse::<i64>().ok()?
        }
        _ => return None,
    };
    let point = mantissa.iter().position(|&byte| byte == b'.');
    power += point.unwrap_or(mantissa.len()) as i64 - 1;
    let mut digits: Vec<u8> = mantissa.iter().copied().filter(|&b| b != b'.').collect();
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    digits.drain(..zeros);
    power -= zeros as i64;
    let used = digits.iter().rposition(|&digit| digit != b'0');
    digits.truncate(used.map_or(0, |last| last + 1));
    Some((digits, power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers() {
        let small = Some(Number::Whole { is_large: false });
        let large = Some(Number::Whole { is_large: true });
        let other = Some(Number::Other);
        for (text, expected) in [
            ("0", small),
            ("-1", small),
            ("-0", Some(Number::MinusZero)),
            ("9007199254740992", small),
            ("9007199254740993", large),
            ("9223372036854775807", large),
            ("9223372036854775808", other),
            ("-9223372036854775808", large),
            ("-9223372036854775809", other),
            ("123456789012345678901234567890", other),
            ("01", None),
            ("-", None),
            ("", None),
            ("+1", None),
        ] {
            let found = number(text.as_bytes());
            assert_eq!(found, expected.map(|kind| (kind, text.len())), "{text}");
        }
        assert_eq!(number(b"12,").unwrap().1, 2);
    }

    #[test]
    fn doubles_have_the_digits_that_are_written() {
        for text in [
            "1.00",
            "-0.0",
            "0e308",
            "1E5",
            "1e+22",
            "0.1",
            "0.30000000000000004",
            "2.2250738585072014e-308",
            "5e-324",
            "1.7976931348623157e308",
            "123456789012345680000.0",
            "0.00000000000000000000000000012345",
        ] {
            assert_eq!(number(text.as_bytes()), Some((Number::Double, text.len())));
        }
        for text in [
            "2e308",
            "1e-400",
            "4e-324",
            "0.1000000000000000055511151231257827",
            "0.30000000000000001",
            "9007199254740993.0",
            "1e-99999999999999999999",
        ] {
            assert_eq!(number(text.as_bytes()), Some((Number::Other, text.len())));
        }
        for text in ["0e309", "1E+400", "1e99999999999999999999"] {
            assert_eq!(number(text.as_bytes()), Some((Number::Huge, text.len())));
        }
        for text in ["1.", ".5", "1e", "1e+"] {
            assert_eq!(number(text.as_bytes()), None, "{text}");
        }
    }
}
