//! Dates and times in the usual ways of writing them, as days since 1970-01-01 and as parts.

use serde::{Deserialize, Serialize};

/// How the dates of a column are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DateForm {
    /// `2023-01-31`, `2023/01/31`, also with a time; `2023-01`.
    YearMonthDay,
    /// `31.01.2023`, `31/01/2023`, `31-01-2023`, also with a time; `01/2023`.
    DayMonthYear,
    /// `01/31/2023`, also with a time.
    MonthDayYear,
    /// `31 Jan 2023`, `Jan 31, 2023`, `31-Jan-2023`, also with a time; `Jan 2023`.
    MonthName,
    /// `20230131`.
    Digits,
    /// A number of days since 1970-01-01, as columnar files store dates.
    Days,
}

/// A feature made of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DatePart {
    /// The days since 1970-01-01, with the time of day as a fraction: a number with the name of the column.
    Days,
    /// The year, a number.
    Year,
    /// The month, a number.
    Month,
    /// The month, a category: a feature for each.
    Months,
    /// The day of the month, a number.
    Day,
    /// The day of the week, a number from Monday = 1.
    Weekday,
    /// The day of the week, a category: a feature for each.
    Weekdays,
    /// The hour, a number.
    Hour,
}

impl DatePart {
    /// All parts, in the order of the documentation.
    pub const ALL: [DatePart; 8] = [
        DatePart::Days,
        DatePart::Year,
        DatePart::Month,
        DatePart::Day,
        DatePart::Weekday,
        DatePart::Hour,
        DatePart::Months,
        DatePart::Weekdays,
    ];
    /// The parts that are made if nothing is said. Nineteen features for months and weekdays would be mostly noise.
    pub const USUAL: [DatePart; 3] = [DatePart::Days, DatePart::Month, DatePart::Weekday];

    /// The name that users write.
    pub fn name(self) -> &'static str {
        match self {
            DatePart::Days => "days",
            DatePart::Year => "year",
            DatePart::Month => "month",
            DatePart::Months => "months",
            DatePart::Day => "day",
            DatePart::Weekday => "weekday",
            DatePart::Weekdays => "weekdays",
            DatePart::Hour => "hour",
        }
    }
}

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
pub(crate) const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

impl DateForm {
    /// Forms that text can have, in the order in which they are tried.
    pub const WRITTEN: [DateForm; 5] =
        [DateForm::YearMonthDay, DateForm::MonthDayYear, DateForm::DayMonthYear, DateForm::MonthName, DateForm::Digits];

    /// An example, for messages.
    pub fn example(self) -> &'static str {
        match self {
            DateForm::YearMonthDay => "2023-01-31",
            DateForm::DayMonthYear => "31/01/2023",
            DateForm::MonthDayYear => "01/31/2023",
            DateForm::MonthName => "31 Jan 2023",
            DateForm::Digits => "20230131",
            DateForm::Days => "days since 1970-01-01",
        }
    }

    /// The days since 1970-01-01 of a text that is a date in this form, with the time of day as a fraction.
    pub fn parse(self, text: &str) -> Option<f64> {
        let text = text.trim();
        if self == DateForm::Days {
            return super::number::whole(text.as_bytes()).filter(|days| days.is_finite());
        }
        if self == DateForm::Digits {
            let is_digits = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
            let number = |from: usize, to: usize| text[from..to].parse::<i64>().ok();
            return is_digits.then(|| day_number(number(0, 4)?, number(4, 6)?, number(6, 8)?)).flatten();
        }
        let (date, time) = split_time(text);
        let days = self.day(date)?;
        Some(days + time_of_day(time)?)
    }

    fn day(self, date: &str) -> Option<f64> {
        let fields: Vec<&str> = date.split(['-', '/', '.', ' ', ',']).filter(|field| !field.is_empty()).collect();
        let [a, b, c] = match fields[..] {
            [a, b] => return self.first_of_month(a, b),
            [a, b, c] => [a, b, c],
            _ => return None,
        };
        match self {
            DateForm::YearMonthDay if a.len() == 4 => day_number(digits(a, 4)?, digits(b, 2)?, digits(c, 2)?),
            DateForm::DayMonthYear => day_number(year(c)?, digits(b, 2)?, digits(a, 2)?),
            DateForm::MonthDayYear if date.contains(['/', '-']) => day_number(year(c)?, digits(a, 2)?, digits(b, 2)?),
            DateForm::MonthName => match (month_name(a), month_name(b)) {
                (Some(month), None) => day_number(year(c)?, month, digits(b, 2)?),
                (None, Some(month)) if a.len() == 4 => day_number(digits(a, 4)?, month, digits(c, 2)?),
                (None, Some(month)) => day_number(year(c)?, month, digits(a, 2)?),
                _ => None,
            },
            _ => None,
        }
    }

    /// The first day of a month that is written without a day, in the years in which two numbers are likely a month.
    fn first_of_month(self, a: &str, b: &str) -> Option<f64> {
        let (year, month) = match self {
            DateForm::YearMonthDay if b.len() == 2 => (a, digits(b, 2)?),
            DateForm::DayMonthYear => (b, digits(a, 2)?),
            DateForm::MonthName => (b, month_name(a)?),
            _ => return None,
        };
        let year = digits(year, 4).filter(|year| (1900..=2100).contains(year))?;
        day_number(year, month, 1)
    }
}

