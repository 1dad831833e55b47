import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { EndRecord } from '@holdfast/protocol'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Event } from './events.js'
import { JobFolder, fixtures } from './job-folder.js'
import { countsOf } from './recap-counts.js'

const folder = join(fixtures, 'torture')

interface Line {
  type: string
  play: string
  task: string
  host: string
  marks: string
}

async function expectedLines(): Promise<Line[]> {
  const text = await readFile(join(folder, 'expected.txt'), 'utf8')
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [type = '', play = '', task = '', host = '', marks = ''] = line.split(' | ')
      return { type, play, task, host, marks }
    })
}

function lineOf(event: Event): Line {
  const marks = (['ignored', 'rescued'] as const).filter((mark) => event[mark]).join(' ')
  return { type: event.type, play: event.play ?? '-', task: event.task ?? '-', host: event.host ?? '-', marks }
}

/**
 * The lines of one host in their order, without polls. The starts of free tasks come in any order. Notified handlers are told
 * before the result of their task, and by ansible-core 2.22 after it: they stand at the end here.
 */
function ofHost(lines: Line[], host: string): string[] {
  const texts = lines
    .filter((line) => line.host === host && line.type !== 'runner_on_async_poll')
    .map((line) => Object.values(line).join(' | '))
  const freeStart = /^playbook_on_task_start \| free play/
  const sorted = texts.filter((text) => freeStart.test(text)).sort()
  const inOrder = texts.map((text) => (freeStart.test(text) ? (sorted.shift() ?? '') : text))
  const isNotice = (text: string) => text.startsWith('playbook_on_notify')
  return [...inOrder.filter((text) => !isNotice(text)), ...inOrder.filter(isNotice)]
}

describe('the events of a playbook that does everything', () => {
  let events: Event[] = []
  let end: EndRecord | undefined
  let report: Record<string, unknown> = {}

  beforeAll(async () => {
    const job = await JobFolder.ofPlaybook(folder, ['-i', 'inventory.ini', '-e', 'mark=MARK', 'site.yml'], {}, 'suite')
    await job.replaceInOrders('MARK', job.file('mark'))
    end = await job.run()
    events = await job.events()
    report = await job.report()
    return () => job.remove()
  })

  const one = (task: string, type: string, host: string | null = 'alpha') => {
    const found = events.filter((event) => event.task === task && event.type === type && event.host === host)
    expect(found).toHaveLength(1)
    return found[0] as Event
  }

  it('are the expected ones', async () => {
    const expected = await expectedLines()
    // ansible-core tells of an included role since 2.19.
    const isNewer = (line: Line) => line.type === 'playbook_on_include' && line.task === 'include a role'
    const got = events.map(lineOf).filter((line) => !isNewer(line))
    for (const host of ['-', 'alpha', 'beta', 'gamma', 'lost']) {
      expect({ host, lines: ofHost(got, host) }).toEqual({ host, lines: ofHost(expected, host) })
    }
    expect(new Set(got.map((line) => line.host))).toEqual(new Set(['-', 'alpha', 'beta', 'gamma', 'lost']))
    const polls = got.filter((line) => line.type === 'runner_on_async_poll')
    for (const poll of polls) expect(poll.task).toBe('in the background, waited for')
    expect(end).toMatchObject({ cause: 'exited', exit_code: 2, message: null })
    expect(end?.events).toMatchObject({ dropped: 0, errors: 0, plugin_seen: true })
    expect(report).toMatchObject({ plugin: 1, events: events.length, errors: 0, dropped: 0, finished: true })
  })

  it('tell when and where', () => {
    for (const event of events) {
      expect(event.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      if (event.task !== null)
        expect(event).toMatchObject({ task_uuid: expect.any(String) as string, action: expect.any(String) as string })
    }
    expect(one('fails and is rescued', 'playbook_on_task_start', null).path).toBe('site.yml:7')
    expect(one('greeting : say hello', 'runner_on_ok').path).toBe('roles/greeting/tasks/main.yml:1')
    const finals = events.filter((event) => /^runner_on_(ok|failed|skipped|unreachable)$/.test(event.type))
    for (const event of finals) expect(event.duration).toBeGreaterThan(0)
    expect(one('in the background, waited for', 'runner_on_ok').duration).toBeGreaterThan(2.5)
    const [began, ended] = [one('in batches', 'runner_on_start', 'gamma'), one('in batches', 'runner_on_ok', 'gamma')]
    expect(ended.duration).toBeLessThan((Date.parse(ended.time) - Date.parse(began.time)) / 1000 + 1)
    expect(Object.keys(events[5] ?? {}).at(-1)).toBe('result')
  })

  it('say of failures whether they were rescued or ignored', () => {
    const recap = events.at(-1)
    const rescued = events.filter((event) => event.rescued).map((event) => event.order)
    expect(recap?.rescued_orders).toEqual(rescued)
    expect(countsOf(events)).toEqual(recap?.result)
    expect(recap?.result?.['alpha']).toEqual({
      ok: expect.any(Number) as number,
      changed: expect.any(Number) as number,
      unreachable: 0,
      failed: 1,
      skipped: 1,
      rescued: 2,
      ignored: 2,
    })
    expect(recap?.result?.['lost']).toMatchObject({ unreachable: 1, ignored: 1 })
    expect(recap?.plays?.map((play) => play.play)).toEqual([
      'linear play',
      'serial play',
      'free play',
      'nobody here',
      'play that ignores the unreachable',
      'play with an unreachable host',
      'play that ends early',
    ])
  })

  it('do not repeat what has been said', () => {
    const loop = one('loop with all outcomes', 'runner_on_failed').result
    expect(loop).not.toHaveProperty('results')
    expect(loop?.['_items']).toEqual({ ok: 1, changed: 2, failed: 1, skipped: 1 })
    expect(events.filter((event) => event.item === '/bin/true').length).toBe(2)
    const difference = one('write a file and show the difference', 'runner_on_file_diff')
    expect(JSON.stringify(difference.result)).toContain('new\\n')
    const written = one('write a file and show the difference', 'runner_on_ok').result
    expect(written).not.toHaveProperty('diff')
    expect(written?.['_diff_order']).toBe(difference.order)
    expect(one('in the background, waited for', 'runner_on_async_ok').result).not.toHaveProperty('stdout')
  })

  it('carry the result of the module, and never its arguments', () => {
    expect(one('delegated to gamma', 'runner_on_ok').result).toMatchObject({
      stdout: 'delegated',
      rc: 0,
      _delegated_to: 'gamma',
    })
    // ansible-core 2.22 counts the attempt that comes next.
    expect([1, 2]).toContain(one('retried until it works', 'runner_retry').attempts)
    expect(one('retried until it works', 'runner_on_ok').attempts).toBe(2)
    expect(one('rescue it', 'runner_on_ok').changed).toBe(false)
    const text = JSON.stringify(events)
    for (const word of ['invocation', 'module_args', '_ansible_', 'include_args']) expect(text).not.toContain(word)
  })
})
