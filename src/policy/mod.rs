//! AWS's policy evaluation, three-valued: can, cannot, or only if. Pure: policies and requests in, decisions out.
//!
//! The order is the IAM user guide's ("policy evaluation logic"): an explicit Deny anywhere wins; SCPs must allow at
//! every level; then the resource's policy, the principal's own policies, its permissions boundary and its session
//! policies, in one account or across two. What a policy says that is not understood, and what AWS does not document,
//! makes an answer unknown and never a guess. `docs/policy.md` has the details.
//!
//! ```
//! use lockshift::policy::{Compiled, Context, Layer, Policies, Principal, Request, Verdict, decide};
//!
//! let bucket = Compiled::new(
//!     r#"{"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Principal": "*", "Action": "s3:DeleteObject",
//!         "Resource": "arn:aws:s3:::acme-tfstate/*.tflock",
//!         "Condition": {"StringNotEquals": {"aws:SourceVpce": "vpce-1"}}}]}"#,
//! )?;
//! let admin = Compiled::new(r#"{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}"#)?;
//! let policies = Policies {
//!     identity: Layer::Known(vec![&admin]),
//!     resource: Layer::Known(vec![&bucket]),
//!     ..Policies::default()
//! };
//! let request = Request::new(
//!     Principal::parse("arn:aws:iam::111122223333:role/admin")?,
//!     "s3:DeleteObject",
//!     "arn:aws:s3:::acme-tfstate/prod/terraform.tfstate.tflock",
//!     Context::of_unknown_origin(),
//! )
//! .owned_by("111122223333");
//! let decision = decide(&request, &policies);
//! assert_eq!(decision.verdict, Verdict::Unknown);
//! assert_eq!(decision.missing_keys(), ["aws:SourceVpce"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod access;
mod case;
mod condition;
mod context;
mod decision;
mod document;
mod evaluate;
mod grantee;
mod json;
mod kind;
mod missing;
mod pattern;
mod principal;
pub mod recommend;
mod request;
mod statement;
mod template;
mod tri;
mod values;

pub use case::{Case, CaseError, answer, answer_schema, read_cases};
pub use context::{Context, Entry};
pub use decision::{Deciding, Decision, Effect, PolicyKind, Verdict};
pub use document::{Compiled, PolicyError};
pub use evaluate::{Layer, Policies, decide};
pub use missing::Missing;
pub use principal::{Principal, PrincipalError, is_account};
pub use request::{
    Request, contradicts_owner, contradicts_principal, crosses_partitions, is_action, is_resource,
};
pub use tri::Tri;
