import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { covers } from '../interface/covers.js'
import { waitFor } from '../support/wait.js'
import { addRunner } from './runner-row.js'
import { endPart, nodesOf, partOf } from './sequence-parts.js'
import { type TestServer, startServer } from './server.js'

/** Multistep jobs (forms.md section 7): which step runs when and with what, and how the whole ends. */
const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: ops, groups: [local/ops], options: {allowJobRelaunch: true}}
  - {name: near, groups: [local/near], runners: [edge]}
  - {name: default, groups: []}
`

let server: TestServer
const tokens: Record<string, string> = {}

beforeAll(async () => {
  server = await startServer({ config: CONFIG })
  await addRunner(server, 'edge', { isDefault: true })
  await addRunner(server, 'far')
  await addRunner(server, 'resting', { enabled: false })
  for (const [name, groups] of Object.entries({ ann: ['ops'], bob: ['ops'], eve: [], nia: ['near'] })) {
    tokens[name] = (await server.addUser(name, groups)).token
  }
  tokens.admin = server.admin
})
afterAll(() => server.close())

const call = (who: string, method: string, path: string, json?: unknown) =>
  server.call(method, path, { token: tokens[who], json })

let forms = 0
/** Writes a form with these steps and launches it. */
async function launchSteps(
  steps: readonly Readonly<Record<string, unknown>>[],
  { extravars = {}, who = 'eve', form = {} }: { extravars?: object; who?: string; form?: object } = {},
): Promise<number> {
  forms += 1
  const name = `form ${forms}`
  const file = { name, type: 'multistep', roles: ['default'], steps, ...form }
  await server.writeForm(`${name}.yml`, JSON.stringify(file))
  const answer = await call(who, 'POST', '/job', { formName: name, extravars })
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('id')])
  return Number(answer.body.id)
}
const step = (name: string, more: object = {}) => ({ name, type: 'ansible', playbook: `${name}.yml`, ...more })
const jobOf = async (id: number, who = 'admin') => (await call(who, 'GET', `/job/${id}?text=true`)).body
const ended = (id: number) =>
  waitFor(`the end of job ${id}`, async () => {
    const job = await jobOf(id)
    return ['running', 'approve'].includes(String(job.status)) ? null : job
  })
/** Ends the job of a step. */
async function end(
  id: number,
  target: string,
  ...how: Parameters<typeof endPart> extends [unknown, unknown, ...infer R] ? R : never
) {
  const part = await partOf(server, id, target)
  await endPart(server, part.id, ...how)
  return part
}

describe('steps in order', () => {
  test('each is a job of its own, the next starts when the one before has ended; the whole ends with success', async () => {
    covers('service.multistep-job')
    const id = await launchSteps([step('one'), step('two')])
    const one = await partOf(server, id, 'one')
    expect(await jobOf(id)).toMatchObject({
      status: 'running',
      job_type: 'multistep',
      step: 'one',
      runner: null,
      subjobs: [one.id],
    })
    expect(one).toMatchObject({
      parent_id: id,
      job_type: 'ansible',
      form: `form ${forms}`,
      user_name: 'eve',
      dispatch: 'queued',
    })
    await endPart(server, one.id)
    const two = await end(id, 'two')
    const whole = await ended(id)
    expect(whole).toMatchObject({ status: 'success', status_reason: null, subjobs: [one.id, two.id] })
    expect(whole.output).toBe(
      [
        `STEP [one] (job ${one.id}) `.padEnd(79, '*'),
        `ok: [one] (job ${one.id})`,
        `STEP [two] (job ${two.id}) `.padEnd(79, '*'),
        `ok: [two] (job ${two.id})`,
        'STEP RECAP '.padEnd(79, '*'),
        'ok=2 failed=0 skipped=0',
        'The job ended: success',
        '',
      ].join('\n'),
    )
  })

  test('a failure stops what follows, but not always; the whole fails and says by what', async () => {
    const id = await launchSteps([step('one'), step('two'), step('three', { always: true }), step('four')])
    const one = await end(id, 'one', 'failed', 'it broke')
    await end(id, 'three')
    expect(await ended(id)).toMatchObject({ status: 'failed', status_reason: "step 'one' failed: it broke" })
    expect(await nodesOf(server, id)).toEqual({
      one: 'failed',
      two: 'do not run',
      three: 'success',
      four: 'do not run',
    })
    const { output } = await jobOf(id)
    expect(output).toContain(`failed: [one] (job ${one.id}): it broke\nskipping: [two]: step 'one' failed: it broke\n`)
    expect(output).toContain('ok=1 failed=1 skipped=2\n')
  })

  test('a failure with continue is passed over: warning', async () => {
    covers('status.warning')
    const id = await launchSteps([step('one', { continue: true }), step('two')])
    await end(id, 'one', 'failed')
    await end(id, 'two')
    expect(await ended(id)).toMatchObject({ status: 'warning', status_reason: "step 'one' failed: it failed" })
  })
})
