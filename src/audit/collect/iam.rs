//! Identity policies of one account: `GetAccountAuthorizationDetails`, all pages, put together by principal.
//!
//! Documents are percent-encoded there, and a role's managed policies and its boundary are only named: their texts
//! stand in another list, often on another page. So everything is read first and joined at the end.
//! Source: the operation in IAM's API reference.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;
use roxmltree::{Document, Node};

use super::failure::Failure;
use super::query::Query;
use crate::audit::snapshot::{AccountSnapshot, Principal, Unread};
use crate::moment::Moment;

/// Pages after which something is wrong: no account has a million principals and policies.
const MOST_PAGES: usize = 10_000;

/// Reads one account. What fails is said; what came before it is kept.
pub(super) async fn account(query: &Query<'_>, account: &str) -> (AccountSnapshot, Vec<Unread>) {
    let resource = format!("arn:aws:iam::{account}:root");
    let mut parts = Parts::default();
    let mut marker: Option<String> = None;
    let mut failed = None;
    for page in 0.. {
        if page == MOST_PAGES {
            failed = Some(Failure::own("the pages never end"));
            break;
        }
        let mut parameters = vec![("MaxItems", "1000")];
        if let Some(marker) = &marker {
            parameters.push(("Marker", marker));
        }
        let next = match query.call("GetAccountAuthorizationDetails", &parameters).await {
            Ok(xml) => parts.page(&xml),
            Err(failure) => Err(failure),
        };
        match next {
            Ok(None) => break,
            Ok(Some(next)) if Some(&next) == marker.as_ref() => {
                failed = Some(Failure::own("a page names itself as the next one"));
                break;
            }
            Ok(next) => marker = next,
            Err(failure) => {
                failed = Some(failure);
                break;
            }
        }
    }
    let unread: Vec<Unread> = failed
        .iter()
        .map(|failure| failure.unread(&resource, "GetAccountAuthorizationDetails", false))
        .collect();
    let snapshot = AccountSnapshot {
        account: account.to_owned(),
        complete: unread.is_empty(),
        principals: parts.principals(),
    };
    (snapshot, unread)
}

/// What the pages hold, before it is joined.
#[derive(Debug, Default)]
struct Parts {
    principals: Vec<Named>,
    /// Inline and attached policies of groups, by name.
    groups: BTreeMap<String, Attached>,
    /// Texts of managed policies, by ARN.
    managed: BTreeMap<String, String>,
}

/// Policies of a principal or group: texts where they stand there, ARNs where they stand elsewhere.
#[derive(Debug, Default, Clone)]
struct Attached {
    inline: Vec<(String, String)>,
    managed: Vec<String>,
}

#[derive(Debug)]
struct Named {
    principal: Principal,
    attached: Attached,
    groups: Vec<String>,
    boundary: Option<String>,
}

impl Parts {
    /// Takes one page in; gives the marker of the next.
    fn page(&mut self, xml: &str) -> Result<Option<String>, Failure> {
        let document = Document::parse(xml).map_err(|error| Failure::own(format!("no XML: {error}")))?;
        let root = document.root_element();
        let result = child(root, "GetAccountAuthorizationDetailsResult")
            .ok_or_else(|| Failure::own("the answer holds no account details"))?;
        for user in members(result, "UserDetailList") {
            let groups =
                members(user, "GroupList").filter_map(|group| text(group).map(str::to_owned)).collect();
            self.principals.push(named(user, "UserId", "UserPolicyList", groups)?);
        }
        for role in members(result, "RoleDetailList") {
            self.principals.push(named(role, "RoleId", "RolePolicyList", Vec::new())?);
        }
        for group in members(result, "GroupDetailList") {
            let name = field(group, "GroupName").unwrap_or_default().to_owned();
            self.groups.insert(name, attached(group, "GroupPolicyList")?);
        }
        for policy in members(result, "Policies") {
            let Some(arn) = field(policy, "Arn") else { continue };
            let version = members(policy, "PolicyVersionList")
                .find(|version| field(*version, "IsDefaultVersion") == Some("true"));
            if let Some(text) = version.and_then(|version| field(version, "Document")) {
                self.managed.insert(arn.to_owned(), decoded(text)?);
            }
        }
        let truncated = field(result, "IsTruncated") == Some("true");
        match field(result, "Marker") {
            Some(marker) if truncated => Ok(Some(marker.to_owned())),
            None if truncated => Err(Failure::own("there are more pages, and no marker that leads to them")),
            _ => Ok(None),
        }
    }

