//! Tables and statements as people write them.

use super::*;
use crate::repo::facts::GrantKind::{LockTable as Lock, StateWithoutLock as State};

fn tables(file: &str, content: &str) -> Vec<(String, Option<String>, usize, usize)> {
    read_tables(file, Text::new(content.as_bytes()))
        .into_iter()
        .map(|table| (table.address, table.name, table.place.line, table.place.column))
        .collect()
}

fn table(
    address: &str,
    name: Option<&str>,
    line: usize,
    column: usize,
) -> (String, Option<String>, usize, usize) {
    (address.to_owned(), name.map(str::to_owned), line, column)
}

fn grants(
    file: &str,
    content: &str,
    known: &[&str],
) -> Vec<(crate::repo::facts::GrantKind, String, usize, usize)> {
    let known = known.iter().map(|name| (*name).to_owned()).collect();
    let (mut found, others) = read_grants(file, Text::new(content.as_bytes()));
    found.extend(others.into_iter().filter(|grant| names_table(grant, &known)));
    found.sort_by(|a, b| (&a.place, a.kind).cmp(&(&b.place, b.kind)));
    found
        .into_iter()
        .map(|grant| (grant.kind, grant.resource, grant.place.line, grant.place.column))
        .collect()
}

#[test]
fn every_module_that_is_known_is_looked_for() {
    for mark in tables::MODULES.iter().flat_map(|module| module.marks) {
        let source = format!("module \"x\" {{ source = \"{mark}\" }}");
        assert_eq!(MODULES.first_in(source.as_bytes()), Some(mark.as_bytes()), "{mark}");
    }
}

#[test]
fn tables_by_their_hash_key() {
    let hcl = r#"
variable "table" {
  default = "tf-locks"
}
resource "aws_dynamodb_table" "lock" {
  name     = var.table
  hash_key = "LockID"
  attribute {
    name = "LockID"
    type = "S"
  }
}
resource "aws_dynamodb_table" "orders" {
  name     = "orders"
  hash_key = "OrderID"
  # hash_key = "LockID"
}
resource "aws_dynamodb_table" "by_key" {
  name     = "${var.env}-locks"
  hash_key = local.key
  attribute {
    name = "LockID"
  }
}
/* resource "aws_dynamodb_table" "off" { hash_key = "LockID" } */
"#;
    assert_eq!(
        tables("a/main.tf", hcl),
        [
            table("aws_dynamodb_table.lock", Some("tf-locks"), 5, 1),
            table("aws_dynamodb_table.by_key", None, 18, 1)
        ]
    );
}

#[test]
fn modules_that_make_a_table() {
    let hcl = r#"
module "state" {
  source = "cloudposse/tfstate-backend/aws"
}
module "off" {
  source           = "git::https://github.com/cloudposse/terraform-aws-tfstate-backend.git?ref=1.4.1"
  dynamodb_enabled = false
}
module "remote" {
  source = "nozaq/remote-state-s3-backend/aws"
}
module "boot" {
  source              = "trussworks/bootstrap/aws"
  dynamodb_table_name = "mine"
}
module "own" {
  source   = "terraform-aws-modules/dynamodb-table/aws"
  name     = "own-lock"
  hash_key = "LockID"
}
module "other" {
  source   = "terraform-aws-modules/dynamodb-table/aws"
  hash_key = "id"
}
"#;
    assert_eq!(
        tables("main.tofu", hcl),
        [
            table("module.state", None, 2, 1),
            table("module.remote", Some("tf-remote-state-lock"), 9, 1),
            table("module.boot", Some("mine"), 12, 1),
            table("module.own", Some("own-lock"), 16, 1),
        ]
    );
}

#[test]
fn tables_in_json_and_cloudformation() {
    let json = r#"{"resource": [{"aws_dynamodb_table": {"lock": [{"name": "l", "hash_key": "LockID"}], "x": {"hash_key": "y"}}}],
 "module": {"m": {"source": "nozaq/remote-state-s3-backend/aws"}}}"#;
    assert_eq!(
        tables("main.tf.json", json),
        [
            table("aws_dynamodb_table.lock", Some("l"), 1, 40),
            table("module.m", Some("tf-remote-state-lock"), 2, 14)
        ]
    );
    let yaml = "Resources:\n  Lock:\n    Type: AWS::DynamoDB::Table\n    Properties:\n      TableName: !Sub \"${AWS::StackName}-lock\"\n      KeySchema:\n        - AttributeName: LockID\n          KeyType: HASH\n  Other:\n    Type: AWS::DynamoDB::Table\n    Properties:\n      KeySchema: [{AttributeName: id, KeyType: HASH}]\n";
    assert_eq!(tables("cfn/state.yaml", yaml), [table("Lock", None, 2, 3)]);
    let cfn = r#"{"Resources": {"L": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": "t", "KeySchema": [{"AttributeName": "LockID"}]}}}}"#;
    assert_eq!(tables("state.json", cfn), [table("L", Some("t"), 1, 17)]);
}

