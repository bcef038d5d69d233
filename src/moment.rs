//! A moment in time, as stores and lock documents write it: RFC 3339 in, RFC 3339 out. No clock is read here: the
//! caller brings the time.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Milliseconds since 1970 in UTC. S3 lists whole seconds, Terraform writes nanoseconds: finer than milliseconds
/// nothing is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(i64);

impl Moment {
    /// From milliseconds since 1970.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// From seconds since 1970.
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// Milliseconds since 1970.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Whole seconds since 1970, rounded down.
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// From the clock of this machine; a moment before 1970 is 1970.
    pub fn of(time: SystemTime) -> Self {
        let millis = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        Self(i64::try_from(millis).unwrap_or(i64::MAX))
    }

    /// How long after `earlier` this is; nothing when it is before it.
    pub fn since(self, earlier: Self) -> Option<Duration> {
        u64::try_from(self.0.saturating_sub(earlier.0)).ok().map(Duration::from_millis)
    }

    /// The moment `span` before this one.
    pub fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The moment `span` after this one.
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Reads RFC 3339 with `Z` or an offset, any number of decimals; years 1970 to 9999. Anything else is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (date, time) = text.split_once(['T', 't', ' '])?;
        let mut date = date.splitn(3, '-').map(digits);
        let (year, month, day) = (date.next()??, date.next()??, date.next()??);
        let (clock, offset) = time.split_at_checked(time.find(['Z', 'z', '+', '-'])?)?;
        let (clock, decimals) = clock.split_once('.').unwrap_or((clock, "0"));
        let mut clock = clock.splitn(3, ':').map(digits);
        let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
        let offset = match offset.strip_prefix(['+', '-']) {
            None => 0,
            Some(shift) => {
                let (hours, minutes) = shift.split_once(':')?;
                let seconds = digits(hours)? * 3600 + digits(minutes)? * 60;
                if offset.starts_with('-') { -seconds } else { seconds }
            }
        };
        let plausible = (1970..10_000).contains(&year)
            && (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..=60).contains(&second)
            && offset.abs() < 86_400
            && !decimals.is_empty()
            && decimals.bytes().all(|byte| byte.is_ascii_digit());
        // Days from civil: years begin in March, so that the leap day is the last one.
        let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
        let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 719_469;
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset;
        let millis = format!("{decimals:0<3}").get(..3).and_then(digits)?;
        plausible.then_some(Self(seconds * 1000 + millis))
    }
}

/// A length of time in the words of somebody who is in a hurry: the two largest units, `3 d 4 h`, `45 min`, `12 s`.
pub fn in_words(span: Duration) -> String {
    let seconds = span.as_secs();
    let parts = [
        (seconds / 86_400, "d"),
        (seconds / 3600 % 24, "h"),
        (seconds / 60 % 60, "min"),
        (seconds % 60, "s"),
    ];
    let first = parts.iter().position(|(count, _)| *count > 0).unwrap_or(parts.len() - 1);
    let shown: Vec<String> = parts
        .iter()
        .skip(first)
        .take(2)
        .enumerate()
        .filter(|(at, (count, _))| *at == 0 || *count > 0)
        .map(|(_, (count, unit))| format!("{count} {unit}"))
        .collect();
    shown.join(" ")
}

/// Up to nine digits and nothing else: no sign, no blank.
fn digits(text: &str) -> Option<i64> {
    let plain = !text.is_empty() && text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// RFC 3339 in UTC; milliseconds only where there are any.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, millis) = (self.0.div_euclid(1000), self.0.rem_euclid(1000));
        let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        // Civil from days, with years that begin in March.
        let days = days + 719_468;
        let era = days.div_euclid(146_097);
        let of_era = days.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * of_year + 2) / 153;
        let day = of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        let (hour, minute, second) = (of_day / 3600, of_day % 3600 / 60, of_day % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        if millis > 0 {
            write!(f, ".{millis:03}")?;
        }
        f.write_str("Z")
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Moment::parse(&text).ok_or_else(|| de::Error::custom(format!("`{text}` is no RFC 3339 time")))
    }
}

impl JsonSchema for Moment {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Moment".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "date-time" })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rfc_3339_is_read_and_written() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2024-02-29T12:00:00Z", 1_709_208_000),
            ("2024-03-01T01:00:00+01:00", 1_709_251_200),
            ("2024-02-29T23:30:00-00:30", 1_709_251_200),
        ] {
            assert_eq!(Moment::parse(text), Some(Moment::from_seconds(seconds)), "{text}");
        }
        let lock = Moment::parse("2026-11-29T23:11:24.136337882Z").unwrap();
        assert_eq!(lock.to_string(), "2026-11-29T23:11:24.136Z");
        assert_eq!(Moment::parse("2026-01-01T00:00:00.5Z").unwrap().millis() % 1000, 500);
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "2024-02-29",
            "2024-02-29T12:00:00",
            "2024-13-01T00:00:00Z",
            "2024-01-01T25:00:00Z",
            "1969-12-31T23:59:59Z",
            "99999-01-01T00:00:00Z",
            "2024-01-01T00:00:00.Z",
            "2024-01-01T00:00:00.1e5Z",
            "+024-01-01T00:00:00Z",
            "2024-01-01T00:00:00+99:00",
        ] {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
    }

    #[test]
    fn spans_are_said_in_two_units() {
        for (seconds, words) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (119, "1 min 59 s"),
            (7200, "2 h"),
            (7_260, "2 h 1 min"),
            (86_400, "1 d"),
            (90_061, "1 d 1 h"),
        ] {
            assert_eq!(in_words(Duration::from_secs(seconds)), words);
        }
    }

    #[test]
    fn spans_never_wrap() {
        let moment = Moment::from_seconds(10);
        assert_eq!(moment.since(Moment::from_seconds(4)), Some(Duration::from_secs(6)));
        assert_eq!(Moment::from_seconds(4).since(moment), None);
        assert_eq!(moment.before(Duration::MAX), Moment::from_millis(10_000 - i64::MAX));
        assert_eq!(moment.after(Duration::MAX), Moment::from_millis(i64::MAX));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(millis in 0..253_402_300_799_999_i64) {
            let moment = Moment::from_millis(millis);
            prop_assert_eq!(Moment::parse(&moment.to_string()), Some(moment));
        }

        #[test]
        fn any_text_is_safe(text in ".{0,40}") {
            let _ = Moment::parse(&text);
        }
    }
}
