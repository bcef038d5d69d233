//! Each rule fires, and a near miss does not.

mod coverage;
mod locks;
mod release;
mod states;
mod stores;
mod whole;
