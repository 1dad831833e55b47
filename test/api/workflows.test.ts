import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { covers } from '../interface/covers.js'
import { ADMIN_PASSWORD, type Product, startProduct } from '../support/product.js'
import { type RestClient, signIn } from '../support/rest.js'
import { ScriptedRunner } from '../support/scripted-runner.js'
import { waitFor } from '../support/wait.js'
import { type NodeText, workflowForm, workflowText } from '../support/workflow-text.js'

/** Workflows over HTTP, with a runner that does what the test says. */
const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: ops, groups: [local/ops]}
  - {name: default, groups: []}
  - {name: bound, groups: [local/bound], runners: [north], credentials: [router]}
`

let product: Product
let runner: ScriptedRunner
let ann: RestClient
let bob: RestClient
let bound: RestClient

beforeAll(async () => {
  product = await startProduct({
    config: CONFIG,
    withAgent: false,
    forms: FORMS,
    workflows: WORKFLOWS,
    controlPlane: { PROCESS_MAX_BUFFER_MB: '1' },
  })
  runner = await ScriptedRunner.join(product, 'north')
  for (const [username, groups] of [
    ['ann', []],
    ['bob', ['ops']],
    ['bound', ['bound']],
  ] as const) {
    await product.admin.post('/user', { username, password: ADMIN_PASSWORD, groups })
  }
  ann = await signIn(product.address, 'ann', ADMIN_PASSWORD)
  bob = await signIn(product.address, 'bob', ADMIN_PASSWORD)
  bound = await signIn(product.address, 'bound', ADMIN_PASSWORD)
  for (const name of ['router', 'switch', 'other']) {
    await product.admin.post('/credential', { name, type: 'userpass', user: name, password: `password of ${name}` })
  }
})

afterAll(async () => {
  await runner.leave()
  await product.close()
})

interface Job extends Record<string, unknown> {
  id: number
  status: string
  status_reason: string | null
  subjobs: number[]
  output: string
  extravars: Record<string, unknown>
}

interface Node {
  node: {
    identifier: string
    type: string
    status: string
    start: string | null
    end: string | null
    [key: string]: unknown
  }
  job: number | null
  extravars: Record<string, unknown>
  artifacts: Record<string, unknown>
}

/** The files of all tests, written before the service starts: it looks for changes once a second. */
const FORMS: Record<string, string> = {}
const WORKFLOWS: Record<string, string> = {}

/** A workflow and a form for it; both have the same name. */
function write(
  name: string,
  nodes: Readonly<Record<string, NodeText>>,
  more: { form?: Record<string, unknown>; extraVars?: Record<string, unknown> } = {},
): void {
  FORMS[`${name}.yml`] = workflowForm(name, more.form)
  WORKFLOWS[`${name}.yml`] = workflowText(name, nodes, more.extraVars)
}

async function launch(name: string, extravars: Record<string, unknown> = {}, as: RestClient = ann): Promise<number> {
  const { id } = await as.post<{ id: number }>('/job', { formName: name, extravars })
  return id
}

const jobOf = (id: number) => product.admin.get<Job>(`/job/${String(id)}?text=true`)
const nodeOf = (id: number, identifier: string, as: RestClient = ann) =>
  as.get<Node>(`/job/${String(id)}/node/${encodeURIComponent(identifier)}`)
const endOf = (id: number) => product.waitForEnd(id) as Promise<Job>
const inStatus = (id: number, status: string) =>
  waitFor(`job ${String(id)} to be ${status}`, async () => {
    const job = await jobOf(id)
    return job.status === status ? job : null
  })
const nodeIn = (id: number, identifier: string, status: string) =>
  waitFor(`node ${identifier} to be ${status}`, async () => {
    const node = await nodeOf(id, identifier)
    return node.node.status === status ? node : null
  })
async function statuses(id: number, ...identifiers: string[]): Promise<string[]> {
  return Promise.all(identifiers.map(async (identifier) => (await nodeOf(id, identifier)).node.status))
}

/** The identifiers and statuses of the banners in an output. */
const bannersIn = (output: string) =>
  [...output.matchAll(/^WORKFLOW NODE \[(.*?)\] \((.*?)\)/gm)].map(([, a, b]) => [a, b])

describe('the way of a workflow', () => {
  write('way', {
    a: { success: ['c'], failure: ['never'] },
    b: { failure: ['d'], more: { runner: 'north' } },
    never: { always: ['far'] },
    far: {},
    c: {},
    d: { always: ['e'] },
    e: { more: { all_parents_must_converge: true } },
  })
  it('roots run side by side, links lead on, and each node is a job of its own', async () => {
    covers(
      'service.workflow-job',
      'endpoint.node',
      'node.node',
      'node.job',
      'node.job-null',
      'workflow.roots',
      'workflow.links',
      'workflow.do-not-run',
      'workflow.convergence',
      'workflow.output',
    )
    runner.scripts.set('way/a.yml', { holds: true })
    runner.scripts.set('way/b.yml', { holds: true })
    runner.scripts.set('way/c.yml', { holds: true })
    const id = await launch('way')
    await runner.orderOf('way/a.yml')
    await runner.orderOf('way/b.yml')
    expect(await statuses(id, 'a', 'b', 'c', 'd', 'far')).toEqual([
      'running',
      'running',
      'waiting',
      'waiting',
      'waiting',
    ])
    expect(await jobOf(id)).toMatchObject({ job_type: 'workflow', status: 'running', runner: null, form: 'way' })

    await runner.release('way/b.yml', { exit: 2, output: 'b says\nno' })
    await nodeIn(id, 'e', 'success')
    expect(await statuses(id, 'a', 'c')).toEqual(['running', 'waiting'])
    await runner.release('way/a.yml')
    await runner.release('way/c.yml')
    const job = await endOf(id)
    expect(job).toMatchObject({ status: 'success', status_reason: null, target: 'way', parent_id: null })
    expect(await statuses(id, 'never', 'far')).toEqual(['do not run', 'do not run'])

    const node = await nodeOf(id, 'b')
    expect(node).toMatchObject({
      node: { identifier: 'b', name: 'way/b.yml', type: 'job_template', status: 'failed', approval: null },
      artifacts: {},
    })
    expect(node.node.links).toEqual({ success: [], failure: ['d'], always: [] })
    expect(node.node.reason).toBe('ansible-playbook ended with 2: a host failed')
    const sub = await jobOf(node.job ?? 0)
    expect(sub).toMatchObject({
      parent_id: id,
      target: 'b',
      form: 'way',
      job_type: 'ansible',
      user: 'ann',
      runner: 'north',
    })
    expect([node.node.start, node.node.end]).toEqual([sub.start, sub.end])
    expect(job.subjobs).toHaveLength(5)
    expect(await nodeOf(id, 'never')).toMatchObject({
      node: { status: 'do not run', start: null, end: null, reason: 'no link into it fired that starts it' },
      job: null,
      extravars: {},
      artifacts: {},
    })

    expect(bannersIn(job.output)).toEqual([
      ['b', 'failed'],
      ['d', 'success'],
      ['e', 'success'],
      ['a', 'success'],
      ['c', 'success'],
    ])
    expect(job.output).toMatch(/^WORKFLOW NODE \[b\] \(failed\) \*+\nb says\nno\n/m)
    expect(job.output).toMatch(/^WORKFLOW NODE \[d\] \(success\) \*+\noutput of way\/d.yml\n/m)
    for (const run of ['a', 'b', 'c', 'd', 'e']) expect(runner.countOf(`way/${run}.yml`)).toBe(1)
  })

  write('bad', { a: {}, b: { success: ['c'] }, c: {} })
  it('a failure that nothing takes care of fails the workflow, and the other branches go on', async () => {
    covers('workflow.end')
    runner.scripts.set('bad/a.yml', { exit: 1 })
    runner.scripts.set('bad/b.yml', { holds: true })
    const id = await launch('bad')
    await nodeIn(id, 'a', 'failed')
    await runner.release('bad/b.yml')
    expect(await endOf(id)).toMatchObject({
      status: 'failed',
      status_reason: "The node 'a' failed: ansible-playbook ended with 1: an error stopped it",
    })
    expect(await statuses(id, 'b', 'c')).toEqual(['success', 'success'])
  })

  write('lost', {
    a: { failure: ['c'], more: { runner: 'nowhere' } },
    b: { failure: ['c'], credentials: ['nothing'] },
    c: { more: { all_parents_must_converge: true } },
  })
  it('a node whose runner or credential is missing fails at once, and its failure links fire', async () => {
    const id = await launch('lost')
    expect(await endOf(id)).toMatchObject({ status: 'success' })
    expect((await nodeOf(id, 'a')).node.reason).toContain("The RTE 'nowhere'")
    const { job, node } = await nodeOf(id, 'b')
    expect(node.reason).toContain("'nothing'")
    expect(await jobOf(job ?? 0)).toMatchObject({ status: 'failed', status_reason: node.reason })
  })

  write('skip', {
    a: { success: ['b'], failure: ['c'], more: { if_extra_var: 'go' } },
    b: { success: ['d'] },
    c: {},
    d: { more: { if_extra_var: 'told' } },
  })
  it('a condition that is not met skips a node, and what follows acts as after a success', async () => {
    covers('workflow.condition')
    runner.scripts.set('skip/b.yml', { stats: { told: true } })
    const id = await launch('skip', { go: 'true' })
    const job = await endOf(id)
    expect(job.status).toBe('success')
    expect(await statuses(id, 'a', 'b', 'c', 'd')).toEqual(['skipped', 'success', 'do not run', 'success'])
    expect(await nodeOf(id, 'a')).toMatchObject({ job: null, node: { reason: "the extra variable 'go' is not true" } })
    expect(job.output).toContain('[a] (skipped)')
  })

  const long = ['a', 'b', 'c', 'd', 'e', 'f']
  write('long', {
    ...Object.fromEntries(long.map((name) => [name, { success: ['last'] }])),
    last: { more: { all_parents_must_converge: true } },
  })
  it('its output has a bound: what would go beyond it is named and left where it is', async () => {
    for (const name of long) runner.scripts.set(`long/${name}.yml`, { output: `${name.repeat(200_000)}\n` })
    const id = await launch('long')
    const { output } = await endOf(id)
    const whole = long.filter((name) => output.includes(name.repeat(200_000)))
    expect(whole).toHaveLength(5)
    const left = long.find((name) => !whole.includes(name)) ?? ''
    const { job } = await nodeOf(id, left)
    expect(output).toContain(`The output would be too long with that of '${left}', which is in job ${String(job)}`)
    expect((await jobOf(job ?? 0)).output).toContain(left.repeat(200_000))
    expect(output).toContain('output of long/last.yml')
  })

  write('kept', { a: { success: ['b'] }, b: {} })
  it('files that change while it runs change nothing of it', async () => {
    covers('durable.files')
    runner.scripts.set('kept/a.yml', { holds: true })
    const id = await launch('kept')
    await runner.orderOf('kept/a.yml')
    const changed = workflowText('kept', { a: { success: ['other'] }, other: {} })
    writeFileSync(join(product.folder, 'persistent/workflows/kept.yml'), changed)
    await waitFor('the new file to count', async () => {
      const later = await launch('kept')
      return (await ann.request('GET', `/job/${String(later)}/node/other`)).status === 200
    })
    await runner.release('kept/a.yml')
    await nodeIn(id, 'b', 'success')
    expect((await endOf(id)).status).toBe('success')
  })
})

describe('data', () => {
  write(
    'data',
    {
      a: { success: ['c'] },
      b: { failure: ['c'] },
      c: {
        success: ['d'],
        more: { all_parents_must_converge: true, extra_data: { one: 1, two: 1, three: 1, four: 1 } },
      },
      d: { more: { extra_vars_key: 'part' } },
    },
    { extraVars: { three: 3, four: 3 } },
  )
  it('goes from node to node: extra_data < what was published < extra_vars < the form', async () => {
    covers('node.extravars', 'node.artifacts', 'workflow.precedence', 'workflow.artifacts')
    const reach = { __playbook__: '../x.yml', __inventory__: 'evil,' }
    runner.scripts.set('data/a.yml', { stats: { two: 2, three: 2, four: 2, from: 'a', first: 1, ...reach } })
    runner.scripts.set('data/b.yml', { stats: { from: 'b', api_token: 'hush', part: { x: 1 } }, exit: 2 })
    runner.scripts.set('data/c.yml', { stats: { from: 'c' } })
    const id = await launch('data', { four: 4 })
    expect((await endOf(id)).status).toBe('success')

    const variables = await runner.variablesOf('data/c.yml')
    expect(variables).toMatchObject({ one: 1, two: 2, three: 3, four: 4, from: 'b', first: 1, api_token: 'hush' })
    expect(variables.__playbook__).toBe('data/c.yml')
    expect(variables).not.toHaveProperty('__inventory__')
    expect(variables.ansibleforms_user).toMatchObject({ username: 'ann' })
    const c = await nodeOf(id, 'c')
    expect(c.extravars).toMatchObject({ one: 1, two: 2, three: 3, four: 4, from: 'b', api_token: '********' })
    expect(c.extravars).toEqual((await jobOf(c.job ?? 0)).extravars)
    expect(c.artifacts).toEqual({ from: 'c' })
    expect((await nodeOf(id, 'b')).artifacts).toEqual({ from: 'b', api_token: '********', part: { x: 1 } })

    const underKey = await runner.variablesOf('data/d.yml')
    expect(underKey).toMatchObject({ x: 1, ansibleforms_user: { username: 'ann' } })
    for (const key of ['one', 'from', 'part']) expect(underKey).not.toHaveProperty(key)
  })

  write('torn', { a: {} })
  it('that could not be taken over is named in the output', async () => {
    const ansible_stats = { data: { small: 1, large: 'xx…' }, per_host: false, aggregate: true }
    const result = { ansible_stats, _cut: [{ path: 'ansible_stats.data.large', bytes: 1, sha256: '' }] }
    runner.scripts.set('torn/a.yml', { events: [{ action: 'set_stats', result }] })
    const id = await launch('torn')
    const { output } = await endOf(id)
    expect(output).toContain("[WARNING]: The node 'a' hands on less than it published: 'large', which was too large")
    expect((await nodeOf(id, 'a')).artifacts).toEqual({ small: 1 })
  })

  const settings = {
    ...{ inventory: { name: 'web1,' }, limit: 'web', job_tags: 'x,y', skip_tags: 'slow', diff_mode: true },
    ...{ verbosity: 2, job_type: 'check' },
  }
  const form = { credentials: { access: 'router', switch: 'other' }, runner: 'north' }
  write('sets', { a: { more: settings, credentials: ['switch'] } }, { form })
  it('settings of a node reach its playbook, and credentials of the form and of the node', async () => {
    const id = await launch('sets')
    expect((await endOf(id)).status).toBe('success')
    expect(await runner.orderOf('sets/a.yml')).toMatchObject({
      ...{ inventory: ['web1,'], limit: 'web', tags: 'x,y', skip_tags: 'slow', diff: true, check: true, verbosity: 2 },
    })
    const { job } = await nodeOf(id, 'a')
    expect((await jobOf(job ?? 0)).credentials).toEqual({ access: 'router', switch: 'switch' })
  })
})

describe('approvals', () => {
  const asks = { roles: ['ops'], title: 'Go $(where)?', message: 'It is $(what)' }

  write('ask', { a: { success: ['ok'] }, other: {}, ok: { approval: asks, success: ['b'] }, b: {} })
  it('are asked for when nothing else runs; who may decide does, and it goes on', async () => {
    covers('workflow.approval')
    runner.scripts.set('ask/a.yml', { stats: { what: 'good' } })
    runner.scripts.set('ask/other.yml', { holds: true })
    const id = await launch('ask', { where: 'on' })
    await nodeIn(id, 'a', 'success')
    expect(await jobOf(id)).toMatchObject({ status: 'running' })
    expect(await statuses(id, 'ok', 'b')).toEqual(['waiting', 'waiting'])
    await runner.release('ask/other.yml')
    const asked = await inStatus(id, 'approve')
    expect(asked.approval).toMatchObject({ title: 'Go on?', message: 'It is good', roles: ['ops'], state: 'waiting' })
    expect(await nodeOf(id, 'ok')).toMatchObject({
      node: { status: 'approve', type: 'workflow_approval_template' },
      job: null,
    })
    expect(await bob.get<number>('/job/approvals')).toBe(1)
    expect((await ann.request('POST', `/job/${String(id)}/approve`)).status).toBe(403)
    await bob.post(`/job/${String(id)}/approve`)
    const job = await endOf(id)
    expect(job).toMatchObject({ status: 'success', approval: { state: 'approved', decided_by: 'bob' } })
    const { node } = await nodeOf(id, 'ok')
    expect(node).toMatchObject({ status: 'success', approval: { state: 'approved', decided_by: 'bob' } })
    expect(job.output).toMatch(/APPROVE \[Go on\?\][^]*Approved by bob at /)
  })

  const self = { roles: ['default'], allowSelf: true }
  write('two', { one: { approval: self, success: ['a'] }, two: { approval: self }, a: {} })
  it('several are asked for one after the other, and each decision stays with its node', async () => {
    const id = await launch('two')
    await nodeIn(id, 'one', 'approve')
    expect(await statuses(id, 'two')).toEqual(['waiting'])
    await ann.post(`/job/${String(id)}/approve`)
    await nodeIn(id, 'two', 'approve')
    expect(await statuses(id, 'one', 'a')).toEqual(['success', 'success'])
    await ann.post(`/job/${String(id)}/approve`)
    expect((await endOf(id)).status).toBe('success')
  })

  write('handled', { ok: { approval: asks, failure: ['tidy'], success: ['b'] }, tidy: {}, b: {} })
  it('a refusal that is taken care of leads on', async () => {
    covers('workflow.refusal')
    const id = await launch('handled')
    await inStatus(id, 'approve')
    await bob.post(`/job/${String(id)}/reject`)
    expect((await endOf(id)).status).toBe('success')
    expect(await statuses(id, 'ok', 'tidy', 'b')).toEqual(['failed', 'success', 'do not run'])
    expect((await nodeOf(id, 'ok')).node).toMatchObject({ reason: 'rejected by bob', approval: { state: 'rejected' } })
  })

  write('refused', { ok: { approval: asks, success: ['b'] }, b: {}, more: { approval: asks } })
  it('a refusal that is not ends the workflow as rejected', async () => {
    covers('workflow.refusal')
    const id = await launch('refused')
    await inStatus(id, 'approve')
    await bob.post(`/job/${String(id)}/reject`)
    const job = await endOf(id)
    expect(job).toMatchObject({ status: 'rejected', status_reason: 'rejected by bob' })
    await waitFor('the nodes to end', async () => (await statuses(id, 'more'))[0] === 'do not run')
    expect(await statuses(id, 'ok', 'b', 'more')).toEqual(['failed', 'do not run', 'do not run'])
    expect((await bob.request('POST', `/job/${String(id)}/approve`)).status).toBe(409)
  })

  write('late', {
    ok: { approval: asks, timeout: 1, always: ['b'] },
    b: { success: ['again'] },
    again: { approval: asks, timeout: 1 },
  })
  it('without an answer in time they fail, and so does the workflow unless that is taken care of', async () => {
    covers('workflow.timeout')
    const id = await launch('late')
    const job = await endOf(id)
    expect(job).toMatchObject({ status: 'failed' })
    expect(job.status_reason).toContain("The node 'again' failed: ")
    expect(await statuses(id, 'ok', 'b', 'again')).toEqual(['failed', 'success', 'failed'])
    expect((await nodeOf(id, 'ok')).node.reason).toBe('nobody decided within 1 second')
  })
})

describe('workflows in workflows', () => {
  write('inner', { x: { success: ['sure'] }, sure: { approval: { roles: ['ops'] }, success: ['y'] }, y: {} })
  write('outer', { a: { success: ['in'] }, in: { workflow: 'inner.yml', success: ['b'] }, b: {} })
  it('are jobs of their own with approvals of their own, and hand their artifacts on', async () => {
    covers('workflow.nested')
    runner.scripts.set('outer/a.yml', { stats: { from: 'a', kept: 1 } })
    runner.scripts.set('inner/x.yml', { stats: { from: 'x', x: 1 } })
    runner.scripts.set('inner/y.yml', { stats: { from: 'y' } })
    const id = await launch('outer', { value: 7 })
    const { job } = await waitFor('the inner job', async () => {
      const node = await nodeOf(id, 'in')
      return node.job === null ? null : node
    })
    const inner = job ?? 0
    expect(await inStatus(inner, 'approve')).toMatchObject({ parent_id: id, job_type: 'workflow', target: 'in' })
    expect((await jobOf(id)).status).toBe('running')
    expect((await nodeOf(id, 'in')).node.status).toBe('running')
    await bob.post(`/job/${String(inner)}/approve`)
    const whole = await endOf(id)
    expect(whole.status).toBe('success')
    expect(await runner.variablesOf('inner/x.yml')).toMatchObject({ from: 'a', kept: 1, value: 7 })
    expect((await nodeOf(id, 'in')).artifacts).toEqual({ from: 'y', x: 1 })
    expect(await runner.variablesOf('outer/b.yml')).toMatchObject({ from: 'y', x: 1, kept: 1, value: 7 })
    expect(bannersIn(whole.output)).toEqual([
      ['a', 'success'],
      ['in', 'success'],
      ['x', 'success'],
      ['y', 'success'],
      ['b', 'success'],
    ])
  })

  write('ping', { a: { workflow: 'pong.yml' } })
  write('pong', { a: { workflow: 'ping.yml' } })
  write('astray', { a: { workflow: 'nothing.yml' } })
  it('what leads back to itself, or is not there, fails with the reason', async () => {
    const ping = await endOf(await launch('ping'))
    expect(ping).toMatchObject({ status: 'failed', subjobs: [] })
    expect(ping.status_reason).toContain('its workflows lead back to each other')
    const id = await launch('astray')
    expect((await endOf(id)).status).toBe('failed')
    const { node, job } = await nodeOf(id, 'a')
    expect(node.reason).toContain("There is no workflow 'nothing.yml'")
    expect((await jobOf(job ?? 0)).output).toContain("[ERROR]: There is no workflow 'nothing.yml'")
  })
})

describe('what is refused', () => {
  write('gone', { a: {} }, { form: { workflow: 'not-there.yml' } })
  it('a workflow that is not there: the job fails with the reason in its output', async () => {
    const job = await endOf(await launch('gone'))
    expect(job).toMatchObject({ status: 'failed', subjobs: [], job_type: 'workflow' })
    expect(job.output).toContain("There is no workflow 'not-there.yml', neither a file nor a name in one")
  })

  write('broken', { a: { success: ['nowhere'] } })
  it('mistakes in workflow files are shown to admins beside those in forms', async () => {
    covers('workflow.files')
    const { errors } = await product.admin.get<{ errors: { file: string }[] }>('/forms')
    expect(errors.filter((error) => error.file === 'broken.yml')).toEqual([
      {
        file: 'broken.yml',
        line: 1,
        form: null,
        reason: "workflow 'broken': node 'a': success_nodes names 'nowhere', and there is no such node",
      },
    ])
    expect(await ann.get('/forms')).not.toHaveProperty('errors')
  })

  write('south', { a: {}, b: { more: { runner: 'north' } } })
  write('far', { a: { more: { runner: 'south' } } })
  write('keys', { a: { credentials: ['switch'] } })
  it('runners and credentials of nodes that a role does not allow: 403, and no job', async () => {
    expect((await endOf(await launch('south', {}, bound))).status).toBe('success')
    const other = await ScriptedRunner.join(product, 'south')
    const before = (await product.admin.get<{ count: number }>('/job')).count
    for (const [name, code] of [
      ['far', 'runner_not_allowed'],
      ['keys', 'credential_not_allowed'],
    ]) {
      const answer = await bound.request('POST', '/job', { formName: name })
      expect(answer).toMatchObject({ status: 403, body: { code } })
    }
    expect((await product.admin.get<{ count: number }>('/job')).count).toBe(before)
    await other.leave()
  })

  write('own', { a: {} })
  it('nodes that are not there, and those of others', async () => {
    const id = await launch('own')
    await endOf(id)
    const get = (as: RestClient, path: string) => as.request('GET', `/job/${path}`)
    expect(await get(ann, `${String(id)}/node/none`)).toMatchObject({ status: 404, body: { code: 'node_not_found' } })
    const { job } = await nodeOf(id, 'a')
    expect((await get(ann, `${String(job)}/node/a`)).status).toBe(404)
    expect((await get(bob, `${String(id)}/node/a`)).status).toBe(403)
    expect((await get(bob, '999999/node/a')).status).toBe(404)
  })

  write('parts', { a: { success: ['b'] }, b: {} })
  it('a part of a workflow is not deleted or run again without the whole', async () => {
    runner.scripts.set('parts/b.yml', { holds: true })
    const id = await launch('parts')
    await runner.orderOf('parts/b.yml')
    const { job } = await nodeOf(id, 'a')
    expect((await product.admin.request('DELETE', `/job/${String(job)}`)).status).toBe(409)
    expect((await product.admin.request('POST', `/job/${String(job)}/relaunch`)).body).toMatchObject({
      code: 'part_of_a_job',
    })
    await runner.release('parts/b.yml')
    await endOf(id)
    const again = await product.admin.post<{ id: number }>(`/job/${String(id)}/relaunch`)
    await waitFor('the second run', () => runner.countOf('parts/a.yml') === 2)
    await waitFor('the second b', () => runner.countOf('parts/b.yml') === 2)
    await product.admin.post(`/job/${String(again.id)}/abort`)
    expect((await endOf(again.id)).status).toBe('aborted')
    expect((await product.admin.request('DELETE', `/job/${String(id)}`)).status).toBe(200)
    expect((await product.admin.request('GET', `/job/${String(job)}`)).status).toBe(404)
  })
})

describe('aborts', () => {
  write('deep', { x: { success: ['y'] }, y: {} })
  write('stop', { a: { always: ['c'] }, b: { workflow: 'deep.yml', always: ['c'] }, c: {} })
  it('of the workflow end every node that runs, also in workflows in it, and start none', async () => {
    covers('workflow.abort')
    runner.scripts.set('stop/a.yml', { holds: true })
    runner.scripts.set('deep/x.yml', { holds: true })
    const id = await launch('stop')
    await runner.orderOf('stop/a.yml')
    await runner.orderOf('deep/x.yml')
    await ann.post(`/job/${String(id)}/abort`)
    expect(await endOf(id)).toMatchObject({ status: 'aborted' })
    expect(await statuses(id, 'a', 'b', 'c')).toEqual(['aborted', 'aborted', 'do not run'])
    expect(runner.countOf('stop/c.yml') + runner.countOf('deep/y.yml')).toBe(0)
  })

  write('one', { a: { success: ['x'], failure: ['x'], always: ['x'] }, x: {}, b: {} })
  it('of one node: no link of it fires, and the workflow fails', async () => {
    covers('workflow.links')
    runner.scripts.set('one/a.yml', { holds: true })
    const id = await launch('one')
    await runner.orderOf('one/a.yml')
    const { job } = await nodeOf(id, 'a')
    await ann.post(`/job/${String(job)}/abort`)
    const end = await endOf(id)
    expect(end).toMatchObject({ status: 'failed' })
    expect(end.status_reason).toContain("The node 'a' was aborted")
    expect(await statuses(id, 'a', 'x', 'b')).toEqual(['aborted', 'do not run', 'success'])
  })
})
