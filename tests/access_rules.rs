//! The rules that `policy::access` makes findings of are the registry's rules: same ids, severities and summaries.
#![cfg(test)]

use lockshift::policy::access::rules::ALL;
use lockshift::rules;

#[test]
fn every_rule_about_access_is_registered_as_it_is() {
    for rule in ALL {
        let registered = rules::find(rule.id).unwrap_or_else(|| panic!("`{}` is not registered", rule.id));
        assert_eq!(registered.severity.as_str(), rule.severity, "{}", rule.id);
        assert_eq!(registered.summary, rule.summary, "{}", rule.id);
    }
    assert_eq!(ALL.len(), 49);
}

#[test]
fn the_table_in_the_documentation_has_all_of_them() {
    let table = include_str!("../docs/access.md");
    for rule in ALL {
        let line = format!("| [`{0}`](rules/{0}.md) | {1} | {2} |", rule.id, rule.severity, rule.summary);
        assert!(table.contains(&line), "docs/access.md lacks: {line}");
    }
}