const DOCUMENT: &str = r#"
data "aws_iam_policy_document" "ci" {
  statement {
    sid       = "State"
    actions   = ["s3:GetObject", "s3:PutObject"]
    resources = [
      "${aws_s3_bucket.state.arn}/app/terraform.tfstate", # only this
      "arn:aws:s3:::b/x.tfstate",
    ]
  }
  statement {
    actions   = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"]
    resources = ["arn:aws:s3:::${aws_s3_bucket.state.id}/app/*.tflock"]
  }
  statement {
    actions   = concat(["dynamodb:GetItem"], ["dynamodb:PutItem", "dynamodb:DeleteItem"])
    resources = [aws_dynamodb_table.terraform_locks.arn, aws_dynamodb_table.clocks.arn, aws_dynamodb_table.this[0].arn]
  }
  statement {
    effect    = "Deny"
    actions   = ["dynamodb:*"]
    resources = ["arn:aws:dynamodb:*:*:table/tf-lock"]
  }
  dynamic "statement" {
    for_each = var.tables
    content {
      actions   = ["dynamodb:*"]
      resources = ["arn:aws:dynamodb:eu-west-1:1:table/team-tfstate"]
    }
  }
}
"#;

#[test]
fn statements_of_a_policy_document() {
    assert_eq!(
        grants("iam.tf", DOCUMENT, &["aws_dynamodb_table.this"]),
        [
            (State, "arn:aws:s3:::b/x.tfstate".to_owned(), 8, 8),
            (Lock, "aws_dynamodb_table.terraform_locks.arn".to_owned(), 17, 18),
            (Lock, "aws_dynamodb_table.this[0].arn".to_owned(), 17, 89),
            (Lock, "arn:aws:dynamodb:eu-west-1:1:table/team-tfstate".to_owned(), 28, 21),
        ]
    );
}

#[test]
fn statements_in_jsonencode_and_heredocs() {
    let encoded = r#"
resource "aws_iam_role_policy" "p" {
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat([
      { Effect = "Allow", Action = "dynamodb:PutItem", Resource = "arn:aws:dynamodb:*:*:table/${var.lock_table}" },
    ], [
      {
        Effect   = "Allow"
        Action   = ["s3:*Object"]
        Resource = ["arn:aws:s3:::b/a.tfstate", "arn:aws:s3:::b/a.tfstate.tflock"]
      },
      { Effect = "Allow", Action = ["s3:PutObject"], Resource = "arn:aws:s3:::b/c.tfstate" },
    ])
  })
}
"#;
    assert_eq!(
        grants("iam.tf", encoded, &[]),
        [
            (Lock, "arn:aws:dynamodb:*:*:table/${var.lock_table}".to_owned(), 6, 68),
            (State, "arn:aws:s3:::b/c.tfstate".to_owned(), 13, 66),
        ]
    );
    let heredoc = "resource \"aws_iam_policy\" \"p\" {\n  policy = <<-EOF\n  {\n    \"Statement\": {\n      \"Effect\": \"Allow\",\n      \"Action\": [\"dynamodb:DeleteItem\"],\n      \"Resource\": \"${aws_dynamodb_table.lock.arn}\"\n    }\n  }\n  EOF\n}\n";
    assert_eq!(grants("iam.tf", heredoc, &[]), [(Lock, "${aws_dynamodb_table.lock.arn}".to_owned(), 7, 20)]);
}

#[test]
fn an_action_may_be_written_with_escapes() {
    let text = "resource \"aws_iam_policy\" \"p\" {\n  policy = jsonencode({ Statement = [{ Effect = \"Allow\", \"\\u0041ction\" = [\"dynamodb:DeleteItem\"], Resource = \"arn:aws:dynamodb:::table/t\" }] })\n}\n";
    let found = grants("n.tf", text, &["t"]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].1, "arn:aws:dynamodb:::table/t");
    assert_eq!(grants("n.tf", &text.replace("\\u0041ction", "Aktion"), &["t"]), []);
}

