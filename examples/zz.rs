use lockshift::*;
fn main() {
    let inv = repo::scan::scan(
        &repo::scan::ScanOptions {
            paths: std::env::args().skip(1).map(Into::into).collect(),
            ..Default::default()
        },
        &repo::scan::Silent,
    )
    .unwrap();
    let f = rules::check(&inv, &config::Config::default(), config::Date::parse("2026-11-30").unwrap());
    for x in f {
        println!("{} {} [{}] {}: {}", x.place, x.severity.as_str(), x.rule, x.subject, x.message);
    }
    for p in &inv.problems {
        println!("PROBLEM {} {}", p.place, p.message);
    }
    eprintln!("{:?}", inv.summary());
}
