//! Values of conditions that are more than text: numbers, dates, addresses. Each reader gives nothing for what it does
//! not understand.

use std::cmp::Ordering;
// The type alone, without a way to the network.
use core::net::IpAddr;

/// A decimal number, exact: the sign, the digits before the point without leading zeros, those behind it without
/// trailing ones. Floats would take two large account numbers for the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Number {
    negative: bool,
    whole: String,
    fraction: String,
}

impl Number {
    /// `12`, `-0.5`, `+3`; no exponents.
    pub(super) fn read(text: &str) -> Option<Number> {
        let text = text.trim();
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
        let sound = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !sound(whole) || !sound(fraction) {
            return None;
        }
        let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
        let zero = whole.is_empty() && fraction.is_empty();
        Some(Number { negative: negative && !zero, whole: whole.to_owned(), fraction: fraction.to_owned() })
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        let size = |number: &Number| (number.whole.len(), number.whole.clone(), number.fraction.clone());
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => size(self).cmp(&size(other)),
            (true, true) => size(other).cmp(&size(self)),
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Milliseconds since 1970 of a W3C date (`2026-01-31`, `2026-01-31T12:00Z`, `…:00.5+02:00`) or of seconds since 1970.
pub(super) fn read_date(text: &str) -> Option<i64> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() > 4 {
        return text.parse::<i64>().ok()?.checked_mul(1000);
    }
    let (date, time) = match text.split_once(['T', 't']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let mut parts = date.splitn(3, '-');
    let year = digits(parts.next()?, 4)?;
    let month = digits(parts.next()?, 2)?;
    let day = digits(parts.next()?, 2)?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let longest = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=longest).contains(&day) {
        return None;
    }
    let days = days_before(year, month, day);
    Some(days * 86_400_000 + time.map_or(Some(0), read_time)?)
}

/// Milliseconds of `hh:mm[:ss[.fff]]` with `Z` or an offset.
fn read_time(text: &str) -> Option<i64> {
    let (clock, offset) = match text.strip_suffix(['Z', 'z']) {
        Some(clock) => (clock, 0),
        None => {
            let at = text.rfind(['+', '-'])?;
            let (clock, offset) = text.split_at_checked(at)?;
            let sign = if offset.starts_with('-') { -1 } else { 1 };
            let (hours, minutes) = offset.get(1..)?.split_once(':')?;
            (clock, sign * (digits(hours, 2)? * 60 + digits(minutes, 2)?))
        }
    };
    let mut parts = clock.splitn(3, ':');
    let hours = digits(parts.next()?, 2)?;
    let minutes = digits(parts.next()?, 2)?;
    let (seconds, fraction) = match parts.next() {
        None => (0, 0),
        Some(seconds) => match seconds.split_once('.') {
            None => (digits(seconds, 2)?, 0),
            Some((seconds, fraction)) => {
                let sound = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
                let millis: String = fraction.chars().chain("000".chars()).take(3).collect();
                (digits(seconds, 2)?, if sound { millis.parse().ok()? } else { return None })
            }
        },
    };
    if hours > 23 || minutes > 59 || seconds > 60 {
        return None;
    }
    Some(((hours * 60 + minutes - offset) * 60 + seconds) * 1000 + fraction)
}

fn digits(text: &str, count: usize) -> Option<i64> {
    let sound = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    sound.then(|| text.parse().ok()).flatten()
}

/// Days between 1970-01-01 and a date of the Gregorian calendar.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    // March is the first month, so that the leap day is the last day.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1 - 719_468
}

/// An address or a block of addresses in CIDR notation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    address: IpAddr,
    length: u32,
}

impl Block {
    /// `203.0.113.0/24`, `2001:db8::/32`, or one address.
    pub(super) fn read(text: &str) -> Option<Block> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let length = match length {
            None => bits,
            Some(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok()?,
            Some(_) => return None,
        };
        (length <= bits).then_some(Block { address, length })
    }

    /// Whether an address lies in the block; one of the other family never does.
    pub(super) fn holds(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(block), IpAddr::V4(address)) => {
                (u32::from(block) ^ u32::from(address)).checked_shr(32 - self.length).unwrap_or(0) == 0
            }
            (IpAddr::V6(block), IpAddr::V6(address)) => {
                (u128::from(block) ^ u128::from(address)).checked_shr(128 - self.length).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_exactly() {
        let number = |text: &str| Number::read(text).unwrap();
        assert!(number("111122223333111122") < number("111122223333111123"));
        assert!(number("-2") < number("-1") && number("-1") < number("0") && number("0.5") < number("0.51"));
        assert_eq!(number("+07.50"), number("7.5"));
        assert_eq!(number("-0"), number("0"));
        for text in ["", "1e3", "1.", ".5", "a", "--1", "1.2.3"] {
            assert_eq!(Number::read(text), None, "{text}");
        }
    }

    #[test]
    fn dates_in_every_spelling() {
        let day = 86_400_000;
        let cases = [
            ("1970-01-02", Some(day)),
            ("1970-01-01T00:00Z", Some(0)),
            ("2000-03-01T00:00:00Z", Some(951_868_800_000)),
            ("2026-08-30T12:00:00.25+02:00", Some(1_788_084_000_250)),
            ("1788084000", Some(1_788_084_000_000)),
            ("2024-02-29", Some(1_709_164_800_000)),
            ("2023-02-29", None),
            ("2026-13-01", None),
            ("2026-01-01T25:00Z", None),
            ("2026-01-01T00:00", None),
            ("soon", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(read_date(text), expected, "{text}");
        }
    }

    #[test]
    fn blocks_of_both_families() {
        let holds = |block: &str, address: &str| Block::read(block).unwrap().holds(address.parse().unwrap());
        assert!(holds("203.0.113.0/24", "203.0.113.255") && !holds("203.0.113.0/24", "203.0.114.0"));
        assert!(holds("0.0.0.0/0", "8.8.8.8") && !holds("0.0.0.0/0", "::1"));
        assert!(holds("10.0.0.7", "10.0.0.7") && !holds("10.0.0.7", "10.0.0.8"));
        // Bits behind the length do not count.
        assert!(holds("10.0.0.7/8", "10.9.9.9"));
        assert!(holds("2001:db8::/32", "2001:db8:1::5") && !holds("2001:db8::/32", "2001:db9::1"));
        assert!(holds("::/0", "2001:db9::1"));
        for text in ["10.0.0.0/33", "10.0.0", "10.0.0.0/", "10.0.0.0/+8", "::/129", "*"] {
            assert_eq!(Block::read(text), None, "{text}");
        }
    }
}
