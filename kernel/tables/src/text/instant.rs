//! Moments in time as S3 writes them: `2006-02-03T16:45:09.000Z`.

/// The first second of the year 1 and the last of the year 9999, since 1970. Times beyond are
/// shown as these.
const FIRST: i64 = -62_135_596_800;
const LAST: i64 = 253_402_300_799;

const DAY: i64 = 24 * 60 * 60;

/// Days of four centuries, which repeat in the Gregorian calendar, and before 1970-01-01 those
/// since 0000-03-01.
const ERA: i64 = 146_097;
const EPOCH: i64 = 719_468;

/// Appends the time so many seconds after 1970 began, in UTC.
pub fn put_instant(out: &mut Vec<u8>, seconds: i64) {
    let seconds = seconds.clamp(FIRST, LAST);
    let (year, month, day) = date(seconds.div_euclid(DAY));
    let second = seconds.rem_euclid(DAY);
    let mut text = *b"0000-00-00T00:00:00.000Z";
    put_two(&mut text, 0, year / 100);
    put_two(&mut text, 2, year % 100);
    put_two(&mut text, 5, month);
    put_two(&mut text, 8, day);
    put_two(&mut text, 11, second / 3600);
    put_two(&mut text, 14, second / 60 % 60);
    put_two(&mut text, 17, second % 60);
    out.extend_from_slice(&text);
}

fn put_two(text: &mut [u8], at: usize, number: i64) {
    text[at] = b'0' + (number / 10) as u8;
    text[at + 1] = b'0' + (number % 10) as u8;
}

/// Returns year, month and day of a day since 1970-01-01. Years are counted from March on, so
/// that the leap day comes last.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH;
    let of_era = days.rem_euclid(ERA);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Five months from March on have 153 days, and so have the next five.
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = (from_march + 2) % 12 + 1;
    let next_year = i64::from(from_march >= 10);
    (
        days.div_euclid(ERA) * 400 + year_of_era + next_year,
        month,
        day,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instant(seconds: i64) -> String {
        let mut out = Vec::new();
        put_instant(&mut out, seconds);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn known_instants() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_138_985_109, "2006-02-03T16:45:09.000Z"),
            (4_107_542_399, "2100-02-28T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
            (i64::MIN, "0001-01-01T00:00:00.000Z"),
            (i64::MAX, "9999-12-31T23:59:59.000Z"),
        ] {
            assert_eq!(instant(seconds), expected);
        }
    }

    /// Day after day through two leap centuries, by the rule that everybody knows.
    #[test]
    fn every_day_follows_the_one_before() {
        let (mut year, mut month, mut day) = (1600, 1, 1);
        for days in -135_140..150_000 {
            assert_eq!(date(days), (year, month, day));
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 => 28 + i64::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (day, month) = (1, month + 1);
            }
            if month > 12 {
                (month, year) = (1, year + 1);
            }
        }
    }
}
