//! The registry of rules: each rule is one file that can be read whole, with its page in `docs/rules`.
