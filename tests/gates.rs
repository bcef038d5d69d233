//! Gates and their pages: every gate of a migration can be explained.
#![cfg(test)]

use lockshift::migrate::gate;
use lockshift::rules::{self, Check};

#[test]
fn every_gate_has_a_page() {
    for gate in gate::ALL {
        assert!(rules::find(gate.id).is_some(), "{}", gate.id);
    }
    let ids: Vec<&str> = gate::ALL.iter().map(|gate| gate.id).collect();
    assert!(ids.is_sorted());
}

#[test]
fn a_page_says_whether_its_gate_can_be_waived() {
    for rule in rules::all().iter().filter(|rule| matches!(rule.check, Check::Migrating)) {
        let gate = gate::find(rule.id).unwrap();
        assert_eq!(rule.page.contains("can't be waived"), !gate.waivable, "{}", rule.id);
        assert_eq!(rule.page.contains(&format!("--waive {}=", rule.id)), gate.waivable, "{}", rule.id);
    }
}
