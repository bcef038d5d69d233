//! The access points of a bucket, as they were read: their policies, and each lock's ARN through them.

use super::super::pattern::arn_parts;
use super::docs::{Docs, Matrix, Place};
use super::input::{AccessPointInput, Reading};
use super::keys::Key;

/// More are not judged; [`super::Access::limits`] says so. A state bucket has none or a few.
const MOST: usize = 20;

/// One access point.
#[derive(Debug)]
pub(super) struct Point<'a> {
    pub(super) input: &'a AccessPointInput<'a>,
    pub(super) account: String,
    pub(super) policy: Place<'a>,
    /// Each lock's ARN through it.
    pub(super) lock_arns: Vec<String>,
    pub(super) matrix: Matrix,
}

/// Takes the policies in, before patterns are compared with keys; says what is left out.
pub(super) fn read<'a>(
    docs: &mut Docs<'a>,
    input: &'a Reading<Vec<AccessPointInput<'a>>>,
) -> (Vec<(&'a AccessPointInput<'a>, Place<'a>)>, Option<String>) {
    let all = input.known().map(Vec::as_slice).unwrap_or_default();
    let read = all.iter().take(MOST).map(|point| (point, docs.reading(point.name, &point.policy))).collect();
    let left = all.len().saturating_sub(MOST);
    let note =
        (left > 0).then(|| format!("{left} of {} access points are not judged, to stay quick", all.len()));
    (read, note)
}

impl<'a> Point<'a> {
    pub(super) fn new(
        (input, policy): (&'a AccessPointInput<'a>, Place<'a>),
        docs: &Docs<'a>,
        keys: &[Key],
    ) -> Point<'a> {
        let lock_arns: Vec<String> =
            keys.iter().map(|key| format!("{}/object/{}", input.arn, key.lock)).collect();
        let account = arn_parts(input.arn).map(|[.., account, _]| account).unwrap_or_default().to_owned();
        Point { input, account, policy, matrix: docs.matrix(&lock_arns), lock_arns }
    }

    /// In words, for conditions.
    pub(super) fn way(&self) -> String {
        match self.input.vpc {
            Some(vpc) => format!("through access point `{}`, from {vpc}", self.input.name),
            None => format!("through access point `{}`", self.input.name),
        }
    }
}
