//! How long a decision takes on the recommended bucket policy (2 KB), compiled once.

#![allow(missing_docs, clippy::unwrap_used)] // the macros document nothing; a benchmark may fail loudly

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use lockshift::policy::{Compiled, Context, Layer, Policies, Principal, Request, Verdict, decide};

const BUCKET_POLICY: &str = include_str!("../fixtures/policy/recommended-bucket-policy.json");
const ADMIN: &str =
    r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}"#;

fn decisions(bencher: &mut Criterion) {
    let bucket = Compiled::new(BUCKET_POLICY).unwrap();
    let admin = Compiled::new(ADMIN).unwrap();
    let policies = Policies {
        identity: Layer::Known(vec![&admin]),
        resource: Layer::Known(vec![&bucket]),
        ..Policies::default()
    };
    let request = |role: &str, action: &str, context: Context| {
        let principal = Principal::parse(&format!("arn:aws:iam::111122223333:role/{role}")).unwrap();
        let lock = "arn:aws:s3:::acme-tfstate/prod/terraform.tfstate.tflock";
        Request::new(principal, action, lock, context).owned_by("111122223333").with_principal_keys()
    };
    let cases = [
        ("allowed", request("ci/tf-apply", "s3:DeleteObject", Context::new()), Verdict::Allowed),
        ("denied", request("admin", "s3:DeleteObject", Context::new()), Verdict::ExplicitlyDenied),
        ("unknown", request("ci/tf-apply", "s3:PutObject", Context::of_unknown_origin()), Verdict::Unknown),
    ];
    for (name, request, expected) in &cases {
        assert_eq!(decide(request, &policies).verdict, *expected);
        bencher.bench_function(&format!("decide/{name}"), |bencher| {
            bencher.iter(|| decide(black_box(request), black_box(&policies)));
        });
    }
    bencher.bench_function("compile", |bencher| bencher.iter(|| Compiled::new(black_box(BUCKET_POLICY))));
}

criterion_group!(benches, decisions);
criterion_main!(benches);