/// The date and the time of a text: they are separated by `T` or a blank before a colon.
fn split_time(text: &str) -> (&str, &str) {
    let Some(colon) = text.find(':') else { return (text, "") };
    match text[..colon].rfind(['T', 't', ' ']) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, ""),
    }
}

/// A time as a fraction of a day; an offset from UTC is subtracted.
fn time_of_day(text: &str) -> Option<f64> {
    if text.is_empty() {
        return Some(0.0);
    }
    let lower = text.to_ascii_lowercase();
    let (lower, noon) = match (lower.strip_suffix("am"), lower.strip_suffix("pm")) {
        (Some(rest), _) => (rest.trim(), Some(false)),
        (_, Some(rest)) => (rest.trim(), Some(true)),
        _ => (lower.trim(), None),
    };
    let (clock, offset) = match (lower.strip_suffix('z'), lower.rfind(['+', '-'])) {
        (Some(clock), _) => (clock, 0.0),
        (None, Some(at)) => (&lower[..at], offset(&lower[at..])?),
        (None, None) => (lower.strip_suffix("utc").unwrap_or(lower).trim(), 0.0),
    };
    let mut fields = clock.trim().split(':');
    let hour = digits(fields.next()?, 2)?;
    let minute = digits(fields.next()?, 2)?;
    let second: f64 = fields.next().map_or(Some(0.0), |text| text.parse().ok())?;
    let hour = match noon {
        Some(after) if (1..=12).contains(&hour) => hour % 12 + if after { 12 } else { 0 },
        Some(_) => return None,
        None => hour,
    };
    let valid = hour < 24 && minute < 60 && (0.0..61.0).contains(&second) && fields.next().is_none();
    valid.then(|| (hour as f64 * 3600.0 + minute as f64 * 60.0 + second) / 86_400.0 - offset)
}

/// `+01:00`, `-0530` or `+02` as a fraction of a day.
fn offset(text: &str) -> Option<f64> {
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    let plain = text[1..].replace(':', "");
    let (hours, minutes) = match plain.len() {
        2 => (digits(&plain, 2)?, 0),
        4 => (digits(plain.get(..2)?, 2)?, digits(plain.get(2..)?, 2)?),
        _ => return None,
    };
    (hours <= 14 && minutes < 60).then(|| sign * (hours * 60 + minutes) as f64 / 1440.0)
}

