//! Lock tables in code: who makes a table whose hash key is `LockID`.

use super::node::Node;
use crate::repo::setting::Value;
use crate::repo::syntax::expression::Scope;
use crate::repo::syntax::hcl::{evaluate, scope_of};
use crate::repo::syntax::lexer::{self, Block, Body};
use crate::repo::text::{Span, Text};

/// The hash key that the S3 backend of Terraform and OpenTofu asks for.
const LOCK_KEY: &str = "LockID";

/// A table before its place is counted out.
pub(super) struct Table {
    pub(super) address: String,
    pub(super) name: Option<String>,
    pub(super) offset: usize,
}

/// A published module that makes a lock table by itself.
pub(super) struct Module {
    /// What its `source` contains: registry address, and the repository's name for git sources.
    pub(super) marks: &'static [&'static str],
    /// The argument that names the table.
    name: &'static str,
    /// The table's name without that argument, where it is fixed.
    default: Option<&'static str>,
    /// The argument that switches the table off when it is `false`.
    switch: Option<&'static str>,
}

/// Each entry: what the module's own variables say. A module of another name is found when it is told
/// `hash_key = "LockID"`, as `terraform-aws-modules/dynamodb-table/aws` and `cloudposse/dynamodb/aws` are.
pub(super) const MODULES: &[Module] = &[
    // `dynamodb_enabled` is true by default; the name comes from the label module unless it is given.
    Module {
        marks: &["cloudposse/tfstate-backend/aws", "terraform-aws-tfstate-backend"],
        name: "dynamodb_table_name",
        default: None,
        switch: Some("dynamodb_enabled"),
    },
    // `dynamodb_table_name` has a fixed default.
    Module {
        marks: &["nozaq/remote-state-s3-backend/aws", "terraform-aws-remote-state-s3-backend"],
        name: "dynamodb_table_name",
        default: Some("tf-remote-state-lock"),
        switch: None,
    },
    // The account's bootstrap: state bucket and lock table, with a fixed default name.
    Module {
        marks: &["trussworks/bootstrap/aws", "terraform-aws-bootstrap"],
        name: "dynamodb_table_name",
        default: Some("terraform-state-lock"),
        switch: None,
    },
];

/// Tables of a file in native syntax.
pub(super) fn hcl(text: Text<'_>) -> Vec<Table> {
    let bytes = text.bytes();
    let top = lexer::body(bytes, Span::new(0, bytes.len()));
    let scope = scope_of(&[text], &[]);
    let mut found = Vec::new();
    for block in &top.blocks {
        let read = match (block.keyword.as_str(), block.labels.as_slice()) {
            ("resource", [kind, name]) if kind == "aws_dynamodb_table" => resource(text, block, name, &scope),
            ("module", [name]) => module(text, block, name, &scope),
            _ => None,
        };
        found.extend(read);
    }
    found
}

fn argument(text: Text<'_>, body: &Body, name: &str, scope: &Scope) -> Option<Value> {
    body.attribute(name).map(|found| evaluate(&text.lossy(found.value_span), scope).0)
}

fn text_argument(text: Text<'_>, body: &Body, name: &str, scope: &Scope) -> Option<String> {
    argument(text, body, name, scope).and_then(|value| value.as_text().map(str::to_owned))
}

fn resource(text: Text<'_>, block: &Block, name: &str, scope: &Scope) -> Option<Table> {
    let body = lexer::body(text.bytes(), block.body);
    let is_lock = match text_argument(text, &body, "hash_key", scope) {
        Some(key) => key == LOCK_KEY,
        // The key is an expression: its attribute must be declared, and may be so by its literal name.
        None => body.blocks_of("attribute").any(|attribute| {
            let inner = lexer::body(text.bytes(), attribute.body);
            text_argument(text, &inner, "name", scope).as_deref() == Some(LOCK_KEY)
        }),
    };
    is_lock.then(|| Table {
        address: format!("aws_dynamodb_table.{name}"),
        name: text_argument(text, &body, "name", scope),
        offset: block.span.start,
    })
}

