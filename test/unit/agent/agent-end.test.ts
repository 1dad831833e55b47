import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import fsp from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { identifyProcess } from '../../../runner-agent/src/host/processes.js'
import {
  agentEndOf,
  amendEnd,
  takeStart,
  UnsureError,
  writeAgentEnd,
} from '../../../runner-agent/src/spool/agent-end.js'
import { createJobFolder, type JobFileName, type JobFolder } from '../../../runner-agent/src/spool/job-folder.js'
import { sha256Of } from '../../agent/fake-control-plane.js'

/** The end of a job that has no supervisor to write it: what its folder tells. */
const NOW = new Date('2026-11-20T08:00:00.000Z')
const LOST = { cause: 'supervisor_lost', message: 'the host was restarted' } as const
let parent: string
let folder: JobFolder

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'holdfast-end-'))
  const key = { jobId: 1, runId: 'a'.repeat(32) }
  folder = createJobFolder(join(parent, `1-${key.runId}`), key)
  mkdirSync(folder.path)
})

afterEach(() => {
  rmSync(parent, { recursive: true })
})

const write = (name: JobFileName, content: unknown): void => {
  writeFileSync(folder.file(name), typeof content === 'string' ? content : JSON.stringify(content))
}

test('without any file it has the known facts, and both streams are empty', async () => {
  const empty = { length: 0, sha256: sha256Of(Buffer.alloc(0)) }
  expect(await agentEndOf(folder, LOST, NOW)).toEqual({
    ...LOST,
    run_id: 'a'.repeat(32),
    aborted: false,
    exit_code: null,
    signal: null,
    started_at: null,
    ended_at: NOW.toISOString(),
    output: { ...empty, dropped_bytes: 0 },
    events: { ...empty, dropped: 0, errors: 0, plugin_seen: false },
  })
})

test('it has the counts of the event callback', async () => {
  write('events.jsonl', '{}\n')
  write('callback.json', { errors: 2, dropped: 3 })
  const { events } = await agentEndOf(folder, LOST, NOW)
  expect(events).toMatchObject({ length: 3, errors: 2, dropped: 3, plugin_seen: true })
})

test('a torn report of the callback only shows that there was one', async () => {
  write('callback.json', '{"errors": 2')
  const { events } = await agentEndOf(folder, LOST, NOW)
  expect(events).toMatchObject({ errors: 0, dropped: 0, plugin_seen: true })
})

test('a requested abort is in it; the reason stays the known one', async () => {
  write('abort.json', {})
  expect(await agentEndOf(folder, LOST, NOW)).toMatchObject({ cause: 'supervisor_lost', aborted: true })
})

test('an existing end is never replaced', async () => {
  const first = await writeAgentEnd(folder, LOST, NOW)
  expect(await writeAgentEnd(folder, { cause: 'aborted', message: null }, NOW)).toEqual(first)
  expect(folder.end()).toMatchObject({ kind: 'present', content: { cause: 'supervisor_lost' } })
})

test('nothing follows from a callback report that cannot be read', async () => {
  const unreadable = { ...folder, callback: () => ({ kind: 'unknown', code: 'EIO' }) as const }
  await expect(agentEndOf(unreadable, LOST, NOW)).rejects.toThrow(UnsureError)
  const hidden = { ...folder, look: () => ({ kind: 'unknown', code: 'EIO' }) as const }
  await expect(agentEndOf(hidden, LOST, NOW)).rejects.toThrow(UnsureError)
})

test('a stream is missing only after a second look, and others have their turn between the two', async () => {
  const seen: string[] = []
  const slow: JobFolder = {
    ...folder,
    look: (name) => {
      if (name === 'output.log') {
        seen.push('look')
        setImmediate(() => seen.push('turn'))
      }
      return folder.look(name)
    },
  }
  expect((await agentEndOf(slow, LOST, NOW)).output.length).toBe(0)
  expect(seen.slice(0, 3)).toEqual(['look', 'turn', 'look'])
})

test('bytes that were lost after the end are counted, and an undamaged end stays unchanged', async () => {
  write('output.log', 'one two')
  write('events.jsonl', '{}\n')
  const record = await agentEndOf(folder, LOST, NOW)
  expect(await amendEnd(folder, record)).toBe(record)
  write('output.log', 'one')
  const damaged = await amendEnd(folder, record)
  expect(damaged.message).toBe(
    'the host was restarted; the spool was damaged after the end: 4 bytes of output and 0 of events are gone',
  )
  expect(damaged.output).toEqual({ length: 3, sha256: sha256Of(Buffer.from('one')), dropped_bytes: 4 })
  expect(damaged.events).toEqual(record.events)
  write('output.log', 'ONE TWO')
  expect((await amendEnd({ ...folder }, { ...record, message: null })).message).toBe(
    'the spool was changed after the end',
  )
  write('events.jsonl', '')
  expect((await amendEnd(folder, record)).events).toMatchObject({ length: 0, dropped: 1 })
})

test('a sentence about an end has four thousand characters at most', async () => {
  const message = 'm'.repeat(4001)
  expect((await agentEndOf(folder, { ...LOST, message }, NOW)).message).toBe('m'.repeat(4000))
  expect((await agentEndOf(folder, { ...LOST, message: null }, NOW)).message).toBeNull()
  const record = await agentEndOf(folder, { ...LOST, message: 'm'.repeat(3990) }, NOW)
  write('output.log', 'more')
  expect((await amendEnd(folder, { ...record, output: { ...record.output, length: 9 } })).message).toHaveLength(4000)
})

