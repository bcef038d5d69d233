//! The rules that `policy::access` makes findings of are all in the registry and in the documentation.
#![cfg(test)]

use lockshift::policy::access::rules::ALL;
use lockshift::rules;

#[test]
fn every_rule_about_access_is_registered() {
    for rule in ALL {
        assert!(rules::find(rule.id).is_some(), "`{}` is not registered", rule.id);
    }
    assert_eq!(ALL.len(), 49);
}

#[test]
fn the_table_in_the_documentation_has_all_of_them() {
    let table = include_str!("../docs/access.md");
    for rule in ALL {
        let line =
            format!("| [`{0}`](rules/{0}.md) | {1} | {2} |", rule.id, rule.severity.as_str(), rule.summary);
        assert!(table.contains(&line), "docs/access.md lacks: {line}");
    }
}
