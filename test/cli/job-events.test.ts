import { describe, expect, it } from 'vitest'
import { localTime } from '../../control-plane/src/cli/show/time.js'
import { type CliOptions } from './run-cli.js'
import { serviceOfFile } from './answering.js'

/** What `job events`, `job timeline` and `job nodes` show of the course of a job. */
const { service, person } = await serviceOfFile()
const run = (args: readonly string[], options: CliOptions = {}) => person.run(['job', ...args], options)

const TIME = '2026-11-20T08:00:00.000Z'
const HERE = localTime(TIME) ?? ''

describe('job events', () => {
  const events = [
    { order: 1, type: 'playbook_on_play_start', play: 'Servers', task: null, host: null, duration: null, time: TIME },
    { order: 2, type: 'runner_on_ok', play: 'Servers', task: 'Install', host: 'web1', duration: 1, time: TIME },
  ]

  it('shows the task, or the play where there is none', async () => {
    service.addJob({ events })
    expect((await run(['events', '1'])).stdout.split('\n').map((line) => line.trim().replace(/ +/g, ' '))).toEqual([
      'order type host task duration',
      '1 playbook_on_play_start - Servers -',
      '2 runner_on_ok web1 Install 1.00 s',
      '',
    ])
  })

  it('asks only for what the options say', async () => {
    service.addJob({ events })
    await run(['events', '1'])
    expect(Object.fromEntries(service.seen[0]?.query ?? [])).toEqual({ after: '0', limit: '2000' })
    service.seen.length = 0
    await run(['events', '1', '--failed', '--host', 'web1', '--task', 'Install'])
    const only = { host: 'web1', task: 'Install', outcome: 'failed,unreachable', limit: '2000' }
    expect(service.seen.map(({ query }) => Object.fromEntries(query))).toEqual([
      { ...only, after: '0' },
      { ...only, after: '2' },
    ])
  })

  it('ends also when the service gives the same page again', async () => {
    service.addJob()
    service.override = () =>
      service.seen.length > 5
        ? { status: 500, body: { error: 'asked too often', code: 'x' } }
        : { status: 200, body: { count: 2, records: events } }
    const { code, stdout } = await run(['events', '1', '--json'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({ count: 2, records: events })
    expect(service.seen).toHaveLength(2)
  })
})

describe('job timeline', () => {
  const COUNTS = ['ok', 'changed', 'failed', 'skipped', 'unreachable', 'ignored']
  const record = (id: number, counts: object, more: object = {}) => ({
    id,
    kind: 'task',
    play: 1,
    name: 'Install',
    role: null,
    path: null,
    order: id,
    started: TIME,
    ended: '2026-11-20T08:00:05.000Z',
    hosts: 3,
    ...Object.fromEntries(COUNTS.map((name) => [name, 0])),
    ...counts,
    ...more,
  })
  function having(...records: readonly object[]): void {
    service.override = () => ({
      status: 200,
      body: { count: records.length, records, last: records.length, complete: true },
    })
  }

  it.each(COUNTS)('tells how many hosts were %s, and names no other result', async (name) => {
    having(record(1, { [name]: 2 }))
    expect((await run(['timeline', '1'])).stdout.split('\n')[1]).toMatch(
      new RegExp(`^ 1 {2}task {2}Install {2}${HERE} {2}5\\.00 s +3 {2}2 ${name}$`),
    )
  })

  it('tells all results, none, and no time of a task that still runs', async () => {
    having(record(1, { ok: 3, changed: 1, ignored: 2 }), record(2, {}, { ended: null }))
    const [, all, none] = (await run(['timeline', '1'])).stdout.split('\n')
    expect(all).toMatch(/ {2}3 ok, 1 changed, 2 ignored$/)
    expect(none).toMatch(/:\d\d {7}- +3 {2}-$/)
  })

  it('shows every result on a terminal, however narrow that is', async () => {
    having(record(1, Object.fromEntries(COUNTS.map((name) => [name, 11_111_111]))))
    const { stdout } = await run(['timeline', '1'], { screenColumns: 80 })
    for (const name of COUNTS) expect(stdout).toMatch(new RegExp(`\\b${name}\\b`))
  })

  it('says so when nothing began yet, and tells programs everything', async () => {
    having()
    expect((await run(['timeline', '1'])).stdout).toBe('No plays yet.\n')
    having(record(1, { ok: 1 }))
    expect(JSON.parse((await run(['timeline', '1', '--json'])).stdout)).toMatchObject({
      count: 1,
      records: [{ ok: 1 }],
    })
  })
})
