//! Whole numbers in decimal digits.

/// The digits of the largest number.
const MOST: usize = 20;

/// Appends a number.
#[inline]
pub fn put_decimal(out: &mut Vec<u8>, number: u64) {
    let digit = |unit: u64| b'0' + (number / unit % 10) as u8;
    match number {
        0..10 => out.push(digit(1)),
        10..100 => out.extend_from_slice(&[digit(10), digit(1)]),
        100..1000 => out.extend_from_slice(&[digit(100), digit(10), digit(1)]),
        _ => put_long(out, number),
    }
}

fn put_long(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; MOST];
    let mut start = MOST;
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

/// Appends a number, with a minus sign if it is negative.
pub fn put_signed(out: &mut Vec<u8>, number: i64) {
    if number < 0 {
        out.push(b'-');
    }
    put_decimal(out, number.unsigned_abs());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals() {
        for number in [0, 9, 10, 99, 100, 205, 999, 1000, 1234, u64::MAX] {
            let mut out = Vec::new();
            put_decimal(&mut out, number);
            assert_eq!(out, number.to_string().into_bytes());
        }
        for number in [0, 7, 10, -1, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            put_signed(&mut out, number);
            assert_eq!(out, number.to_string().into_bytes());
        }
    }
}
