//! Policy documents, principals and cases: any text is read or refused.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lockshift::policy::{Compiled, Principal, read_cases};

fuzz_target!(|text: &str| {
    if let Ok(policy) = Compiled::new(text) {
        assert!(policy.not_understood().iter().all(|(index, _)| *index < policy.len()));
        let _ = policy.condition_keys();
        assert!(Compiled::list(text).is_ok(), "one policy is a list of one");
    }
    if let Ok(principal) = Principal::parse(text) {
        let _ = principal.account();
    }
    if let Err(error) = read_cases(text) {
        assert!(error.number > 0 && error.line > 0, "{error}");
    }
});
