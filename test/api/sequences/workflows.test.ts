import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { covers } from '../../interface/covers.js'
import { waitFor } from '../../support/wait.js'
import { workflowText } from '../../support/workflow-text.js'
import { bannersIn, workflowTests } from './workflow-tests.js'

/** The way of workflows over HTTP, with a runner that does what the test says. */
const { given, jobOf, nodeOf, write, launch, endOf, nodeIn, statuses } = workflowTests()

describe('the course of a workflow', () => {
  write('way', {
    a: { success: ['c'], failure: ['never'] },
    b: { failure: ['d'], more: { runner: 'north' } },
    never: { always: ['far'] },
    far: {},
    c: {},
    d: { always: ['e'] },
    e: { more: { all_parents_must_converge: true } },
  })
  it('roots run at the same time, links are followed, and each node is a separate job', async () => {
    covers(
      'service.workflow-job',
      'endpoint.node',
      'endpoint.nodes',
      'node.node',
      'node.job',
      'node.job-null',
      'workflow.roots',
      'workflow.links',
      'workflow.do-not-run',
      'workflow.convergence',
      'workflow.output',
    )
    given.runner.scripts.set('way/a.yml', { holds: true })
    given.runner.scripts.set('way/b.yml', { holds: true })
    given.runner.scripts.set('way/c.yml', { holds: true })
    const id = await launch('way')
    await given.runner.orderOf('way/a.yml')
    await given.runner.orderOf('way/b.yml')
    expect(await statuses(id, 'a', 'b', 'c', 'd', 'far')).toEqual([
      'running',
      'running',
      'waiting',
      'waiting',
      'waiting',
    ])
    expect(await jobOf(id)).toMatchObject({ job_type: 'workflow', status: 'running', runner: null, form: 'way' })

    await given.runner.release('way/b.yml', { exit: 2, output: 'b says\nno' })
    await nodeIn(id, 'e', 'success')
    expect(await statuses(id, 'a', 'c')).toEqual(['running', 'waiting'])
    await given.runner.release('way/a.yml')
    await given.runner.release('way/c.yml')
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
    const { count, records } = await given.ann.get<{ count: number; records: object[] }>(`/job/${String(id)}/nodes`)
    expect(count).toBe(7)
    expect(records.slice(1, 3)).toEqual([
      {
        identifier: 'b',
        name: 'way/b.yml',
        type: 'job_template',
        status: 'failed',
        job: node.job,
        links: { success: [], failure: ['d'], always: [] },
        all_parents: false,
        reason: node.node.reason,
        start: node.node.start,
        end: node.node.end,
        began: expect.any(String),
      },
      expect.objectContaining({ identifier: 'never', status: 'do not run', start: null, end: null, job: null }),
    ])
    expect(records[6]).toMatchObject({ identifier: 'e', all_parents: true, status: 'success' })
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
      node: { status: 'do not run', start: null, end: null, reason: 'nothing before it ended in a way that starts it' },
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
    for (const run of ['a', 'b', 'c', 'd', 'e']) expect(given.runner.countOf(`way/${run}.yml`)).toBe(1)
  })

  write('bad', { a: {}, b: { success: ['c'] }, c: {} })
  it('a failure without a failure link fails the workflow, and the other branches go on', async () => {
    covers('workflow.end')
    given.runner.scripts.set('bad/a.yml', { exit: 1 })
    given.runner.scripts.set('bad/b.yml', { holds: true })
    const id = await launch('bad')
    await nodeIn(id, 'a', 'failed')
    await given.runner.release('bad/b.yml')
    expect(await endOf(id)).toMatchObject({
      status: 'failed',
      status_reason: "The node 'a' failed: ansible-playbook ended with 1: an error stopped it",
    })
    expect(await statuses(id, 'b', 'c')).toEqual(['success', 'success'])
  })

  write('lost', {
    a: { failure: ['c'], success: ['d'], more: { runner: 'nowhere' } },
    b: { failure: ['c'], credentials: ['nothing'] },
    c: { success: ['d'], more: { all_parents_must_converge: true } },
    d: { more: { all_parents_must_converge: true } },
  })
  it('a node whose runner or credential is missing fails at once, and its failure links fire', async () => {
    const id = await launch('lost')
    expect(await endOf(id)).toMatchObject({ status: 'success' })
    expect((await nodeOf(id, 'a')).node.reason).toContain("The runner 'nowhere'")
    const { job, node } = await nodeOf(id, 'b')
    expect(node.reason).toContain("'nothing'")
    expect(await jobOf(job ?? 0)).toMatchObject({ status: 'failed', status_reason: node.reason })
    // It waits for all of its parents, and one of them did not succeed.
    expect(await statuses(id, 'c', 'd')).toEqual(['success', 'do not run'])
  })

  write(
    'skip',
    {
      a: { success: ['b'], failure: ['c'], more: { if_extra_var: 'go' } },
      b: { success: ['d'] },
      c: {},
      d: { more: { if_extra_var: 'told' } },
    },
    { form: { fields: [{ name: 'go', type: 'text' }] } },
  )
  it('a condition that is not met skips a node, and the next nodes run as after a success', async () => {
    covers('workflow.condition')
    given.runner.scripts.set('skip/b.yml', { stats: { told: true } })
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
  it('its output has a limit: larger outputs are only named', async () => {
    for (const name of long) given.runner.scripts.set(`long/${name}.yml`, { output: `${name.repeat(200_000)}\n` })
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
  it('files that change while it runs do not change it', async () => {
    covers('durable.files')
    given.runner.scripts.set('kept/a.yml', { holds: true })
    const id = await launch('kept')
    await given.runner.orderOf('kept/a.yml')
    const changed = workflowText('kept', { a: { success: ['other'] }, other: {} })
    writeFileSync(join(given.product.folder, 'persistent/workflows/kept.yml'), changed)
    await waitFor('the new file to count', async () => {
      const later = await launch('kept')
      return (await given.ann.request('GET', `/job/${String(later)}/node/other`)).status === 200
    })
    await given.runner.release('kept/a.yml')
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
    { extraVars: { three: 3, four: 3 }, form: { fields: [{ name: 'four', type: 'number' }] } },
  )
  it('goes from node to node: extra_data < published values < extra_vars < the form', async () => {
    covers('node.extravars', 'node.artifacts', 'workflow.precedence', 'workflow.artifacts')
    const reach = { __playbook__: '../x.yml', __inventory__: 'evil,' }
    given.runner.scripts.set('data/a.yml', { stats: { two: 2, three: 2, four: 2, from: 'a', first: 1, ...reach } })
    given.runner.scripts.set('data/b.yml', { stats: { from: 'b', api_token: 'hush', part: { x: 1 } }, exit: 2 })
    given.runner.scripts.set('data/c.yml', { stats: { from: 'c' } })
    const id = await launch('data', { four: 4 })
    expect((await endOf(id)).status).toBe('success')

    const variables = await given.runner.variablesOf('data/c.yml')
    expect(variables).toMatchObject({ one: 1, two: 2, three: 3, four: 4, from: 'b', first: 1, api_token: 'hush' })
    expect(variables.__playbook__).toBe('data/c.yml')
    expect(variables).not.toHaveProperty('__inventory__')
    expect(variables.ansibleforms_user).toMatchObject({ username: 'ann' })
    const c = await nodeOf(id, 'c')
    expect(c.extravars).toMatchObject({ one: 1, two: 2, three: 3, four: 4, from: 'b', api_token: '********' })
    expect(c.extravars).toEqual((await jobOf(c.job ?? 0)).extravars)
    expect(c.artifacts).toEqual({ from: 'c' })
    expect((await nodeOf(id, 'b')).artifacts).toEqual({ from: 'b', api_token: '********', part: { x: 1 } })

    const underKey = await given.runner.variablesOf('data/d.yml')
    expect(underKey).toMatchObject({ x: 1, ansibleforms_user: { username: 'ann' } })
    for (const key of ['one', 'from', 'part']) expect(underKey).not.toHaveProperty(key)
  })

  write('torn', { a: {} })
  it('that could not be passed on is named in the output', async () => {
    const ansible_stats = { data: { small: 1, large: 'xx…' }, per_host: false, aggregate: true }
    const result = { ansible_stats, _cut: [{ path: 'ansible_stats.data.large', bytes: 1, sha256: '' }] }
    given.runner.scripts.set('torn/a.yml', { events: [{ action: 'set_stats', result }] })
    const id = await launch('torn')
    const { output } = await endOf(id)
    expect(output).toContain("[WARNING]: The node 'a' hands on less than it published: 'large', which was too large")
    expect((await nodeOf(id, 'a')).artifacts).toEqual({ small: 1 })
  })

  const settings = {
    inventory: { name: 'web1,' },
    limit: 'web',
    job_tags: 'x,y',
    skip_tags: 'slow',
    diff_mode: true,
    verbosity: 2,
    job_type: 'check',
  }
  const form = { credentials: { access: 'router', switch: 'other' }, runner: 'north' }
  write('sets', { a: { more: settings, credentials: ['switch'] } }, { form })
  it('settings of a node reach its playbook, and credentials of the form and of the node', async () => {
    const id = await launch('sets')
    expect((await endOf(id)).status).toBe('success')
    expect(await given.runner.orderOf('sets/a.yml')).toMatchObject({
      inventory: ['web1,'],
      limit: 'web',
      tags: 'x,y',
      skip_tags: 'slow',
      diff: true,
      check: true,
      verbosity: 2,
    })
    const { job } = await nodeOf(id, 'a')
    expect((await jobOf(job ?? 0)).credentials).toEqual({ access: 'router', switch: 'switch' })
  })
})