    /// Joins what was named with its text.
    fn principals(self) -> Vec<Principal> {
        let Self { principals, groups, managed } = self;
        let mut joined: Vec<Principal> = principals
            .into_iter()
            .map(|Named { mut principal, attached, groups: of, boundary }| {
                let add = |attached: &Attached, principal: &mut Principal| {
                    principal.policies.extend(attached.inline.iter().cloned());
                    for arn in &attached.managed {
                        match managed.get(arn) {
                            Some(text) => principal.policies.push((arn.clone(), text.clone())),
                            None => principal.policies_unread.push(arn.clone()),
                        }
                    }
                };
                add(&attached, &mut principal);
                for name in of {
                    match groups.get(&name) {
                        Some(attached) => add(attached, &mut principal),
                        None => principal.policies_unread.push(format!("group {name}")),
                    }
                }
                if let Some(arn) = boundary {
                    principal.boundary = managed.get(&arn).cloned();
                    if principal.boundary.is_none() {
                        principal.boundary_unread = Some(arn);
                    }
                }
                principal
            })
            .collect();
        joined.sort_by(|a, b| a.arn.cmp(&b.arn));
        joined
    }
}

fn named(node: Node<'_, '_>, id: &str, inline: &str, groups: Vec<String>) -> Result<Named, Failure> {
    let own = |name: &str| field(node, name).map(str::to_owned);
    let tags = members(node, "Tags")
        .filter_map(|tag| {
            Some((field(tag, "Key")?.to_owned(), field(tag, "Value").unwrap_or_default().to_owned()))
        })
        .collect();
    let last_used = child(node, "RoleLastUsed").and_then(|used| field(used, "LastUsedDate"));
    let boundary = child(node, "PermissionsBoundary").and_then(|set| field(set, "PermissionsBoundaryArn"));
    Ok(Named {
        principal: Principal {
            arn: own("Arn").ok_or_else(|| Failure::own("a principal without an ARN"))?,
            unique_id: own(id).unwrap_or_default(),
            trust: field(node, "AssumeRolePolicyDocument").map(decoded).transpose()?,
            last_used: last_used.and_then(Moment::parse),
            tags,
            ..Principal::default()
        },
        attached: attached(node, inline)?,
        groups,
        boundary: boundary.map(str::to_owned),
    })
}

fn attached(node: Node<'_, '_>, inline: &str) -> Result<Attached, Failure> {
    let mut attached = Attached::default();
    for policy in members(node, inline) {
        let name = field(policy, "PolicyName").unwrap_or_default().to_owned();
        attached.inline.push((name, decoded(field(policy, "PolicyDocument").unwrap_or_default())?));
    }
    let managed = members(node, "AttachedManagedPolicies").filter_map(|policy| field(policy, "PolicyArn"));
    attached.managed = managed.map(str::to_owned).collect();
    Ok(attached)
}

fn decoded(text: &str) -> Result<String, Failure> {
    let decoded = percent_decode_str(text.trim()).decode_utf8();
    decoded.map(|text| text.into_owned()).map_err(|_| Failure::own("a policy document is not UTF-8"))
}

pub(super) fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.children().find(|child| child.tag_name().name() == name)
}

pub(super) fn field<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    child(node, name).and_then(text)
}

fn text<'a>(node: Node<'a, '_>) -> Option<&'a str> {
    node.text()
}

