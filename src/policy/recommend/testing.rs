//! Wanted policies for the tests of this room.

use super::{Roles, State, Wanted};

pub(super) fn role(name: &str) -> String {
    format!("arn:aws:iam::111122223333:role/{name}")
}

pub(super) fn state(key: &str) -> State {
    State { key: key.to_owned(), workspace_prefix: "env:".to_owned(), ..State::default() }
}

/// The bucket of `docs/writing-policies.md`.
pub(super) fn wanted() -> Wanted {
    Wanted {
        bucket: "acme-tfstate".to_owned(),
        account: "111122223333".to_owned(),
        partition: "aws".to_owned(),
        states: vec![state("prod/terraform.tfstate"), state("stage/terraform.tfstate")],
        roles: Roles {
            runners: vec![role("ci/tf-apply")],
            plan: vec![role("ci/tf-plan")],
            break_glass: vec![role("break-glass")],
            state_admin: vec![role("state-admin")],
        },
        ..Wanted::default()
    }
}