#[test]
fn statements_in_json_and_yaml() {
    let json = r#"{"Statement": [
  {"Sid": "TerraformLocking", "Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"},
  {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "arn:aws:dynamodb:::table/orders"},
  {"Effect": "Allow", "Action": "*", "Resource": "arn:aws:dynamodb:::table/tf-lock"},
  {"Effect": "Allow", "Action": ["s3:PutObject"], "Resource": "arn:aws:s3:::b/k.tfstate"},
  {"Effect": "Allow", "Action": ["s3:GetObject", "s3:DeleteObject"], "Resource": "arn:aws:s3:::b/*"}
]}"#;
    // Put on the lock is missing: Get and Delete alone don't cover it.
    assert_eq!(
        grants("policy.json", json, &[]),
        [(Lock, "*".to_owned(), 2, 87), (State, "arn:aws:s3:::b/k.tfstate".to_owned(), 5, 64)]
    );
    let covered = json.replace("\"s3:GetObject\", ", "\"s3:GetObject\", \"s3:Put*\", ");
    assert_eq!(grants("policy.json", &covered, &[]), [(Lock, "*".to_owned(), 2, 87)]);
    assert_eq!(grants("policy.json", &covered, &["orders"]).len(), 2);
    assert_eq!(grants("policy.json", &covered, &["order"]).len(), 1);
    let yaml = "Resources:\n  P:\n    Properties:\n      PolicyDocument:\n        Statement:\n          - Effect: Allow\n            Action: [dynamodb:GetItem]\n            Resource: !Sub 'arn:aws:dynamodb:${AWS::Region}:1:table/tf-locks'\n";
    assert_eq!(
        grants("cfn.yml", yaml, &[]),
        [(Lock, "arn:aws:dynamodb:${AWS::Region}:1:table/tf-locks".to_owned(), 8, 29)]
    );
}

#[test]
fn words_that_only_look_like_locks() {
    for (name, is_lock) in [
        ("clock", false),
        ("blocks", false),
        ("app-lock", true),
        ("Lock", true),
        ("dblock", true),
        ("orders", false),
        ("my-terraform", true),
    ] {
        let json = format!(
            r#"{{"Statement": {{"Action": "dynamodb:GetItem", "Resource": "arn:aws:dynamodb:::table/{name}"}}}}"#
        );
        assert_eq!(grants("p.json", &json, &[]).len(), usize::from(is_lock), "{name}");
    }
}

#[test]
fn deep_nesting_is_left_out_not_followed() {
    let deep = "[".repeat(100_000) + "\"LockID dynamodb: .tfstate Statement\"";
    for file in ["a.json", "a.yaml"] {
        assert_eq!(tables(file, &deep), []);
        assert_eq!(grants(file, &deep, &[]), []);
    }
    let hcl = format!("policy = {}\n", deep + &"]".repeat(100_000));
    assert_eq!(grants("a.tf", &hcl, &[]), []);
    let objects = format!(
        "policy = jsonencode({}\"Statement .tfstate\"{})\n",
        "{ a = ".repeat(20_000),
        "}".repeat(20_000)
    );
    assert_eq!(grants("a.tf", &objects, &[]), []);
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..120)) {
        let bytes = [b"LockID dynamodb: .tfstate\n".as_slice(), &bytes].concat();
        for file in ["a.tf", "a.json", "a.yaml"] {
            let _ = read_tables(file, Text::new(&bytes));
            let _ = read_grants(file, Text::new(&bytes));
        }
    }

    #[test]
    fn any_mix_of_pieces_is_read(pieces in proptest::collection::vec(proptest::sample::select(vec![
        "resource \"aws_dynamodb_table\" \"x\" {\n", "}", "\n", "hash_key = \"LockID\"\n", "policy = jsonencode(", "{", "[", "]", ")", ",",
        "Statement = ", "\"Statement\": ", "<<EOF\n", "EOF\n", "\"dynamodb:*\"", "Action = ", "Resource = ", "\"a.tfstate\"", "\"${", "}\"",
        "for x in y : ", "a.b[", "?", "# c\n", "/*", "é", "$$", "\\", "statement {\n", "data \"aws_iam_policy_document\" \"d\" {\n", "actions = ",
    ]), 0..40)) {
        let text = format!("# LockID dynamodb: .tfstate Statement\n{}", pieces.concat());
        for file in ["a.tf", "a.json", "a.yaml"] {
            let _ = read_tables(file, Text::new(text.as_bytes()));
            let _ = read_grants(file, Text::new(text.as_bytes()));
        }
    }
}
