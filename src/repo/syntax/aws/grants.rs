//! IAM statements: found in HCL blocks and in trees, then judged one document at a time.

use std::collections::BTreeSet;

use super::node::{self, Node};
use crate::repo::facts::GrantKind;
use crate::repo::needles::Needles;
use crate::repo::syntax::lexer::{self, Block};
use crate::repo::text::Span;

/// Blocks nested deeper than this hold no policy.
const MAX_NESTING: usize = 8;

/// Without one of these a block holds no document.
static MARKS: Needles = Needles::new(&[b"Statement", b"aws_iam_policy_document"]);

/// What names a statement's actions in native syntax, be it with escapes: without it nothing is granted.
static ACTIONS: Needles = Needles::new(&[b"actions", b"Action", b"\\u00"]);

/// One statement that allows something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Statement {
    sid: String,
    actions: Vec<String>,
    /// Resources as written, and where.
    resources: Vec<(String, usize)>,
}

/// The allowing statements of one policy document.
pub(super) type Document = Vec<Statement>;

/// A grant before its place is counted out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) kind: GrantKind,
    pub(super) resource: String,
    pub(super) offset: usize,
}

/// Documents of a file in native syntax: `aws_iam_policy_document` data sources, and objects with a `Statement`
/// anywhere in an argument (`jsonencode`, heredocs).
pub(super) fn hcl(bytes: &[u8]) -> Vec<Document> {
    let mut documents = Vec::new();
    // A state's key ends like the objects that are looked for: most files that come here are backends.
    if !holds_document(bytes) || !ACTIONS.any_in(bytes) {
        return documents;
    }
    let mut open = vec![(Span::new(0, bytes.len()), 0_usize)];
    while let Some((within, depth)) = open.pop() {
        let body = lexer::body(bytes, within);
        for attribute in &body.attributes {
            let value = attribute.value_span;
            if memchr::memmem::find(value.of(bytes), b"Statement").is_some() {
                documents.extend(self::documents(&node::hcl(bytes, value)));
            }
        }
        for block in &body.blocks {
            if block.labels.first().is_some_and(|kind| kind == "aws_iam_policy_document") {
                documents.push(block_document(bytes, block));
            } else if depth < MAX_NESTING && holds_document(block.body.of(bytes)) {
                open.push((block.body, depth + 1));
            }
        }
    }
    documents
}

fn holds_document(body: &[u8]) -> bool {
    MARKS.any_in(body)
}

/// `statement` blocks, also those that a `dynamic` block makes.
fn block_document(bytes: &[u8], block: &Block) -> Document {
    let body = lexer::body(bytes, block.body);
    let mut found = Vec::new();
    for inner in &body.blocks {
        let is_dynamic = inner.keyword == "dynamic" && inner.labels.iter().any(|label| label == "statement");
        let contents = if is_dynamic {
            let dynamic = lexer::body(bytes, inner.body);
            dynamic.blocks_of("content").map(|content| content.body).collect()
        } else if inner.keyword == "statement" {
            vec![inner.body]
        } else {
            continue;
        };
        for content in contents {
            let statement = lexer::body(bytes, content);
            let value = |name: &str| {
                statement.attribute(name).map_or(Node::Other, |found| node::hcl(bytes, found.value_span))
            };
            found.extend(allowing(&value("effect"), &value("sid"), &value("actions"), &value("resources")));
        }
    }
    found
}

/// Documents in a tree: every map with a `Statement` (or, in Terraform's JSON syntax, `statement`) of maps.
pub(super) fn documents(root: &Node) -> Vec<Document> {
    let mut found = Vec::new();
    for map in root.maps() {
        let Some(statements) = map.get(&["Statement", "statement"]) else { continue };
        let document: Document = statements
            .elements()
            .into_iter()
            .filter_map(|statement| {
                let value = |keys: &[&str]| statement.get(keys).cloned().unwrap_or(Node::Other);
                allowing(
                    &value(&["Effect", "effect"]),
                    &value(&["Sid", "sid"]),
                    &value(&["Action", "actions"]),
                    &value(&["Resource", "resources"]),
                )
            })
            .collect();
        if !document.is_empty() {
            found.push(document);
        }
    }
    found
}

/// A statement, unless it denies. Without an effect it allows, as `aws_iam_policy_document` has it.
fn allowing(effect: &Node, sid: &Node, actions: &Node, resources: &Node) -> Option<Statement> {
    if effect.text().is_some_and(|effect| effect.eq_ignore_ascii_case("deny")) {
        return None;
    }
    Some(Statement {
        sid: sid.text().unwrap_or_default().to_owned(),
        actions: actions.texts().into_iter().map(|(action, _)| action.to_owned()).collect(),
        resources: resources.texts().into_iter().map(|(text, offset)| (text.to_owned(), offset)).collect(),
    })
}

