//! A calendar date, as far as an ignore's expiry needs one. No clock is read here: the caller brings the time.

use std::time::{SystemTime, UNIX_EPOCH};

/// A date of the Gregorian calendar, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

impl Date {
    /// Reads `YYYY-MM-DD`; anything else, or a day that the month does not have, is none.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let year = digits(parts.next()?, 4)?;
        let month = u8::try_from(digits(parts.next()?, 2)?).ok()?;
        let day = u8::try_from(digits(parts.next()?, 2)?).ok()?;
        let valid = parts.next().is_none() && day >= 1 && day <= days_in(year, month)?;
        valid.then_some(Self { year, month, day })
    }

    /// The date of a moment, in UTC. A moment before 1970 counts as the first day of 1970.
    pub fn of(moment: SystemTime) -> Self {
        let seconds = moment.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let mut days = seconds / 86_400;
        let mut year: u16 = 1970;
        while days >= days_in_year(year) && year < 9999 {
            days -= days_in_year(year);
            year += 1;
        }
        let mut month: u8 = 1;
        while let Some(length) = days_in(year, month).map(u64::from) {
            if days < length || month == 12 {
                break;
            }
            days -= length;
            month += 1;
        }
        Self { year, month, day: u8::try_from(days.min(30)).unwrap_or(30) + 1 }
    }
}

impl std::fmt::Display for Date {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

fn digits(text: &str, count: usize) -> Option<u16> {
    let plain = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

fn is_leap(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in_year(year: u16) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

fn days_in(year: u16, month: u8) -> Option<u8> {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => Some(31),
        4 | 6 | 9 | 11 => Some(30),
        2 => Some(if is_leap(year) { 29 } else { 28 }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_real_dates_are_read() {
        assert_eq!(Date::parse("2026-02-28").map(|date| date.to_string()).as_deref(), Some("2026-02-28"));
        assert!(Date::parse("2024-02-29").is_some());
        for wrong in
            ["2026-02-29", "2026-13-01", "2026-00-10", "2026-1-1", "26-01-01", "2026-01-01-", "", "x"]
        {
            assert_eq!(Date::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_moment_becomes_its_utc_date() {
        for (seconds, date) in [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_782_400, "2000-02-29"),
            (1_735_689_599, "2024-12-31"),
            (1_735_689_600, "2025-01-01"),
        ] {
            assert_eq!(Date::of(UNIX_EPOCH + Duration::from_secs(seconds)).to_string(), date);
        }
        assert_eq!(Date::of(UNIX_EPOCH + Duration::from_secs(u64::from(u32::MAX) * 200)).year, 9999);
    }

    #[test]
    fn dates_are_ordered_by_time() {
        assert!(Date::parse("2025-12-31") < Date::parse("2026-01-01"));
    }
}
