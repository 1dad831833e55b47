import { describe, expect, it } from 'vitest'
import { covers } from '../../interface/covers.js'
import { waitFor } from '../../support/wait.js'
import { bannersIn, workflowTests } from './workflow-tests.js'

/** Approvals, nested workflows and aborts, with a runner that does what the test says. */
const { given, jobOf, nodeOf, write, launch, endOf, inStatus, nodeIn, statuses } = workflowTests()

describe('approvals', () => {
  const asks = { roles: ['ops'], title: 'Go $(where)?', message: 'It is $(what)' }

  write(
    'ask',
    { a: { success: ['ok'] }, other: {}, ok: { approval: asks, success: ['b'] }, b: {} },
    { form: { fields: [{ name: 'where', type: 'text' }] } },
  )
  it('are asked for when nothing else runs, and the workflow goes on after a decision', async () => {
    covers('workflow.approval')
    given.runner.scripts.set('ask/a.yml', { stats: { what: 'good' } })
    given.runner.scripts.set('ask/other.yml', { holds: true })
    const id = await launch('ask', { where: 'on' })
    await nodeIn(id, 'a', 'success')
    expect(await jobOf(id)).toMatchObject({ status: 'running' })
    expect(await statuses(id, 'ok', 'b')).toEqual(['waiting', 'waiting'])
    await given.runner.release('ask/other.yml')
    const asked = await inStatus(id, 'approve')
    expect(asked.approval).toMatchObject({ title: 'Go on?', message: 'It is good', roles: ['ops'], state: 'waiting' })
    expect(await nodeOf(id, 'ok')).toMatchObject({
      node: { status: 'approve', type: 'workflow_approval_template' },
      job: null,
    })
    expect(await given.bob.get<number>('/job/approvals')).toBe(1)
    expect((await given.ann.request('POST', `/job/${String(id)}/approve`)).status).toBe(403)
    await given.bob.post(`/job/${String(id)}/approve`)
    const job = await endOf(id)
    expect(job).toMatchObject({ status: 'success', approval: { state: 'approved', decided_by: 'bob' } })
    const { node } = await nodeOf(id, 'ok')
    expect(node).toMatchObject({ status: 'success', approval: { state: 'approved', decided_by: 'bob' } })
    expect(job.output).toMatch(/APPROVE \[Go on\?\][^]*Approved by bob at /)
  })

  write(
    'hidden',
    {
      a: { success: ['ok'] },
      ok: { approval: { ...asks, title: 'Log in as $(db_user)?', message: '$(db_password) $(token)' } },
    },
    {
      form: {
        fields: [
          { name: 'db_user', type: 'text' },
          { name: 'db_password', type: 'text' },
        ],
      },
    },
  )
  it('hide what MASK_EXTRAVARS_REGEX hides, from the form and from playbooks', async () => {
    given.runner.scripts.set('hidden/a.yml', { stats: { token: 'published secret' } })
    const id = await launch('hidden', { db_user: 'root', db_password: 'typed secret' })
    const { approval } = await inStatus(id, 'approve')
    expect(approval).toMatchObject({ title: 'Log in as root?', message: '******** ********' })
    await given.bob.post(`/job/${String(id)}/approve`)
    expect((await endOf(id)).output).not.toContain('secret')
  })

  const self = { roles: ['default'], allowSelf: true }
  write('two', { one: { approval: self, success: ['a'] }, two: { approval: self }, a: {} })
  it('several are asked for one after the other, and each decision stays with its node', async () => {
    const id = await launch('two')
    await nodeIn(id, 'one', 'approve')
    expect(await statuses(id, 'two')).toEqual(['waiting'])
    await given.ann.post(`/job/${String(id)}/approve`)
    await nodeIn(id, 'two', 'approve')
    expect(await statuses(id, 'one', 'a')).toEqual(['success', 'success'])
    await given.ann.post(`/job/${String(id)}/approve`)
    expect((await endOf(id)).status).toBe('success')
  })

  write('handled', { ok: { approval: asks, timeout: 3600, failure: ['tidy'], success: ['b'] }, tidy: {}, b: {} })
  it('after a rejection in time with a failure link the workflow goes on', async () => {
    covers('workflow.refusal')
    const id = await launch('handled')
    await inStatus(id, 'approve')
    await given.bob.post(`/job/${String(id)}/reject`)
    expect((await endOf(id)).status).toBe('success')
    expect(await statuses(id, 'ok', 'tidy', 'b')).toEqual(['failed', 'success', 'do not run'])
    expect((await nodeOf(id, 'ok')).node).toMatchObject({ reason: 'rejected by bob', approval: { state: 'rejected' } })
  })

  write('refused', { ok: { approval: asks, success: ['b'] }, b: {}, more: { approval: asks } })
  it('a rejection without a failure link ends the workflow as rejected', async () => {
    covers('workflow.refusal')
    const id = await launch('refused')
    await inStatus(id, 'approve')
    await given.bob.post(`/job/${String(id)}/reject`)
    const job = await endOf(id)
    expect(job).toMatchObject({ status: 'rejected', status_reason: 'rejected by bob' })
    await waitFor('the nodes to end', async () => (await statuses(id, 'more'))[0] === 'do not run')
    expect(await statuses(id, 'ok', 'b', 'more')).toEqual(['failed', 'do not run', 'do not run'])
    expect((await given.bob.request('POST', `/job/${String(id)}/approve`)).status).toBe(409)
  })

  write('late', {
    ok: { approval: asks, timeout: 1, always: ['b'] },
    b: { success: ['again'] },
    again: { approval: asks, timeout: 1 },
  })
  it('without a decision in time they fail, and so does the workflow unless a link handles it', async () => {
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
  write(
    'outer',
    { a: { success: ['in'] }, in: { workflow: 'inner.yml', success: ['b'] }, b: {} },
    { form: { fields: [{ name: 'value', type: 'number' }] } },
  )
  it('are separate jobs with their own approvals, and pass on their artifacts', async () => {
    covers('workflow.nested')
    given.runner.scripts.set('outer/a.yml', { stats: { from: 'a', kept: 1 } })
    given.runner.scripts.set('inner/x.yml', { stats: { from: 'x', x: 1 } })
    given.runner.scripts.set('inner/y.yml', { stats: { from: 'y' } })
    const id = await launch('outer', { value: 7 })
    const { job } = await waitFor('the inner job', async () => {
      const node = await nodeOf(id, 'in')
      return node.job === null ? null : node
    })
    const inner = job ?? 0
    expect(await inStatus(inner, 'approve')).toMatchObject({ parent_id: id, job_type: 'workflow', target: 'in' })
    expect((await jobOf(id)).status).toBe('running')
    expect((await nodeOf(id, 'in')).node.status).toBe('running')
    await given.bob.post(`/job/${String(inner)}/approve`)
    const whole = await endOf(id)
    expect(whole.status).toBe('success')
    expect(await given.runner.variablesOf('inner/x.yml')).toMatchObject({ from: 'a', kept: 1, value: 7 })
    expect((await nodeOf(id, 'in')).artifacts).toEqual({ from: 'y', x: 1 })
    expect(await given.runner.variablesOf('outer/b.yml')).toMatchObject({ from: 'y', x: 1, kept: 1, value: 7 })
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
  it('a workflow that contains itself, or is missing, fails with the reason', async () => {
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

describe('aborts', () => {
  write('deep', { x: { success: ['y'] }, y: {} })
  write('stop', { a: { always: ['c'] }, b: { workflow: 'deep.yml', always: ['c'] }, c: {} })
  it('of the workflow end every running node, also in nested workflows, and no node starts', async () => {
    covers('workflow.abort')
    given.runner.scripts.set('stop/a.yml', { holds: true })
    given.runner.scripts.set('deep/x.yml', { holds: true })
    const id = await launch('stop')
    await given.runner.orderOf('stop/a.yml')
    await given.runner.orderOf('deep/x.yml')
    await given.ann.post(`/job/${String(id)}/abort`)
    expect(await endOf(id)).toMatchObject({ status: 'aborted' })
    expect(await statuses(id, 'a', 'b', 'c')).toEqual(['aborted', 'aborted', 'do not run'])
    expect(given.runner.countOf('stop/c.yml') + given.runner.countOf('deep/y.yml')).toBe(0)
  })

  write('one', { a: { success: ['x'], failure: ['x'], always: ['x'] }, x: {}, b: {} })
  it('of one node: no link of it fires, and the workflow fails', async () => {
    covers('workflow.links')
    given.runner.scripts.set('one/a.yml', { holds: true })
    const id = await launch('one')
    await given.runner.orderOf('one/a.yml')
    const { job } = await nodeOf(id, 'a')
    await given.ann.post(`/job/${String(job)}/abort`)
    const end = await endOf(id)
    expect(end).toMatchObject({ status: 'failed' })
    expect(end.status_reason).toContain("The node 'a' was aborted")
    expect(await statuses(id, 'a', 'x', 'b')).toEqual(['aborted', 'do not run', 'success'])
  })
})