/// What one document's statements mean for locks: what matters by itself, and item actions on other tables.
pub(super) fn judge(document: &Document) -> (Vec<Found>, Vec<Found>) {
    let mut others = Vec::new();
    let mut found = Vec::new();
    let locks = Covered::by(document);
    for statement in document {
        let on_table =
            allows_any(statement, &["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:DeleteItem"]);
        let on_object = allows_any(statement, &["s3:GetObject", "s3:PutObject"]);
        for (resource, offset) in &statement.resources {
            let kind = if on_table && is_lock_table(resource, &statement.sid) {
                GrantKind::LockTable
            } else if on_object && resource.ends_with(".tfstate") && !locks.has(resource) {
                GrantKind::StateWithoutLock
            } else if on_table && could_be_table(resource) {
                let kind = GrantKind::LockTable;
                others.push(Found { kind, resource: resource.clone(), offset: *offset });
                continue;
            } else {
                continue;
            };
            found.push(Found { kind, resource: resource.clone(), offset: *offset });
        }
    }
    (found, others)
}

/// Whether a statement names an action that admits one of these, wildcards and letter case as IAM takes them.
fn allows_any(statement: &Statement, wanted: &[&str]) -> bool {
    statement.actions.iter().any(|action| {
        // `*` alone says nothing about tables or states.
        action != "*" && wanted.iter().any(|wanted| matches(&action.to_lowercase(), &wanted.to_lowercase()))
    })
}

/// More patterns than this fit in no policy that AWS takes (its limit is 20 KB); such a document is not judged.
const MAX_PATTERNS: usize = 2000;

/// What a document allows on objects, for each right that a lock needs: plain keys, and patterns.
struct Covered(Vec<(BTreeSet<String>, Vec<String>)>);

impl Covered {
    fn by(document: &Document) -> Self {
        let one = |wanted: &&str| {
            let mut keys = BTreeSet::new();
            let mut patterns = Vec::new();
            for statement in document {
                let wanted = wanted.to_lowercase();
                if statement.actions.iter().any(|action| matches(&action.to_lowercase(), &wanted)) {
                    for (resource, _) in &statement.resources {
                        let resource = canonical(resource);
                        if resource.contains(['*', '?']) {
                            patterns.push(resource);
                        } else {
                            keys.insert(resource);
                        }
                    }
                }
            }
            (keys, patterns)
        };
        Covered(["s3:GetObject", "s3:PutObject", "s3:DeleteObject"].iter().map(one).collect())
    }

    /// Whether every right on `<state>.tflock` is given somewhere in the document.
    fn has(&self, state: &str) -> bool {
        let lock = canonical(&format!("{state}.tflock"));
        self.0.iter().all(|(keys, patterns)| {
            keys.contains(&lock)
                || patterns.len() > MAX_PATTERNS
                || patterns.iter().any(|pattern| matches(pattern, &lock))
        })
    }
}

/// Two ways to write one bucket's ARN in HCL become one text: `${x.arn}/k`, `arn:aws:s3:::${x.id}/k`.
fn canonical(resource: &str) -> String {
    let bare = resource.strip_prefix("arn:aws:s3:::").unwrap_or(resource);
    bare.replace(".arn}", "}").replace(".id}", "}").replace(".bucket}", "}")
}

fn could_be_table(resource: &str) -> bool {
    !(resource.contains(":s3:::") || resource.contains("aws_s3_bucket") || resource.contains(":kms:"))
}

/// Whether a resource names one of these tables (names or addresses), as a word of its own.
pub(super) fn names_table(resource: &str, tables: &BTreeSet<String>) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    tables.iter().filter(|table| !table.is_empty()).any(|table| {
        resource.match_indices(table.as_str()).any(|(at, _)| {
            let before = resource.get(..at).and_then(|head| head.chars().next_back());
            let after = resource.get(at + table.len()..).and_then(|tail| tail.chars().next());
            !before.is_some_and(is_name) && !after.is_some_and(is_name)
        })
    })
}

fn is_lock_table(resource: &str, sid: &str) -> bool {
    if !could_be_table(resource) {
        return false;
    }
    // Behind `table/` stands the name; the account and region before it say nothing.
    let name = resource.rsplit_once("table/").map_or(resource, |(_, name)| name);
    let speaks_of_tables = resource.contains("dynamodb") || resource == "*";
    speaks_of_locks(name) || (speaks_of_tables && speaks_of_locks(sid))
}

/// Whether a name speaks of locks or of Terraform state.
fn speaks_of_locks(name: &str) -> bool {
    let name = name.to_lowercase();
    let lock = name.match_indices("lock").any(|(at, _)| {
        // `clock` and `block` are other words.
        !name.get(..at).is_some_and(|head| head.ends_with(['c', 'b']) && !head.ends_with("db"))
    });
    let words = ["tfstate", "tf-state", "tf_state", "terraform", "tofu", "terragrunt"];
    lock || words.iter().any(|word| name.contains(word))
}

/// IAM's wildcards: `*` any text, `?` one character. Linear in the product of both lengths.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p + 1, t));
                p += 1;
            }
            Some(byte) if *byte == b'?' || Some(byte) == text.get(t) => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((after, from)) => {
                    p = after;
                    t = from + 1;
                    star = Some((after, t));
                }
                None => return false,
            },
        }
    }
    pattern.get(p..).unwrap_or_default().iter().all(|byte| *byte == b'*')
}
