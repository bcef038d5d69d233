//! Who still writes to a lock table: its consumed write capacity by day, from CloudWatch. Terraform's conditional
//! writes that fail (a lock that is held) count as well: they too come from somebody who names the table.
//! Source: `ConsumedWriteCapacityUnits` in DynamoDB's metrics and dimensions.

use std::collections::BTreeMap;
use std::time::Duration;

use roxmltree::Document;

use super::failure::Failure;
use super::query::Query;
use crate::moment::Moment;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Write capacity that a table consumed on each of the last `days` days, oldest first; zero where CloudWatch has
/// nothing. Each day is a whole one before `now`.
pub(super) async fn writes(
    query: &Query<'_>,
    table: &str,
    now: Moment,
    days: u32,
) -> Result<Vec<(Moment, f64)>, Failure> {
    let from = now.before(DAY * days);
    let (start, end) =
        (Moment::from_seconds(from.seconds()).to_string(), Moment::from_seconds(now.seconds()).to_string());
    let parameters = [
        ("Namespace", "AWS/DynamoDB"),
        ("MetricName", "ConsumedWriteCapacityUnits"),
        ("Dimensions.member.1.Name", "TableName"),
        ("Dimensions.member.1.Value", table),
        ("StartTime", start.as_str()),
        ("EndTime", end.as_str()),
        ("Period", "86400"),
        ("Statistics.member.1", "Sum"),
    ];
    let xml = query.call("GetMetricStatistics", &parameters).await?;
    let sums = sums(&xml)?;
    let days = (0..days).map(|day| {
        let (begin, end) = (from.after(DAY * day), from.after(DAY * (day + 1)));
        let sum = sums.range(begin..end).map(|(_, sum)| sum).sum();
        (Moment::from_seconds(begin.seconds()), sum)
    });
    Ok(days.collect())
}

/// `<Datapoints><member><Timestamp>…</Timestamp><Sum>…</Sum>`
fn sums(xml: &str) -> Result<BTreeMap<Moment, f64>, Failure> {
    let document = Document::parse(xml).map_err(|error| Failure::own(format!("no XML: {error}")))?;
    let points = document
        .descendants()
        .find(|node| node.tag_name().name() == "Datapoints")
        .ok_or_else(|| Failure::own("the answer holds no data points"))?;
    let mut sums = BTreeMap::new();
    for point in points.children().filter(|node| node.is_element()) {
        let text = |name: &str| point.children().find(|node| node.tag_name().name() == name)?.text();
        let at = text("Timestamp").and_then(Moment::parse);
        let sum = text("Sum").and_then(|sum| sum.parse::<f64>().ok());
        let (Some(at), Some(sum)) = (at, sum) else {
            return Err(Failure::own("a data point without a time or a sum"));
        };
        *sums.entry(at).or_insert(0.0) += sum;
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_points_are_read_and_half_ones_refused() {
        let xml = "<GetMetricStatisticsResponse><GetMetricStatisticsResult><Datapoints>\
                   <member><Timestamp>2026-11-29T00:00:00Z</Timestamp><Sum>3.0</Sum></member></Datapoints>\
                   </GetMetricStatisticsResult></GetMetricStatisticsResponse>";
        let sums = sums(xml).unwrap();
        assert_eq!(
            sums.into_iter().collect::<Vec<_>>(),
            [(Moment::parse("2026-11-29T00:00:00Z").unwrap(), 3.0)]
        );
        assert_eq!(super::sums("<x/>").unwrap_err().reason, "the answer holds no data points");
        assert!(super::sums("<Datapoints><member><Sum>1</Sum></member></Datapoints>").is_err());
        assert!(super::sums("<Datapoints/>").unwrap().is_empty());
    }
}
