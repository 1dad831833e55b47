import { describe, expect, it } from 'vitest'
import { localTime } from '../../control-plane/src/cli/show/time.js'
import { type CliOptions } from './run-cli.js'
import { serviceOfFile } from './answering.js'

const { service, person } = await serviceOfFile()
const run = (args: readonly string[], options: CliOptions = {}) => person.run(['audit', ...args], options)

const TIME = '2026-11-20T08:00:00.000Z'
const HASH = 'a'.repeat(64)
const record = (id: number, more: object = {}) => ({
  id,
  time: TIME,
  user: 'ann',
  user_type: 'local',
  address: '10.0.0.1',
  action: 'job.launch',
  object: { kind: 'job', id: '7', name: null },
  status: 200,
  request_id: `r${id}`,
  position: id,
  hash: HASH,
  detail: null,
  ...more,
})
const having = (...records: readonly object[]) => {
  service.override = () => ({ status: 200, body: { count: records.length, records, database: 'd' } })
}
const asked = () => service.seen.map(({ path, query }) => [path, Object.fromEntries(query)])

describe('audit list', () => {
  it.each([[], ['list']])('is also what audit alone does: %j', async (...words) => {
    having(
      record(2, { user: null, object: { kind: 'form', id: null, name: 'Deploy' }, status: null, detail: 'by hand' }),
      record(1),
    )
    const { code, stdout } = await run(words)
    expect(code).toBe(0)
    expect(stdout.split('\n').map((line) => line.trim().replace(/ {2,}/g, ' | '))).toEqual([
      'id | time | user | from | action | on | status | detail',
      `2 | ${localTime(TIME) ?? ''} | - | 10.0.0.1 | job.launch | form Deploy | - | by hand`,
      `1 | ${localTime(TIME) ?? ''} | ann | 10.0.0.1 | job.launch | job 7 | 200 | -`,
      '',
    ])
    expect(asked()).toEqual([['/audit', {}]])
  })

  it('sends its filters', async () => {
    having()
    expect((await run(['list', '--user', 'ann'])).stdout).toBe('No records.\n')
    await run(['list', '--action', 'job.abort', '--records', '5'])
    expect(asked()).toEqual([
      ['/audit', { user: 'ann' }],
      ['/audit', { action: 'job.abort', records: '5' }],
    ])
  })

  it('shows the whole detail on a terminal', async () => {
    const words = Array.from({ length: 30 }, (_, at) => `word${at}`)
    having(record(1, { detail: words.join(' ') }))
    const { stdout } = await run(['list'], { screenColumns: 120 })
    for (const word of words) expect(stdout).toMatch(new RegExp(`${word}\\b`))
  })

  it('tells programs the whole answer', async () => {
    having(record(1))
    expect(JSON.parse((await run(['list', '--json'])).stdout)).toEqual({
      count: 1,
      records: [record(1)],
      database: 'd',
    })
  })

  it('with --follow prints the oldest first, one a line, and goes on with what is new', async () => {
    service.override = () => {
      if (service.seen.length > 1) return { status: 403, body: { error: 'No more', code: 'x' } }
      const records = [record(2, { detail: 'two\nlines' }), record(1, { user: null, status: null })]
      return { status: 200, body: { count: 2, records, database: 'd' } }
    }
    const { code, stdout, stderr } = await run(['list', '-f', '--user', 'ann'])
    expect({ code, stderr }).toEqual({ code: 5, stderr: 'holdfast: No more.\n' })
    const time = localTime(TIME) ?? ''
    expect(stdout).toBe(
      `${time}  -  10.0.0.1  job.launch  job 7  -\n${time}  ann  10.0.0.1  job.launch  job 7  200  two lines\n`,
    )
    expect(asked()).toEqual([
      ['/audit', { user: 'ann' }],
      ['/audit', { user: 'ann', records: '1000' }],
    ])
  })
})

describe('audit verify', () => {
  const found = { ok: true, problem: null, first: 1, head: { position: 12, hash: HASH }, unchained: 0 }
  const finding = (more: object) => {
    service.override = () => ({ status: 200, body: { ...found, ...more } })
  }

  it('says that the trail is whole, and gives the head to keep', async () => {
    finding({})
    expect(await run(['verify'])).toEqual({
      code: 0,
      stdout: `The audit trail is whole from position 1 to 12.\nHead: 12:${HASH}\n`,
      stderr: '',
    })
    expect(asked()).toEqual([['/audit/verify', {}]])
  })

  it.each([
    ['position 7 was changed', 'position 7 was changed'],
    [null, 'the server gave no reason'],
  ])('ends with exit code 1 when the trail is not whole, and says why: %s', async (problem, words) => {
    finding({ ok: false, problem, unchained: 3 })
    const { code, stdout } = await run(['verify'])
    expect(code).toBe(1)
    expect(stdout).toBe(`THE AUDIT TRAIL IS NOT WHOLE: ${words}.\nNot chained yet: 3.\nHead: 12:${HASH}\n`)
  })

  it('compares with a head that was kept, and tells programs everything', async () => {
    finding({ ok: false })
    const { code, stdout } = await run(['verify', '--head', `9:${HASH}`, '--json'])
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toEqual({ ...found, ok: false })
    expect(asked()).toEqual([['/audit/verify', { position: '9', hash: HASH }]])
  })

  it.each(['9', `:${HASH}`, '9:', `9:${HASH}0`, `x9:${HASH}`, `${'9'.repeat(16)}:${HASH}`])(
    'refuses the head %s with exit code 2, and asks nothing',
    async (head) => {
      const { code, stderr } = await run(['verify', '--head', head])
      expect(code).toBe(2)
      expect(stderr).toContain('--head: must be <position>:<hash>, as holdfast audit verify printed it')
      expect(service.seen).toEqual([])
    },
  )
})