/// `<list><member>…</member>…</list>`
pub(super) fn members<'a, 'i>(node: Node<'a, 'i>, list: &str) -> impl Iterator<Item = Node<'a, 'i>> {
    let list = child(node, list);
    list.into_iter().flat_map(|list| list.children()).filter(|child| child.tag_name().name() == "member")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = r#"<GetAccountAuthorizationDetailsResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/">
<GetAccountAuthorizationDetailsResult><IsTruncated>true</IsTruncated><Marker>next</Marker>
<UserDetailList><member><Arn>arn:aws:iam::111122223333:user/x</Arn><UserId>AIDA1</UserId>
<GroupList><member>ops</member><member>gone</member></GroupList></member></UserDetailList>
<RoleDetailList><member><Arn>arn:aws:iam::111122223333:role/ci/tf-apply</Arn><RoleId>AROA1</RoleId>
<AssumeRolePolicyDocument>%7B%22Version%22%3A%222012-10-17%22%7D</AssumeRolePolicyDocument>
<RolePolicyList><member><PolicyName>own</PolicyName><PolicyDocument>%7B%22Statement%22%3A%5B%5D%7D</PolicyDocument></member></RolePolicyList>
<AttachedManagedPolicies><member><PolicyArn>arn:aws:iam::111122223333:policy/tf</PolicyArn></member><member><PolicyArn>arn:aws:iam::aws:policy/Lost</PolicyArn></member></AttachedManagedPolicies>
<PermissionsBoundary><PermissionsBoundaryArn>arn:aws:iam::111122223333:policy/limit</PermissionsBoundaryArn></PermissionsBoundary>
<RoleLastUsed><LastUsedDate>2026-11-29T10:00:00Z</LastUsedDate></RoleLastUsed>
<Tags><member><Key>team</Key><Value>net</Value></member></Tags></member></RoleDetailList>
</GetAccountAuthorizationDetailsResult></GetAccountAuthorizationDetailsResponse>"#;

    const SECOND: &str = r#"<GetAccountAuthorizationDetailsResponse><GetAccountAuthorizationDetailsResult>
<IsTruncated>false</IsTruncated>
<GroupDetailList><member><GroupName>ops</GroupName><GroupPolicyList><member><PolicyName>g</PolicyName><PolicyDocument>%7B%7D</PolicyDocument></member></GroupPolicyList></member></GroupDetailList>
<Policies><member><Arn>arn:aws:iam::111122223333:policy/tf</Arn><PolicyVersionList>
<member><Document>%7B%22old%22%3A1%7D</Document><IsDefaultVersion>false</IsDefaultVersion></member>
<member><Document>%7B%22new%22%3A%22a%2Bb%22%7D</Document><IsDefaultVersion>true</IsDefaultVersion></member></PolicyVersionList></member></Policies>
</GetAccountAuthorizationDetailsResult></GetAccountAuthorizationDetailsResponse>"#;

    #[test]
    fn pages_are_joined_and_what_is_missing_is_said() {
        let mut parts = Parts::default();
        assert_eq!(parts.page(FIRST).unwrap().as_deref(), Some("next"));
        assert_eq!(parts.page(SECOND).unwrap(), None);
        let principals = parts.principals();
        let [role, user] = principals.as_slice() else { panic!("{principals:?}") };
        assert_eq!(
            (role.arn.as_str(), role.unique_id.as_str()),
            ("arn:aws:iam::111122223333:role/ci/tf-apply", "AROA1")
        );
        let own = ("own".to_owned(), r#"{"Statement":[]}"#.to_owned());
        let managed = ("arn:aws:iam::111122223333:policy/tf".to_owned(), r#"{"new":"a+b"}"#.to_owned());
        assert_eq!(role.policies, [own, managed]);
        assert_eq!(role.policies_unread, ["arn:aws:iam::aws:policy/Lost"]);
        assert_eq!(role.boundary, None);
        assert_eq!(role.boundary_unread.as_deref(), Some("arn:aws:iam::111122223333:policy/limit"));
        assert_eq!(role.trust.as_deref(), Some(r#"{"Version":"2012-10-17"}"#));
        assert_eq!(role.last_used, Moment::parse("2026-11-29T10:00:00Z"));
        assert_eq!(role.tags, [("team".to_owned(), "net".to_owned())]);
        assert_eq!(user.policies, [("g".to_owned(), "{}".to_owned())]);
        assert_eq!(user.policies_unread, ["group gone"]);
    }

    #[test]
    fn half_answers_are_failures() {
        let mut parts = Parts::default();
        let reason = |xml: &str, parts: &mut Parts| parts.page(xml).unwrap_err().reason;
        assert!(reason("<html>", &mut parts).starts_with("no XML"));
        assert_eq!(reason("<x/>", &mut parts), "the answer holds no account details");
        let endless = FIRST.replace("<Marker>next</Marker>", "");
        assert_eq!(reason(&endless, &mut parts), "there are more pages, and no marker that leads to them");
        let broken = FIRST.replace("%7B%22Statement%22%3A%5B%5D%7D", "%FF");
        assert_eq!(reason(&broken, &mut parts), "a policy document is not UTF-8");
        // Entities that grow are refused by the parser.
        let bomb = "<!DOCTYPE x [<!ENTITY a \"aaaa\">]><x>&a;</x>";
        assert!(reason(bomb, &mut parts).starts_with("no XML"));
    }
}