fn digits(text: &str, most: usize) -> Option<i64> {
    let valid = (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    valid.then(|| text.parse().ok()).flatten()
}

/// A year of four digits, or of two: 70 to 99 are of the last century.
fn year(text: &str) -> Option<i64> {
    match text.len() {
        4 => digits(text, 4),
        2 => digits(text, 2).map(|year| year + if year < 70 { 2000 } else { 1900 }),
        _ => None,
    }
}

fn month_name(text: &str) -> Option<i64> {
    let text = text.to_ascii_lowercase();
    let start = text.get(..3)?;
    let at = MONTHS.iter().position(|month| *month == start)?;
    let long = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    (text.len() == 3 || text == "sept" || long[at] == text).then_some(at as i64 + 1)
}

/// The days since 1970-01-01 of a valid date of the years 1000 to 9999, in the Gregorian calendar.
fn day_number(year: i64, month: i64, day: i64) -> Option<f64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if !(1000..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=length).contains(&day) {
        return None;
    }
    // Years begin in March here, so that the leap day is the last of its year.
    let shifted = if month > 2 { year } else { year - 1 };
    let (era, of_era) = (shifted.div_euclid(400), shifted.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year;
    Some((days - 719_468) as f64)
}

/// Year, month, day of the month, weekday from Monday = 0, and hour of a number of days since 1970-01-01.
pub fn calendar(days: f64) -> (i64, u32, u32, u32, u32) {
    // Half a millisecond is added, so that a fraction of a day that was rounded down does not lose its hour.
    let exact = (days + 0.0005 / 86_400.0).clamp(-1e7, 1e7);
    let whole = exact.floor() as i64;
    let hour = ((exact - exact.floor()) * 24.0) as u32;
    let shifted = whole + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month + 2) / 5 + 1) as u32;
    let month = (if month < 10 { month + 3 } else { month - 9 }) as u32;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day, (whole + 3).rem_euclid(7) as u32, hour.min(23))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_day_in_every_form() {
        let day = Some(19_388.0);
        for (form, texts) in [
            (DateForm::YearMonthDay, &["2023-01-31", "2023/1/31", " 2023-01-31T00:00:00Z"][..]),
            (DateForm::DayMonthYear, &["31.01.2023", "31/1/2023", "31-01-23", "31.01.2023 0:00"]),
            (DateForm::MonthDayYear, &["01/31/2023", "1/31/23"]),
            (DateForm::MonthName, &["31 Jan 2023", "Jan 31, 2023", "31-JAN-2023", "January 31 2023", "2023-Jan-31"]),
            (DateForm::Digits, &["20230131"]),
            (DateForm::Days, &["19388"]),
        ] {
            for text in texts {
                assert_eq!(form.parse(text), day, "{form:?} {text}");
            }
        }
    }

    #[test]
    fn a_month_without_a_day_is_its_first_day() {
        let day = Some(19_358.0);
        assert_eq!(DateForm::YearMonthDay.parse("2023-01"), day);
        assert_eq!(DateForm::YearMonthDay.parse("2023/01"), day);
        assert_eq!(DateForm::DayMonthYear.parse("01/2023"), day);
        assert_eq!(DateForm::DayMonthYear.parse("1.2023"), day);
        assert_eq!(DateForm::MonthName.parse("Jan 2023"), day);
        assert_eq!(DateForm::MonthName.parse("January-2023"), day);
        for text in ["2023-13", "2023-1", "1234-05", "Jan", "Jan 23", "13/2023", "2023 2023"] {
            assert!(DateForm::WRITTEN.iter().all(|form| form.parse(text).is_none()), "{text}");
        }
    }

    #[test]
    fn times_are_fractions_in_utc() {
        let parse = |text| DateForm::YearMonthDay.parse(text).unwrap();
        assert_eq!(parse("1970-01-01 12:00"), 0.5);
        assert_eq!(parse("1970-01-01T12:00:00+06:00"), 0.25);
        assert_eq!(parse("1970-01-01 6:00 PM"), 0.75);
        assert_eq!(parse("1969-12-31T18:00:00.000Z"), -0.25);
        assert_eq!(calendar(parse("2024-02-29 07:59:59.999")), (2024, 2, 29, 3, 7));
    }

    #[test]
    fn what_is_no_date() {
        for text in ["", "2023-02-29", "2023-13-01", "12.5", "1-2", "a-b-c", "2023-01-31 25:00", "10:30", "1/2/3/4"] {
            assert!(DateForm::WRITTEN.iter().all(|form| form.parse(text).is_none()), "{text}");
        }
        assert_eq!(DateForm::MonthDayYear.parse("31/01/2023"), None);
    }

    #[test]
    fn the_calendar_is_the_inverse_for_four_centuries() {
        for days in -80_000_i32..80_000 {
            let (year, month, day, weekday, hour) = calendar(f64::from(days));
            assert_eq!(day_number(year, i64::from(month), i64::from(day)), Some(f64::from(days)));
            assert_eq!((weekday, hour), ((days + 3).rem_euclid(7) as u32, 0));
        }
        assert_eq!(calendar(19_388.0), (2023, 1, 31, 1, 0), "a Tuesday");
    }
}
