//! Asks IAM's policy simulator about principals, one request for each with all its actions and locks. The requests are
//! few and come one after the other: IAM answers only some in a second, and what it refuses once it refuses always.
//! Source: `SimulatePrincipalPolicy` in the API reference of IAM.

use roxmltree::{Document, Node};

use super::account::{Callers, FIRST_REGION, effort};
use super::bucket::Target;
use super::clients::Clients;
use super::failure::Failure;
use super::iam::{child, field, members};
use super::meter::Meter;
use super::options::CollectOptions;
use super::query::{IAM, Query};
use super::{CollectError, runtime};
use crate::audit::expected::Expected;
use crate::audit::snapshot::{SimulatedAnswer, Simulation, Snapshot, Unread};
use crate::policy::access::Question;

/// Pages after which something is wrong: there are a few dozen answers.
const MOST_PAGES: usize = 100;

/// Asks all questions, by bucket, and adds the answers to the snapshot; blocks until it is done.
///
/// # Errors
/// Where there are no threads to ask with. Whatever IAM refuses is in the snapshot instead.
pub fn simulate(
    expected: &Expected,
    options: &CollectOptions,
    questions: &[(String, Vec<Question>)],
    snapshot: &mut Snapshot,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<(), CollectError> {
    if questions.iter().all(|(_, questions)| questions.is_empty()) {
        return Ok(());
    }
    progress("asking IAM's policy simulator");
    let runtime = runtime()?;
    let (meter, mut unread) = (Meter::default(), Vec::new());
    let clients = Clients::new(options, meter.clone());
    let asked = ask_all(&clients, options, expected, questions, &mut unread);
    snapshot.simulations.extend(runtime.block_on(asked));
    runtime.shutdown_background();
    snapshot.unread.extend(unread);
    for (operation, count) in meter.stats().requests {
        *snapshot.stats.requests.entry(operation).or_default() += count;
    }
    snapshot.stats.retries += meter.stats().retries;
    snapshot.sort();
    Ok(())
}

async fn ask_all(
    clients: &Clients<'_>,
    options: &CollectOptions,
    expected: &Expected,
    questions: &[(String, Vec<Question>)],
    unread: &mut Vec<Unread>,
) -> Vec<Simulation> {
    let mut callers = Callers::default();
    let mut done = Vec::new();
    let targets = Target::all(expected, options);
    for (bucket, questions) in questions {
        let ways = targets.iter().filter(|target| target.name == *bucket).flat_map(|target| &target.ways);
        let mut left: Vec<&Question> = questions.iter().collect();
        for way in ways {
            // A way that does not lead anywhere said so when the bucket was read.
            let Ok(config) = clients.config(way).await else { continue };
            let Ok(account) = callers.of(clients, options, way, &config).await else { continue };
            let region = config.region().map_or(FIRST_REGION, |region| region.as_ref()).to_owned();
            let endpoint = options.endpoint_url.as_deref();
            let iam = Query::new(&config, IAM, &region, endpoint, effort(options), clients.meter());
            // IAM knows the principals of its own account only.
            let (own, others) = left
                .into_iter()
                .partition(|question| question.principal.split(':').nth(4) == Some(account.as_str()));
            left = others;
            for question in own {
                match ask(&iam, question).await {
                    Ok(answers) => done.push(Simulation {
                        bucket: bucket.clone(),
                        principal: question.principal.clone(),
                        answers,
                    }),
                    Err(failure) => {
                        unread.push(failure.unread(&question.principal, "SimulatePrincipalPolicy", false));
                        // A missing permission is missing for all of them; anything else may be this one's alone.
                        if failure.refused() || failure.hopeless() {
                            return done;
                        }
                    }
                }
            }
        }
        let reason = "none of the ways to its bucket leads to its account";
        let told = left.iter().map(|question| {
            Failure::own(reason).unread(&question.principal, "SimulatePrincipalPolicy", false)
        });
        unread.extend(told);
    }
    done
}

async fn ask(iam: &Query<'_>, question: &Question) -> Result<Vec<SimulatedAnswer>, Failure> {
    let mut parameters = vec![
        ("PolicySourceArn".to_owned(), question.principal.clone()),
        ("MaxItems".to_owned(), "1000".to_owned()),
    ];
    let mut list = |name: &str, values: &[String]| {
        let members = values.iter().zip(1..).map(|(value, n)| (format!("{name}.member.{n}"), value.clone()));
        parameters.extend(members);
    };
    list("ActionNames", &question.actions);
    list("ResourceArns", &question.resources);
    for ((key, kind, value), n) in question.context.iter().zip(1..) {
        let entry = format!("ContextEntries.member.{n}");
        parameters.push((format!("{entry}.ContextKeyName"), key.clone()));
        parameters.push((format!("{entry}.ContextKeyType"), kind.clone()));
        parameters.push((format!("{entry}.ContextKeyValues.member.1"), value.clone()));
    }
    let (mut answers, mut marker) = (Vec::new(), None::<String>);
    for _ in 0..MOST_PAGES {
        let mut asked: Vec<(&str, &str)> =
            parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        asked.extend(marker.as_deref().map(|marker| ("Marker", marker)));
        let xml = iam.call("SimulatePrincipalPolicy", &asked).await?;
        match page(&xml, &mut answers)? {
            None => return Ok(answers),
            Some(next) if marker.as_ref() == Some(&next) => {
                return Err(Failure::own("a page names itself as the next one"));
            }
            next => marker = next,
        }
    }
    Err(Failure::own("the pages never end"))
}

/// Takes one page in; gives the marker of the next.
fn page(xml: &str, answers: &mut Vec<SimulatedAnswer>) -> Result<Option<String>, Failure> {
    let document = Document::parse(xml).map_err(|error| Failure::own(format!("no XML: {error}")))?;
    let result = child(document.root_element(), "SimulatePrincipalPolicyResult")
        .ok_or_else(|| Failure::own("the answer holds no simulation"))?;
    for evaluation in members(result, "EvaluationResults") {
        let organization = child(evaluation, "OrganizationsDecisionDetail");
        let of_all = SimulatedAnswer {
            action: said(evaluation, "EvalActionName")?,
            resource: field(evaluation, "EvalResourceName").unwrap_or_default().to_owned(),
            decision: said(evaluation, "EvalDecision")?,
            missing_context: missing(evaluation),
            by_organization: organization
                .and_then(|detail| field(detail, "AllowedByOrganizations"))
                .map(|text| text == "true"),
        };
        // The result as a whole is the strictest of all resources; each one's own stands below it.
        let before = answers.len();
        for single in members(evaluation, "ResourceSpecificResults") {
            answers.push(SimulatedAnswer {
                resource: said(single, "EvalResourceName")?,
                decision: said(single, "EvalResourceDecision")?,
                missing_context: of_all.missing_context.iter().cloned().chain(missing(single)).collect(),
                ..of_all.clone()
            });
        }
        if answers.len() == before {
            answers.push(of_all);
        }
    }
    let truncated = field(result, "IsTruncated") == Some("true");
    match field(result, "Marker") {
        Some(marker) if truncated => Ok(Some(marker.to_owned())),
        None if truncated => Err(Failure::own("there are more pages, and no marker that leads to them")),
        _ => Ok(None),
    }
}

fn said(node: Node<'_, '_>, name: &str) -> Result<String, Failure> {
    field(node, name).map(str::to_owned).ok_or_else(|| Failure::own(format!("a result without a `{name}`")))
}

fn missing(node: Node<'_, '_>) -> Vec<String> {
    members(node, "MissingContextValues").filter_map(|key| key.text()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_resource_has_its_own_decision() {
        let xml = "<R><SimulatePrincipalPolicyResult><IsTruncated>true</IsTruncated><Marker>m</Marker>\
            <EvaluationResults><member><EvalActionName>s3:GetObject</EvalActionName>\
            <EvalDecision>implicitDeny</EvalDecision><EvalResourceName>*</EvalResourceName>\
            <OrganizationsDecisionDetail><AllowedByOrganizations>false</AllowedByOrganizations>\
            </OrganizationsDecisionDetail><ResourceSpecificResults><member><EvalResourceName>a</EvalResourceName>\
            <EvalResourceDecision>allowed</EvalResourceDecision></member><member><EvalResourceName>b</EvalResourceName>\
            <EvalResourceDecision>implicitDeny</EvalResourceDecision><MissingContextValues><member>aws:SourceIp</member>\
            </MissingContextValues></member></ResourceSpecificResults></member><member>\
            <EvalActionName>s3:PutObject</EvalActionName><EvalDecision>allowed</EvalDecision>\
            <EvalResourceName>a</EvalResourceName></member></EvaluationResults></SimulatePrincipalPolicyResult></R>";
        let mut answers = Vec::new();
        assert_eq!(page(xml, &mut answers).unwrap().as_deref(), Some("m"));
        let said: Vec<(&str, &str, &str, usize, Option<bool>)> = answers
            .iter()
            .map(|answer| {
                let (action, resource) = (answer.action.as_str(), answer.resource.as_str());
                let missing = answer.missing_context.len();
                (action, resource, answer.decision.as_str(), missing, answer.by_organization)
            })
            .collect();
        assert_eq!(
            said,
            [
                ("s3:GetObject", "a", "allowed", 0, Some(false)),
                ("s3:GetObject", "b", "implicitDeny", 1, Some(false)),
                ("s3:PutObject", "a", "allowed", 0, None),
            ]
        );
        assert_eq!(page("<R/>", &mut answers).unwrap_err().reason, "the answer holds no simulation");
        let endless = "<R><SimulatePrincipalPolicyResult><IsTruncated>true</IsTruncated></SimulatePrincipalPolicyResult></R>";
        assert!(page(endless, &mut answers).is_err());
    }
}
