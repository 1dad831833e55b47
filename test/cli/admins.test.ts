import { SOCKET_PATH } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestServer, startServer } from '../api/server.js'
import { RawAgent, newIdentity } from '../support/raw-agent.js'
import { waitFor } from '../support/wait.js'
import { newQuickPerson } from './run-cli.js'

/** What admins do with runners, accounts and jobs, without curl. */
const CONFIG = `roles:
  - { name: admin, groups: [local/admins] }
  - { name: default }
  - { name: ops, groups: [local/ops], users: [local/root], options: { allowVerboseMode: true }, runners: [web, db] }
`
// It names a runner that is not there, so its jobs fail at once.
const WAIT = 'name: Wait\ntype: ansible\nplaybook: wait.yml\nroles: [ops]\nrunner: gone\nfields: []\n'
const FORM = 'name: Deploy\ntype: ansible\nplaybook: deploy.yml\nroles: [ops]\nrunner: nowhere\nfields: []\n'
const TOKENS = `name: Tokens
type: ansible
playbook: tokens.yml
roles: [ops]
runner: nowhere
fields:
  - { name: allowApiTokens, type: checkbox }
  - { name: renewPassword, type: checkbox }
  - { name: apiToken, type: text }
`

let server: TestServer
let url: string
beforeAll(async () => {
  server = await startServer({ config: CONFIG, forms: { 'deploy.yml': FORM, 'tokens.yml': TOKENS, 'wait.yml': WAIT } })
  url = `ws://127.0.0.1:${server.port}${SOCKET_PATH}`
})
afterAll(() => server.close())

const run = (...args: readonly string[]) =>
  newQuickPerson({ HOLDFAST_TOKEN: server.admin, HOLDFAST_SERVER: server.url }).run(args)
const ask = (name: string) => RawAgent.join(url, newIdentity(name))

async function rowOf(name: string, state: string) {
  const { body } = await server.call('GET', '/runner', { token: server.admin })
  const records = body.records as { id: number; name: string; state: string; is_default: boolean }[]
  const row = records.find((one) => one.name === name && one.state === state)
  if (!row) throw new Error(`there is no runner ${name} that is ${state}`)
  return row
}

describe('the default runner', () => {
  it('is the first runner. When it is lost, a message says so, no other takes its place, and one command chooses a new one', async () => {
    for (const name of ['one', 'two', 'three']) await ask(name)
    expect((await run('runner', 'approve', 'one')).stdout).toMatch(
      /^The runner was approved; it is the default runner now \(/,
    )
    expect((await run('runner', 'approve', 'two')).stdout).toMatch(/^The runner was approved \(/)

    const removed = await run('runner', 'remove', 'one')
    expect(removed.stdout).toMatch(
      /^The runner was removed; it was the default runner\. .*holdfast runner default <name>/,
    )
    const approved = await run('runner', 'approve', 'three')
    expect(approved.stdout).toMatch(/^The runner was approved; there is no default runner\. /)
    expect((await run('runner', 'list')).stderr).toContain('There is no default runner')

    expect((await run('runner', 'default', 'two')).stdout).toMatch(
      /^The runner was changed; it is the default runner now/,
    )
    const list = await run('runner', 'list')
    expect([list.stdout.match(/default/g), list.stderr]).toEqual([['default'], ''])
  })
})

describe('runner remove', () => {
  it('frees the name at once, so the reinstalled host that was refused can be approved without asking again', async () => {
    await ask('web')
    expect((await run('runner', 'approve', 'web')).code).toBe(0)
    const reinstalled = newIdentity('web')
    expect(await (await RawAgent.greet(url, reinstalled)).waitForClose()).toMatchObject({ reason: 'denied' })
    const { id } = await rowOf('web', 'denied')
    const early = await run('runner', 'approve', String(id))
    expect([early.code, early.stderr]).toEqual([5, expect.stringContaining('remove that runner first')])

    expect((await run('runner', 'remove', String((await rowOf('web', 'approved')).id))).code).toBe(0)
    expect((await run('runner', 'approve', 'web')).code).toBe(0)
    const back = await RawAgent.join(url, reinstalled)
    expect((await back.next('welcome')).state).toBe('approved')
  })
})

describe('runner set and rename', () => {
  it('change what forms and jobs use, and nothing else', async () => {
    const agent = await ask('old-name')
    await run('runner', 'approve', 'old-name')
    const set = await run('runner', 'set', 'old-name', '--no-enabled', '--max-jobs', '3', '--description', 'rack 7')
    expect([set.code, set.stdout]).toEqual([0, expect.stringMatching(/^The runner was changed \(SHA256:/)])
    expect((await run('runner', 'rename', 'old-name', 'new-name')).code).toBe(0)
    const { id } = await rowOf('new-name', 'approved')
    const { body } = await server.call('GET', `/runner/${id}`, { token: server.admin })
    expect(body).toMatchObject({ enabled: false, max_jobs: 3, description: 'rack 7', online: true })
    // The agent was started with its old name, and stays who it is.
    const again = await RawAgent.join(url, agent.identity)
    expect((await again.next('welcome')).state).toBe('approved')
    expect((await rowOf('new-name', 'approved')).id).toBe(id)
  })
})

describe('job show', () => {
  it('says that a job waits for a runner that is offline', async () => {
    const agent = await ask('gone')
    await run('runner', 'approve', 'gone')
    await agent.leave()
    await waitFor('the runner to be offline', async () => {
      const { body } = await server.call('GET', '/runner', { token: server.admin })
      const records = body.records as { name: string; online: boolean }[]
      return records.some(({ name, online }) => name === 'gone' && !online)
    })
    const launch = { formName: 'Wait', rawFormData: {} }
    const { body } = await server.call('POST', '/job', { token: server.admin, json: launch })
    await waitFor('the wait of the job to begin', async () => {
      const shown = await server.call('GET', `/job/${String(body.id)}?output=false`, { token: server.admin })
      return (shown.body.place as { until: string | null }).until !== null
    })
    const { code, stdout } = await run('job', 'show', String(body.id))
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^waits for +the runner gone, which is offline \(last seen \d{4}-.*\); it fails at \d{4}-.* at the earliest$/m,
    )
    expect(stdout).not.toMatch(/^(can|place|history|integrity) /m)
  })
})

describe('holdfast job delete and audit --follow', () => {
  it('delete removes a job, and a follower of the audit trail sees it once', async () => {
    const follower = newQuickPerson({ HOLDFAST_TOKEN: server.admin, HOLDFAST_SERVER: server.url }).start([
      'audit',
      '--follow',
      '--action',
      'job.delete',
      '--json',
    ])
    const { body } = await server.call('POST', '/job', {
      token: server.admin,
      json: { formName: 'Deploy', rawFormData: {} },
    })
    expect(body).toEqual({ id: expect.any(Number) as unknown })
    const id = String(body.id)
    await waitFor('the job to end', async () => {
      const job = await server.call('GET', `/job/${id}`, { token: server.admin })
      return job.body.status === 'failed'
    })
    expect(await run('job', 'delete', id)).toMatchObject({ code: 0, stdout: `Job ${id} was deleted\n` })
    expect((await run('job', 'delete', id)).code).toBe(5)
    await waitFor('both records', () => follower.stdout().trim().split('\n').length === 2)
    follower.process.kill('SIGINT')
    const { code, stdout } = await follower.ended
    const seen = stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { status: number }).status)
    expect([code, seen]).toEqual([130, [200, 404]])
  })
})
