// Runs cases (one JSON object a line on stdin, as `lockshift policy decide --batch` takes them) through
// @cloud-copilot/iam-simulate and prints one verdict a line. The package's directory is the first argument.
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

const require = createRequire(`${process.argv[2]}/`)
const { runSimulation, anonymousPrincipal } = require('@cloud-copilot/iam-simulate')

const named = (policies, name) => policies.map((policy, n) => ({ name: `${name}${n}`, policy }))
const list = (value) => (value == null ? [] : Array.isArray(value) ? value : [value])
const levels = (value) =>
  list(value).map((level, n) => ({ orgIdentifier: `level${n}`, policies: named(list(level), 'p') }))

for await (const line of createInterface({ input: process.stdin })) {
  const given = JSON.parse(line)
  const anonymous = given.principal === 'anonymous'
  // The root user may do everything in its account; the other evaluator wants that said.
  const own = given.principal.endsWith(':root')
    ? [{ Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: '*', Resource: '*' }] }]
    : list(given.identityPolicies)
  const simulation = {
    request: {
      principal: anonymous ? anonymousPrincipal : given.principal,
      action: given.action,
      resource: { resource: given.resource, accountId: given.resourceAccount },
      contextVariables: given.context ?? {},
    },
    identityPolicies: named(own, 'identity'),
    serviceControlPolicies: levels(given.scps),
    resourceControlPolicies: levels(given.rcps),
    resourcePolicy: given.resourcePolicy ?? undefined,
    permissionBoundaryPolicies: given.permissionsBoundary ? named(list(given.permissionsBoundary), 'boundary') : undefined,
    sessionPolicy: given.sessionPolicy ?? undefined,
    vpcEndpointPolicies: given.endpoint ? named(list(given.endpoint), 'endpoint') : undefined,
  }
  let verdict
  try {
    const result = await runSimulation(simulation, {})
    verdict =
      result.resultType === 'error'
        ? { error: JSON.stringify(result.errors).slice(0, 300) }
        : { verdict: result.overallResult, ignored: result.result?.ignoredContextKeys ?? [] }
  } catch (error) {
    verdict = { error: String(error.message).slice(0, 300) }
  }
  process.stdout.write(`${JSON.stringify({ id: given.id, ...verdict })}\n`)
}
