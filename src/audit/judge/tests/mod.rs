//! Each rule fires, and a near miss does not.

mod coverage;
mod locks;
mod states;
mod stores;
mod whole;
