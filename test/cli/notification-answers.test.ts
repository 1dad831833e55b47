import { describe, expect, it } from 'vitest'
import { NOON, cellsOf, fileWith, listOf, scriptWith } from './answering.js'

const EVENTS = ['job.ended', 'job.approval', 'runner.request', 'runner.lost', 'runner.back']
const target = {
  id: 3,
  name: 'chat',
  kind: 'webhook',
  url: 'https://chat.example',
  events: ['job.ended', 'runner.lost'],
  enabled: true,
  created_at: NOON,
  created_by: 'ada',
}
const sent = {
  id: 5,
  delivery: 'd',
  channel: 'webhook',
  recipient: 'chat',
  event: 'job.ended',
  event_at: NOON,
  job_id: 12 as number | null,
  state: 'sent',
  attempts: 1,
  next_attempt: null,
  problem: null as string | null,
  created_at: NOON,
  ended_at: null,
}
const failed = { ...sent, id: 6, job_id: null, state: 'failed', attempts: 9, problem: 'HTTP status 500' }

const answers = {
  'GET /notification-target': listOf(target, { ...target, id: 4, enabled: false, events: [] }),
  'POST /notification-target': { ...target, secret: 'a-new-secret' },
  'PUT /notification-target/3': target,
  'DELETE /notification-target/3': { message: 'The target was removed' },
  'POST /notification-target/3/test': sent,
  'GET /notification': listOf(sent, failed),
  'POST /notification/5/retry': { ...sent, state: 'waiting' },
  'POST /notification/test-mail': { ...failed, recipient: 'ada@x.example' },
}

describe('targets of notifications', () => {
  it('are listed with their events, and whether they are on', async () => {
    const { run } = await scriptWith(answers)
    expect(cellsOf((await run('notification targets')).stdout)).toEqual([
      ['id', 'name', 'kind', 'url', 'events', 'on'],
      ['3', 'chat', 'webhook', 'https://chat.example', 'job.ended, runner.lost', 'yes'],
      ['4', 'chat', 'webhook', 'https://chat.example', '-', 'no'],
    ])
    expect(JSON.parse((await run('notification targets --json')).stdout)).toEqual(answers['GET /notification-target'])
    const none = await scriptWith({ 'GET /notification-target': listOf() })
    expect((await none.run('notification targets')).stdout).toBe('There is no target.\n')
  })

  it('are added for all events, or for those that are named, and the secret is shown once', async () => {
    const { run, changes } = await scriptWith(answers)
    const { stdout } = await run('notification add-target chat https://chat.example')
    expect(stdout).toBe('The target 3 (chat) was made.\nIts secret, which is shown only now: a-new-secret\n')
    await run('notification add-target chat https://chat.example --event job.ended --event runner.back')
    const body = { name: 'chat', url: 'https://chat.example' }
    expect(changes()).toEqual([
      ['POST /notification-target', { ...body, events: EVENTS }],
      ['POST /notification-target', { ...body, events: ['job.ended', 'runner.back'] }],
    ])
  })

  it.each(EVENTS)('may be given %s', async (event) => {
    const { run, changes } = await scriptWith(answers)
    expect((await run(`notification change-target 3 --event ${event}`)).code).toBe(0)
    expect(changes()).toEqual([['PUT /notification-target/3', { events: [event] }]])
  })

  it.each([
    ['', {}],
    [' --url https://other.example', { url: 'https://other.example' }],
    [' --enabled', { enabled: true }],
    [' --no-enabled', { enabled: false }],
    [' --password-stdin', { secret: 'given secret' }],
  ])('are changed with "%s", and nothing else of them: %j', async (options, body) => {
    const { run, changes } = await scriptWith(answers)
    const { stdout } = await run(`notification change-target 3${options}`, { input: 'given secret\n' })
    expect(stdout).toBe('The target 3 (chat) was changed.\n')
    expect(changes()).toEqual([['PUT /notification-target/3', body]])
  })

  it('get a secret of a file, or a new one, which is shown once', async () => {
    const { run, changes } = await scriptWith(answers)
    await run(`notification change-target 3 --password-file ${fileWith('secret of a file\n')}`)
    const { stdout } = await run('notification change-target 3 --new-secret')
    const json = await run('notification change-target 3 --new-secret --json')
    const secrets = changes().map(([, body]) => (body as { secret: string }).secret)
    expect(secrets).toEqual(['secret of a file', expect.stringMatching(/^[\w-]{43}$/), expect.any(String)])
    expect(stdout).toBe(`The target 3 (chat) was changed.\nIts secret, which is shown only now: ${secrets[1]}\n`)
    expect(JSON.parse(json.stdout)).toEqual({ ...target, secret: secrets[2] })
    expect(JSON.parse((await run('notification change-target 3 --enabled --json')).stdout)).toEqual(target)
    expect(secrets[1]).not.toBe(secrets[2])
  })

  it.each(['--password-stdin', '--password-file f'])('get no new secret together with %s', async (option) => {
    const { run, seen } = await scriptWith(answers)
    const { code, stderr } = await run(`notification change-target 3 --new-secret ${option}`)
    expect([code, seen]).toEqual([2, []])
    expect(stderr).toContain('mutually exclusive')
  })

  it('are removed and tested by their number', async () => {
    const { run, changes } = await scriptWith(answers)
    expect((await run('notification remove-target 3')).stdout).toBe('The target was removed\n')
    expect((await run('notification test 3')).stdout).toBe('It arrived at chat.\n')
    expect(changes()).toEqual(['DELETE /notification-target/3', 'POST /notification-target/3/test'])
    for (const command of ['test', 'remove-target', 'change-target']) {
      const { code, stderr } = await run(`notification ${command} chat`)
      expect([code, stderr]).toEqual([
        2,
        'holdfast: chat is not the number of a target; see holdfast notification targets.\n',
      ])
    }
    expect(changes()).toHaveLength(2)
  })
})

