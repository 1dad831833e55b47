import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { describe, expect, it, onTestFinished } from 'vitest'
import { eventsOf, linesOf, type Event } from './events.js'
import { agentFolder, fixtures, python } from './job-folder.js'
import { exists } from './observe.js'

interface Driven {
  told: Record<string, unknown>
  events: Event[]
  report: Record<string, unknown>
  text: string
}

/** Runs one scenario of fixtures/callback/drive.py with the Python that ansible runs with. */
async function drive(scenario: string, withFiles = true): Promise<Driven> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-callback-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const [file, reportFile] = [join(folder, 'events.jsonl'), join(folder, 'callback.json')]
  const env = withFiles ? { HOLDFAST_EVENTS_FILE: file, HOLDFAST_CALLBACK_FILE: reportFile } : {}
  const args = [join(fixtures, 'callback', 'drive.py'), join(agentFolder, 'callback'), scenario]
  const { stdout } = await execa(python, args, { env, cwd: folder })
  const told = JSON.parse(stdout) as Record<string, unknown>
  expect(told['left_in_environment']).toEqual([])
  if (!withFiles) return { told, events: [], report: {}, text: String(await exists(file)) }
  const text = await readFile(file, 'utf8')
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  return {
    told,
    events: scenario === 'full_disk' ? [] : eventsOf(text),
    report: JSON.parse(await readFile(reportFile, 'utf8')) as Record<string, unknown>,
    text,
  }
}

const results = (driven: Driven) =>
  driven.events.filter((event) => event.type === 'runner_on_ok').map((event) => event.result)

