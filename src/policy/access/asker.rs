//! Asks the evaluator about one principal and many requests: what stays the same is made once.

use super::super::decision::Decision;
use super::super::evaluate::{Policies, decide};
use super::super::request::Request;

/// The preconditions that a request carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Headers {
    /// None.
    Plain,
    /// `If-None-Match: *`.
    IfNoneMatch,
    /// `If-Match` with the ETag that is there.
    IfMatch,
}

/// An ETag, as good as any.
const ETAG: &str = "\"d41d8cd98f00b204e9800998ecf8427e\"";

/// See the module.
pub(super) struct Asker<'w> {
    policies: Policies<'w>,
    plain: Request,
    if_none_match: Request,
    if_match: Request,
}

impl<'w> Asker<'w> {
    /// `request` has the principal, the owner and the context without preconditions.
    pub(super) fn new(policies: Policies<'w>, request: Request) -> Asker<'w> {
        let with = |key: &str, value: &str| {
            let mut request = request.clone();
            request.context = request.context.with(key, value);
            request
        };
        Asker {
            if_none_match: with("s3:if-none-match", "*"),
            if_match: with("s3:if-match", ETAG),
            plain: request,
            policies,
        }
    }

    /// Decides one request.
    pub(super) fn ask(&mut self, action: &str, resource: &str, headers: Headers) -> Decision {
        let request = match headers {
            Headers::Plain => &mut self.plain,
            Headers::IfNoneMatch => &mut self.if_none_match,
            Headers::IfMatch => &mut self.if_match,
        };
        request.action = action.to_ascii_lowercase();
        resource.clone_into(&mut request.resource);
        decide(request, &self.policies)
    }
}