describe('notifications', () => {
  it('are listed with their state and their problem', async () => {
    const { run } = await scriptWith(answers)
    expect(cellsOf((await run('notification list')).stdout)).toEqual([
      ['id', 'event', 'job', 'to', 'state', 'attempts', 'problem'],
      ['5', 'job.ended', '12', 'chat', 'sent', '1', '-'],
      ['6', 'job.ended', '-', 'chat', 'failed', '9', 'HTTP status 500'],
    ])
    expect(JSON.parse((await run('notification list --json')).stdout)).toEqual(answers['GET /notification'])
    const none = await scriptWith({ 'GET /notification': listOf() })
    expect((await none.run('notification list')).stdout).toBe('Nothing was sent.\n')
  })

  it.each([
    ['', ''],
    [' --state waiting', 'state=waiting'],
    [' --state sent', 'state=sent'],
    [' --state failed', 'state=failed'],
    [' --job 12', 'job=12'],
    [' --records 1', 'records=1'],
    [' --records 999999999', 'records=999999999'],
  ])('are asked for with "%s"', async (options, query) => {
    const { run, seen } = await scriptWith(answers)
    expect((await run(`notification list${options}`)).code).toBe(0)
    expect(seen.map((request) => request.query.toString())).toEqual([query])
  })

  it.each([
    [' --job x', 'x is not the number of a job; see holdfast notification list.'],
    [' --job 1234567890123456', '1234567890123456 is not the number of a job; see holdfast notification list.'],
    [' --records 0', '--records must be a whole number from 1 up.'],
    [' --records 1000000000', '--records must be a whole number from 1 up.'],
    [' --records few', '--records must be a whole number from 1 up.'],
  ])('are not asked for with "%s"', async (options, sentence) => {
    const { run, seen } = await scriptWith(answers)
    const { code, stderr } = await run(`notification list${options}`)
    expect([code, stderr, seen]).toEqual([2, `holdfast: ${sentence}\n`, []])
  })

  it('are sent again, and a test mail is sent; the result is told', async () => {
    const { run, changes } = await scriptWith(answers)
    expect((await run('notification retry 5')).stdout).toBe('It did not arrive at chat: it is being sent.\n')
    expect((await run('notification test-mail ada@x.example')).stdout).toBe(
      'It did not arrive at ada@x.example: HTTP status 500.\n',
    )
    expect(changes()).toEqual(['POST /notification/5/retry', ['POST /notification/test-mail', { to: 'ada@x.example' }]])
  })
})