describe('the event callback', () => {
  it('has the method signatures of the installed ansible', async () => {
    const { told } = await drive('signatures')
    expect(told).toMatchObject({ different: [], unknown: [] })
    expect(told['checked']).toHaveLength(23)
  })

  it('is quietly off without the files of a job', async () => {
    const { told, text } = await drive('disabled', false)
    expect(told['disabled']).toBe(true)
    expect(text).toBe('false')
  })

  it('makes strict JSON of everything', async () => {
    const driven = await drive('odd_values')
    expect(driven.report).toMatchObject({ errors: 0, dropped: 0 })
    expect(driven.text).toMatch(/^[\n\x20-\x7e]*$/)
    const [deep, circle, texts, values, numbers, keys, empty, last] = results(driven)
    expect(deep?.['beside']).toBe(1)
    expect(depthOf(deep)).toBeLessThanOrEqual(100)
    expect(deep?.['_cut']).toMatchObject([{ deeper_than: 100 }])
    expect(circle?.['_cut']).toMatchObject([{ deeper_than: 100 }])
    expect(texts?.['text']).toBe('lone \ufffd and \ufffd, whole \u{1f600}, NUL \0, backslash \\ud800, line \u2028')
    expect(values).toEqual({
      bytes: '\ufffd\0abc',
      set: [1],
      tuple: [1, 2],
      unspeakable: '(a value of type Unspeakable)',
      vault: '(encrypted with ansible-vault)',
    })
    expect(numbers).toEqual({ nan: 'nan', infinity: 'inf', minus: '-inf', huge: '(a number of 16610 bits)' })
    expect(keys).toMatchObject({ 1: 'bool', null: 'none', '1.5': 'float', '\ufffd': 'bytes' })
    expect(empty).toEqual({})
    expect(last).toEqual({ msg: 'well' })
  })

  it('cuts what is too long, in bounded memory, and says what was cut', async () => {
    const driven = await drive('big_results')
    expect(driven.report).toMatchObject({ errors: 0, dropped: 0 })
    const [text, loop, lines, nested, keys, last] = results(driven)
    expect(text?.['_cut']).toEqual([
      { path: 'stdout_lines', items: 1 },
      { path: 'stdout', bytes: 50_000_000, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string },
    ])
    expect(text?.['rc']).toBe(0)
    expect(loop).toEqual({ msg: 'package manager', _cut: [{ path: 'results', items: 5000 }] })
    expect(String(lines?.['stdout'])).toMatch(
      /^(z\n)+\n\[holdfast: cut here, 4000000 bytes in full, SHA-256 [0-9a-f]{64}\]\n\n?(z\n)+$/,
    )
    expect(nested?.['_cut']).toHaveLength(51)
    expect(keys?.['_cut']).toEqual([{ path: 'keys', items: 200_000 }])
    expect(last).toEqual({ msg: 'well' })
    expect(driven.told['peak_kb']).toBeLessThan(300 * 1024)
  })

  it('understands the results of ansible-core 2.19', async () => {
    const driven = await drive('new_result')
    expect(driven.report).toMatchObject({ errors: 0, finished: true })
    expect(driven.text).not.toContain('CANARY')
    const events = driven.events.slice(4)
    expect(events.map((event) => event.type)).toEqual([
      'runner_on_ok',
      'runner_on_failed',
      'runner_on_start',
      'runner_item_on_ok',
      'runner_item_on_ok',
      'runner_on_ok',
      'runner_on_ok',
      'playbook_on_stats',
    ])
    expect(events[0]).toMatchObject({
      host: 'somewhere',
      changed: true,
      path: 'site.yml:1',
      result: { msg: 'new', changed: true },
    })
    expect(events[0]?.result).not.toHaveProperty('invocation')
    expect(events[1]).toMatchObject({ ignored: true })
    expect(events[3]).toMatchObject({ item: 'one', changed: false })
    expect(events[4]).not.toHaveProperty('item')
    expect(events[5]?.result).toEqual({
      changed: true,
      censored: 'hidden because of no_log',
      _items: { ok: 2, changed: 1, failed: 0, skipped: 0 },
    })
    expect(events[7]?.result).toEqual({
      somewhere: { ok: 1, changed: 0, unreachable: 0, failed: 2, skipped: 0, rescued: 1, ignored: 0 },
    })
  })

  it('leaves a torn line on a full disk as it is, and goes on below it', async () => {
    const driven = await drive('full_disk')
    const lines = linesOf(driven.text)
    const torn = lines.flatMap((line, index) => (line === null ? [index] : []))
    expect(torn).toHaveLength(1)
    const kept = lines.slice(4, torn[0])
    expect(kept.length).toBeGreaterThan(0)
    expect(lines.slice((torn[0] ?? 0) + 1)).toMatchObject([{ result: { msg: 'well' } }, { type: 'playbook_on_stats' }])
    expect(driven.report).toMatchObject({
      dropped: 20 - kept.length,
      events: lines.length - 1,
      errors: 0,
      finished: true,
    })
  })

  it('goes on after a line of which only the newline was lost', async () => {
    const driven = await drive('newline_lost')
    expect(results(driven)).toEqual([{ msg: 'whole' }, { msg: 'well' }])
    expect(driven.report).toMatchObject({ dropped: 1, events: 6, errors: 0 })
  })

  it('counts a line that an interrupt kept from being counted', async () => {
    const driven = await drive('interrupted')
    expect(results(driven)).toEqual([{ msg: 'written' }, { msg: 'well' }])
    expect(driven.report).toMatchObject({ dropped: 0, errors: 0, events: driven.events.length })
  })

  it('never fails a play: errors of its own are counted', async () => {
    const driven = await drive('broken_objects')
    expect(driven.report).toMatchObject({ errors: 4, dropped: 0, finished: true })
    expect(results(driven)).toEqual([{ msg: 'well' }])
  })

  it('writes ten thousand events without a fault (what they cost is the bench’s to say)', async () => {
    const driven = await drive('cost')
    expect(driven.told['microseconds']).toBeGreaterThan(0)
    expect(driven.report).toMatchObject({ errors: 0, dropped: 0, events: driven.events.length })
    expect(driven.events.length).toBeGreaterThan(10_000)
  })
})

function depthOf(value: unknown): number {
  let depth = 0
  let level = [value]
  while (level.length > 0) {
    depth += 1
    level = level.flatMap((part) => (part !== null && typeof part === 'object' ? Object.values(part) : []))
  }
  return depth
}