test('a stream that is a folder is named, and counts as empty', async () => {
  mkdirSync(folder.file('output.log'))
  mkdirSync(folder.file('events.jsonl'))
  const { message, output } = await agentEndOf(folder, { ...LOST, message: null }, NOW)
  expect(message).toMatch(
    /^the output in the spool cannot be read \(.*\); the events in the spool cannot be read \(.*\)$/,
  )
  expect(output.length).toBe(0)
})

test('an end counts as aborted by its cause, too', async () => {
  expect(await agentEndOf(folder, { cause: 'aborted', message: null }, NOW)).toMatchObject({ aborted: true })
  expect(await agentEndOf(folder, { cause: 'exited', message: null, exit_code: 4 }, NOW)).toMatchObject({
    aborted: false,
    exit_code: 4,
  })
})

test('what is known of an exit is kept, and the folder says the rest', async () => {
  const known = { cause: 'exited', message: null, exit_code: 2, started_at: 'then', ended_at: 'later' } as const
  expect(await agentEndOf(folder, known, NOW)).toMatchObject({ ...known, signal: null, run_id: 'a'.repeat(32) })
})

test('an end that is torn stays as it is, and one that cannot be read is tried again', async () => {
  write('end.json', '{"cause":')
  expect(await writeAgentEnd(folder, LOST, NOW)).toMatchObject(LOST)
  expect(folder.end()).toEqual({ kind: 'torn' })
  const unreadable = { ...folder, end: () => ({ kind: 'unknown', code: 'EIO' }) as const }
  await expect(writeAgentEnd(unreadable, LOST, NOW)).rejects.toThrow(UnsureError)
})

test('no stream counts as missing while its folder cannot be looked at, or when it is there again', async () => {
  const hidden = { ...folder, lookAround: () => ({ kind: 'unknown', code: 'EIO' }) as const }
  await expect(agentEndOf(hidden, LOST, NOW)).rejects.toThrow('the folder of the job cannot be looked at: EIO')
  const back: JobFolder = {
    ...folder,
    look: (name) => (name === 'events.jsonl' ? { kind: 'present', content: '1' } : folder.look(name)),
  }
  await expect(agentEndOf(back, LOST, NOW)).rejects.toThrow('events.jsonl is there again')
})

test('a start is taken once, by whoever comes first', async () => {
  expect(await takeStart(folder, NOW)).toBe(true)
  expect(await takeStart(folder, NOW)).toBe(false)
  expect(folder.started()).toMatchObject({ kind: 'present', content: { by: 'agent', pid: process.pid } })
})

describe('on a full disk', () => {
  /** Writes fail so often with this code. */
  function failToWrite(code: string, times: number): () => number {
    let failed = 0
    const { link } = fsp
    const spy = vi.spyOn(fsp, 'link').mockImplementation((from, to) => {
      if (failed === times) return link(from, to)
      failed += 1
      return Promise.reject(Object.assign(new Error(code), { code }))
    })
    syncBuiltinESMExports()
    onTestFinished(() => {
      spy.mockRestore()
      syncBuiltinESMExports()
    })
    return () => failed
  }

  beforeEach(() => {
    mkdirSync(join(folder.file('work'), 'roles'), { recursive: true })
  })

  const hasWork = (): boolean => existsSync(folder.file('work'))

  test.each(['ENOSPC', 'EDQUOT'])('that says %s the work folder makes room for the end', async (code) => {
    failToWrite(code, 1)
    expect(await writeAgentEnd(folder, LOST, NOW)).toMatchObject(LOST)
    expect([folder.end().kind, hasWork()]).toEqual(['present', false])
  })

  test('there may be no work folder, and a start is taken as well', async () => {
    rmSync(folder.file('work'), { recursive: true })
    failToWrite('ENOSPC', 1)
    expect(await takeStart(folder, NOW)).toBe(true)
  })

  test('the end is not written when there is still no room, and after any other error the work folder stays', async () => {
    failToWrite('EIO', 1)
    await expect(writeAgentEnd(folder, LOST, NOW)).rejects.toMatchObject({ code: 'EIO' })
    expect(hasWork()).toBe(true)
    const failed = failToWrite('ENOSPC', 2)
    await expect(writeAgentEnd(folder, LOST, NOW)).rejects.toMatchObject({ code: 'ENOSPC' })
    expect([failed(), hasWork(), folder.end().kind]).toEqual([2, false, 'absent'])
  })

  test('a playbook that may still run keeps its work folder', async () => {
    const self = identifyProcess(process.pid)
    for (const started of [{ ...self }, { ...self, pid_namespace: 'pid:[1]' }, '{"pid":']) {
      write('started.json', started)
      failToWrite('ENOSPC', 1)
      await expect(writeAgentEnd(folder, LOST, NOW)).rejects.toMatchObject({ code: 'ENOSPC' })
      expect(hasWork()).toBe(true)
    }
  })

  test('a playbook that is known to be gone needs its work folder no more', async () => {
    write('started.json', { ...identifyProcess(process.pid), boot_id: 'another boot' })
    failToWrite('ENOSPC', 1)
    expect(await writeAgentEnd(folder, LOST, NOW)).toMatchObject(LOST)
    expect(hasWork()).toBe(false)
  })
})
