import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSequences } from '../../../control-plane/src/sequences/sequences.js'
import type { Store } from '../../../control-plane/src/store/store.js'
import { covers } from '../../interface/covers.js'
import { waitFor } from '../../support/wait.js'
import { addRunner } from '../runner-row.js'
import { endPart, nodesOf, partOf, partsOf } from './sequence-parts.js'
import { type TestServer, startServer } from '../server.js'

/** The course of multistep jobs: approvals on the way, aborts, jobs that were given up, deleting, other control planes. */
const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: ops, groups: [local/ops]}
  - {name: default, groups: [], options: {allowJobRelaunch: true}}
`
const step = (name: string, more: object = {}) => ({ name, playbook: `${name}.yml`, ...more })
const approval = { title: 'Go on with $(host)?', message: 'It takes $(pin)', roles: ['ops'] }
const form = (name: string, steps: object[], more: object = {}) =>
  JSON.stringify({
    name,
    type: 'multistep',
    roles: ['default'],
    steps,
    fields: [{ name: 'pin', type: 'password' }, { name: 'host' }, { name: 'size', type: 'number' }],
    ...more,
  })
const FORMS = {
  'two.yml': form('two', [step('one'), step('two')]),
  // It keeps the only place of its group while a step waits.
  'ask.yml': form('ask', [step('one'), step('two', { approval }), step('three', { approval: { roles: ['ops'] } })], {
    concurrency: { group: 'ask', limit: 1 },
  }),
  'both.yml': form('both', [step('one', { approval }), step('two', { always: true })], {
    approval: { roles: ['ops'] },
  }),
  'unasked.yml': form('unasked', [step('one', { approval, ifExtraVar: 'never' }), step('two')]),
}

let server: TestServer
const tokens: Record<string, string> = {}

beforeAll(async () => {
  server = await startServer({ config: CONFIG, forms: FORMS })
  await addRunner(server, 'edge', { isDefault: true })
  for (const [name, groups] of Object.entries({ ann: ['ops'], bob: ['ops'], eve: [] })) {
    tokens[name] = (await server.addUser(name, groups)).token
  }
  tokens.admin = server.admin
})

const call = (who: string, method: string, path: string, json?: unknown) =>
  server.call(method, path, { token: tokens[who], json })
async function launch(formName: string, values: object = {}, who = 'eve'): Promise<number> {
  const answer = await call(who, 'POST', '/job', { formName, rawFormData: values })
  expect(answer.status, answer.text).toBe(200)
  return Number(answer.body.id)
}
const jobOf = async (id: number) => (await call('admin', 'GET', `/job/${id}?text=true`)).body
const rowOf = (id: number) =>
  server.store.read.selectFrom('job').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
const becomes = (id: number, ...statuses: string[]) =>
  waitFor(`job ${id} to become ${statuses.join(' or ')}`, async () => {
    const job = await jobOf(id)
    return statuses.includes(String(job.status)) ? job : null
  })
async function end(id: number, target: string, status?: Parameters<typeof endPart>[2], reason?: string) {
  const part = await partOf(server, id, target)
  await endPart(server, part.id, status, reason)
  return part
}
const said = async (id: number, text: string) =>
  waitFor(`the output of job ${id} to say ${text}`, async () => String((await jobOf(id)).output).includes(text))

describe('the approval of a step', () => {
  test('the parent job pauses right before the step, once for each step; the step keeps who decided', async () => {
    covers('status.approve', 'approval.before', 'approval.written', 'multistep.approval')
    const id = await launch('ask', { host: 'web', pin: 'hush' })
    const one = await end(id, 'one')
    const job = await becomes(id, 'approve')
    expect(job).toMatchObject({
      step: 'two',
      subjobs: [one.id],
      end: null,
      approval: { title: 'Go on with web?', message: 'It takes ********', state: 'waiting', roles: ['ops'] },
    })
    expect(await rowOf(id)).toMatchObject({ dispatch: 'parked' })
    expect(job.output).toContain('APPROVE [Go on with web?] ***')
    expect(Number((await call('ann', 'GET', '/job/approvals')).text)).toBe(1)
    expect((await call('eve', 'POST', `/job/${id}/approve`)).status).toBe(403)
    expect((await call('ann', 'POST', `/job/${id}/approve`)).body).toEqual({ message: `Job ${id} was approved` })
    await end(id, 'two')
    expect(await becomes(id, 'approve')).toMatchObject({ step: 'three', approval: { title: null, state: 'waiting' } })
    expect((await call('bob', 'POST', `/job/${id}/approve`)).status).toBe(200)
    await end(id, 'three')
    const { output } = await becomes(id, 'success')
    expect(output).toMatch(/Approved by ann at .*\n(.*\n)*.*Approved by bob at /)
    const nodes = server.store.read
      .selectFrom('sequence_node')
      .select(['identifier', 'approval'])
      .where('job_id', '=', id)
    const decisions = (await nodes.orderBy('position').execute()).map(({ approval: json }) => json && JSON.parse(json))
    expect(decisions).toMatchObject([null, { state: 'approved', decided_by: 'ann' }, { decided_by: 'bob' }])
    // Who decided about a part of it goes on seeing it.
    for (const who of ['ann', 'bob']) expect((await call(who, 'GET', `/job/${id}`)).status).toBe(200)
    const { records } = (await call('admin', 'GET', '/audit?action=job.approve')).body as {
      records: { user: string }[]
    }
    expect(records.slice(0, 2).map(({ user }) => user)).toEqual(['bob', 'ann'])
  })

  test('when it is rejected, the parent job is rejected and no later step runs', async () => {
    covers('status.rejected')
    const id = await launch('ask')
    await end(id, 'one')
    await becomes(id, 'approve')
    expect((await call('ann', 'POST', `/job/${id}/reject`)).status).toBe(200)
    expect(await jobOf(id)).toMatchObject({ status: 'rejected', status_reason: 'rejected by ann' })
    await server.parts.sequences.sequences.sweep()
    expect(await nodesOf(server, id)).toEqual({ one: 'success', two: 'do not run', three: 'do not run' })
    expect(await partsOf(server, id)).toHaveLength(1)
    expect((await call('bob', 'POST', `/job/${id}/approve`)).status).toBe(409)
  })

  test('the approval of the form comes first, before any step', async () => {
    const id = await launch('both')
    expect(await jobOf(id)).toMatchObject({ status: 'approve', step: null, subjobs: [] })
    await server.parts.sequences.sequences.sweep()
    expect(await partsOf(server, id)).toEqual([])
    await call('ann', 'POST', `/job/${id}/approve`)
    expect(
      await waitFor('the second', async () => ((await rowOf(id)).step === 'one' ? jobOf(id) : null)),
    ).toMatchObject({
      status: 'approve',
      subjobs: [],
      approval: { title: 'Go on with $(host)?' },
    })
    await call('ann', 'POST', `/job/${id}/reject`)
    expect(await nodesOf(server, id)).toEqual({ one: 'do not run', two: 'do not run' })
    const rejected = await launch('both')
    await call('ann', 'POST', `/job/${rejected}/reject`)
    expect(await jobOf(rejected)).toMatchObject({ status: 'rejected' })
    expect(await nodesOf(server, rejected)).toEqual({ one: 'do not run', two: 'do not run' })
  })

  test('is not asked for when the step will not run', async () => {
    const id = await launch('unasked')
    await end(id, 'two')
    expect(await becomes(id, 'success')).toMatchObject({ approval: null })
    const stopped = await launch('ask')
    await end(stopped, 'one', 'failed')
    expect(await becomes(stopped, 'failed')).toMatchObject({ approval: null })
  })
})

describe('an abort', () => {
  test('of the parent job ends the job of the running step, too, and what waits never runs', async () => {
    covers('move.abort', 'multistep.abort')
    const id = await launch('two')
    const one = await partOf(server, id, 'one')
    await server.store.write('test.claim', (queries) =>
      queries.updateTable('job').set({ dispatch: 'claimed' }).where('id', '=', one.id).execute(),
    )
    expect((await call('eve', 'POST', `/job/${id}/abort`)).body).toEqual({
      message: `The abort of job ${id} was requested`,
    })
    expect((await call('eve', 'POST', `/job/${id}/abort`)).status).toBe(409)
    await waitFor('the abort to be passed on', async () => (await rowOf(one.id)).abort_requested === 1)
    expect(await rowOf(one.id)).toMatchObject({ status: 'running', abort_requested_by: 'eve' })
    expect(await jobOf(id)).toMatchObject({ status: 'running', abort_requested: true })
    await endPart(server, one.id, 'aborted', 'aborted by eve')
    expect(await becomes(id, 'aborted')).toMatchObject({ status_reason: 'aborted by eve' })
    expect(await nodesOf(server, id)).toEqual({ one: 'aborted', two: 'do not run' })
    expect(await partsOf(server, id)).toHaveLength(1)
  })

  test('of the parent job ends a job that no runner has yet at once', async () => {
    const id = await launch('two')
    const one = await partOf(server, id, 'one')
    await call('eve', 'POST', `/job/${id}/abort`)
    await becomes(id, 'aborted')
    expect(await rowOf(one.id)).toMatchObject({ status: 'aborted', status_reason: 'aborted by eve before it started' })
  })

  test('of a child job aborts its step: later steps do not run, and the parent job fails', async () => {
    covers('multistep.stop')
    const id = await launch('two')
    const one = await partOf(server, id, 'one')
    expect((await call('eve', 'POST', `/job/${one.id}/abort`)).status).toBe(200)
    expect(await becomes(id, 'failed')).toMatchObject({
      status_reason: "step 'one' was aborted: aborted by eve before it started",
    })
    expect(await nodesOf(server, id)).toEqual({ one: 'aborted', two: 'do not run' })
  })
})

describe('a step whose job was given up', () => {
  test('delays the next steps until its real outcome comes, and the output says so once', async () => {
    const id = await launch('two')
    const one = await end(id, 'one', 'abandoned', 'the runner was silent')
    await said(id, `Aborting job ${id} ends the wait.`)
    await server.parts.sequences.sequences.sweep()
    expect(await nodesOf(server, id)).toEqual({ one: 'running', two: 'waiting' })
    expect(await jobOf(id)).toMatchObject({ status: 'running' })
    await endPart(server, one.id)
    await end(id, 'two')
    const { output } = await becomes(id, 'success')
    expect(String(output).split('was given up (the runner was silent)')).toHaveLength(2)
  })

  test('is not waited for when the parent job is aborted; its end changes nothing any more', async () => {
    const id = await launch('two')
    const one = await end(id, 'one', 'abandoned')
    await said(id, 'may still be at work')
    await call('eve', 'POST', `/job/${id}/abort`)
    const job = await becomes(id, 'aborted')
    expect(job.output).toContain(`aborted: [one]: job ${id} was aborted; job ${one.id} was given up and may still run`)
    expect(job.output).toContain('ok=0 failed=0 aborted=1 skipped=1\n')
    // Its runner hears of the abort when it comes back.
    expect(await rowOf(one.id)).toMatchObject({ status: 'abandoned', abort_requested: 1, abort_requested_by: 'eve' })
    await endPart(server, one.id)
    await server.parts.sequences.sequences.sweep()
    expect(await nodesOf(server, id)).toEqual({ one: 'aborted', two: 'do not run' })
    expect(await jobOf(id)).toMatchObject({ status: 'aborted' })
  })

  test('is aborted on its own, too: the parent job waits for its end, and then the step is aborted', async () => {
    covers('over-time.abandoned-abort')
    const id = await launch('two')
    const one = await end(id, 'one', 'abandoned')
    await said(id, 'may still be at work')
    expect((await call('eve', 'POST', `/job/${one.id}/abort`)).status).toBe(409)
    expect((await call('eve', 'POST', `/job/${one.id}/abort?abandoned=true`)).status).toBe(200)
    await server.parts.sequences.sequences.sweep()
    expect(await rowOf(one.id)).toMatchObject({ status: 'abandoned', abort_requested: 1, abort_requested_by: 'eve' })
    expect(await nodesOf(server, id)).toEqual({ one: 'running', two: 'waiting' })
    await endPart(server, one.id, 'aborted')
    await becomes(id, 'failed')
    expect(await nodesOf(server, id)).toEqual({ one: 'aborted', two: 'do not run' })
  })

  test.each(['revoked', 'deleted'])('counts as failed when its runner is %s: no outcome can come', async (what) => {
    const runner = await addRunner(server, `gone ${what}`)
    await server.writeForm(`${what}.yml`, form(what, [step('one', { runner: runner.name }), step('two')]))
    const id = await launch(what)
    await end(id, 'one', 'abandoned', 'it was silent')
    await said(id, 'may still be at work')
    await server.store.write('test.runner', async (queries) => {
      if (what === 'deleted') await queries.deleteFrom('runner').where('id', '=', runner.id).execute()
      else await queries.updateTable('runner').set({ state: 'revoked' }).where('id', '=', runner.id).execute()
    })
    server.parts.sequences.sequences.jobEnded()
    expect(await becomes(id, 'failed')).toMatchObject({
      status_reason: "step 'one' failed: it was silent; its end is not waited for",
    })
  })
})

describe('deleting', () => {
  test('a child job alone is 409, before and after the end of its parent job; the parent job is deleted with its child jobs', async () => {
    const id = await launch('two')
    const one = await end(id, 'one')
    const two = await partOf(server, id, 'two')
    const early = await call('eve', 'DELETE', `/job/${one.id}`)
    expect([early.status, early.body.error]).toEqual([409, expect.stringContaining(`a child job of job ${id}`)])
    expect((await call('eve', 'DELETE', `/job/${id}`)).status).toBe(409)
    await endPart(server, two.id)
    await becomes(id, 'success')
    const part = await call('eve', 'DELETE', `/job/${one.id}`)
    expect([part.status, part.body.code]).toEqual([409, 'part_of_a_job'])
    expect(await jobOf(id)).toMatchObject({ subjobs: [one.id, two.id] })
    expect((await call('eve', 'DELETE', `/job/${id}`)).status).toBe(200)
    expect((await call('eve', 'GET', `/job/${two.id}`)).status).toBe(404)
    for (const table of ['job_sequence', 'sequence_node'] as const) {
      expect(await server.store.read.selectFrom(table).selectAll().where('job_id', '=', id).execute()).toEqual([])
    }
  })

  test('a parent job with a child job that still runs is 409', async () => {
    const id = await launch('two')
    const one = await partOf(server, id, 'one')
    await server.store.write('test.odd', (queries) =>
      queries.updateTable('job').set({ status: 'failed', dispatch: 'done' }).where('id', '=', id).execute(),
    )
    const early = await call('eve', 'DELETE', `/job/${id}`)
    expect([early.status, early.body.error]).toEqual([409, `A child job of job ${id} has not ended`])
    await endPart(server, one.id)
    expect((await call('eve', 'DELETE', `/job/${id}`)).status).toBe(200)
  })
})

test('a relaunch runs the parent job again; a child job alone is 409', async () => {
  const id = await launch('two', { size: 3 })
  const one = await end(id, 'one')
  await end(id, 'two')
  await becomes(id, 'success')
  const part = await call('eve', 'POST', `/job/${one.id}/relaunch`)
  expect([part.status, part.body.code]).toEqual([409, 'part_of_a_job'])
  const again = await call('eve', 'POST', `/job/${id}/relaunch`)
  expect(again.status, again.text).toBe(200)
  const first = await end(Number(again.body.id), 'one')
  expect(JSON.parse(first.extravars)).toMatchObject({ size: 3 })
  await end(Number(again.body.id), 'two')
  await becomes(Number(again.body.id), 'success')
})

test('steps are those of the launch: files that are edited later do not change a running job', async () => {
  covers('durable.files')
  await server.writeForm('edited.yml', form('edited', [step('one'), step('two')]))
  const id = await launch('edited')
  await server.writeForm('edited.yml', form('edited', [step('one'), step('other')]))
  await end(id, 'one')
  expect(JSON.parse((await end(id, 'two')).playbook)).toMatchObject({ playbook: 'two.yml' })
  expect(await becomes(id, 'success')).toMatchObject({ status: 'success' })
})

const others: ReturnType<typeof createSequences>[] = []
afterAll(async () => {
  await Promise.all(others.map((other) => other.close()))
  await server.close()
})

/** Another one, which hears of nothing: it only looks. */
function another(store: Store = server.store) {
  const { clock } = server
  const { live } = server.parts
  const { credentials, vault } = server.parts.credentials
  const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const nobody = { jobQueued: () => undefined, abortRequested: () => undefined }
  const grant = { account: 'enabled', isAdmin: true, roles: [], options: { allowVerboseMode: true } }
  const other = createSequences({
    store,
    clock,
    live,
    credentials,
    vault,
    runners: nobody,
    uploads: { path: '/nowhere' },
    maskPattern: /x/,
    log: silent as never,
    grants: { of: () => Promise.resolve(grant as never) },
    timers: { after: () => () => undefined, every: () => () => undefined },
    serviceClock: { look: () => Promise.resolve(0) },
    kinds: server.parts.sequences.kinds,
    subjects: { now: () => Promise.resolve({ manifest_sha256: 'a', form_sha256: 'b' }) },
  })
  others.push(other)
  return other
}

describe('several control planes on one database', () => {
  test('each step is started once, however many look at the same time', async () => {
    const lookers = [another(), another(), another()]
    const ids = await Promise.all(Array.from({ length: 5 }, () => launch('two')))
    for (const target of ['one', 'two']) {
      for (const id of ids) {
        const part = await partOf(server, id, target)
        await server.store.write('test.end', (queries) =>
          queries.updateTable('job').set({ status: 'success', dispatch: 'done' }).where('id', '=', part.id).execute(),
        )
      }
      // Nobody is told: each finds it by itself.
      await Promise.all([server.parts.sequences.sequences, ...lookers].map((looker) => looker.sweep()))
    }
    for (const id of ids) {
      const job = await becomes(id, 'success')
      expect((await partsOf(server, id)).map(({ target }) => target)).toEqual(['one', 'two'])
      expect(String(job.output).match(/^STEP|^ok:/gm)).toHaveLength(5)
    }
  })
})

describe('a control plane that dies in the middle of a step', () => {
  test.each(['before', 'after'])('%s its commit: the next one goes on, and each step is made once', async (moment) => {
    covers('durable.restart')
    const died: string[] = []
    const dying: Store = {
      ...server.store,
      async write(name, operation) {
        const result = moment === 'after' ? await server.store.write(name, operation) : null
        died.push(name)
        throw new Error(`died ${moment} the commit, with ${JSON.stringify(result)}`)
      },
    }
    const first = another(dying)
    const id = await launch('two')
    for (const target of ['one', 'two']) {
      const part = await partOf(server, id, target)
      await server.store.write('test.end', (queries) =>
        queries.updateTable('job').set({ status: 'success', dispatch: 'done' }).where('id', '=', part.id).execute(),
      )
      await first.sweep()
      await server.parts.sequences.sequences.sweep()
    }
    expect(await becomes(id, 'success')).toMatchObject({ subjobs: { length: 2 } })
    expect((await partsOf(server, id)).map(({ target }) => target)).toEqual(['one', 'two'])
    // The server's own sweep may have been quicker, but nothing else was written.
    expect(died.filter((name) => name !== 'sequences.advance')).toEqual([])
  })
})