fn module(text: Text<'_>, block: &Block, name: &str, scope: &Scope) -> Option<Table> {
    let body = lexer::body(text.bytes(), block.body);
    let source = text_argument(text, &body, "source", scope).unwrap_or_default();
    let address = format!("module.{name}");
    let offset = block.span.start;
    if let Some(known) = MODULES.iter().find(|module| module.marks.iter().any(|mark| source.contains(mark))) {
        let switched_off = known.switch.and_then(|switch| argument(text, &body, switch, scope));
        if switched_off == Some(Value::Bool(false)) {
            return None;
        }
        let name = match body.attribute(known.name) {
            Some(_) => text_argument(text, &body, known.name, scope),
            None => known.default.map(str::to_owned),
        };
        return Some(Table { address, name, offset });
    }
    (text_argument(text, &body, "hash_key", scope).as_deref() == Some(LOCK_KEY)).then(|| Table {
        address,
        name: text_argument(text, &body, "name", scope)
            .or_else(|| text_argument(text, &body, "table_name", scope)),
        offset,
    })
}

/// Tables of a JSON or YAML tree: Terraform's JSON syntax and CloudFormation.
pub(super) fn tree(root: &Node) -> Vec<Table> {
    let mut found = Vec::new();
    for kind in root.elements().iter().filter_map(|part| part.get(&["resource"])).flat_map(Node::elements) {
        let tables = kind.get(&["aws_dynamodb_table"]).map(Node::elements).unwrap_or_default();
        for item in tables.iter().flat_map(|names| names.items()) {
            for table in item.value.elements() {
                if table.get(&["hash_key"]).and_then(Node::text) == Some(LOCK_KEY) {
                    let name = table.get(&["name"]).and_then(Node::text).filter(|name| !name.contains("${"));
                    found.push(Table {
                        address: format!("aws_dynamodb_table.{}", item.key),
                        name: name.map(str::to_owned),
                        offset: item.offset,
                    });
                }
            }
        }
    }
    for part in root.elements().iter().filter_map(|part| part.get(&["module"])).flat_map(Node::elements) {
        for item in part.items() {
            found.extend(
                item.value
                    .elements()
                    .into_iter()
                    .filter_map(|call| json_module(call, &item.key, item.offset)),
            );
        }
    }
    for item in root.get(&["Resources"]).map(Node::items).unwrap_or_default() {
        let kind = item.value.get(&["Type"]).and_then(Node::text);
        let Some(properties) = item.value.get(&["Properties"]) else { continue };
        let keys = properties.get(&["KeySchema"]).map(Node::texts).unwrap_or_default();
        if kind == Some("AWS::DynamoDB::Table") && keys.iter().any(|(text, _)| *text == LOCK_KEY) {
            let name =
                properties.get(&["TableName"]).and_then(Node::text).filter(|name| !name.contains("${"));
            found.push(Table {
                address: item.key.clone(),
                name: name.map(str::to_owned),
                offset: item.offset,
            });
        }
    }
    found
}

fn json_module(call: &Node, name: &str, offset: usize) -> Option<Table> {
    let text = |key: &str| call.get(&[key]).and_then(Node::text).filter(|text| !text.contains("${"));
    let source = text("source").unwrap_or_default();
    let address = format!("module.{name}");
    if let Some(known) = MODULES.iter().find(|module| module.marks.iter().any(|mark| source.contains(mark))) {
        if known.switch.and_then(text) == Some("false") {
            return None;
        }
        let name = if call.get(&[known.name]).is_some() { text(known.name) } else { known.default };
        return Some(Table { address, name: name.map(str::to_owned), offset });
    }
    (text("hash_key") == Some(LOCK_KEY)).then(|| Table {
        address,
        name: text("name").map(str::to_owned),
        offset,
    })
}
