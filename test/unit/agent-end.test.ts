import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { agentEndOf, amendEnd, UnsureError, writeAgentEnd } from '../../runner-agent/src/spool/agent-end.js'
import { createJobFolder, type JobFileName, type JobFolder } from '../../runner-agent/src/spool/job-folder.js'
import { sha256Of } from '../agent/fake-control-plane.js'

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

test('without any file it is what is known, and both streams are empty', async () => {
  const empty = { length: 0, sha256: sha256Of(Buffer.alloc(0)) }
  expect(await agentEndOf(folder, LOST, NOW)).toEqual({
    ...{ ...LOST, run_id: 'a'.repeat(32), aborted: false },
    ...{ exit_code: null, signal: null, started_at: null, ended_at: NOW.toISOString() },
    output: { ...empty, dropped_bytes: 0 },
    events: { ...empty, dropped: 0, errors: 0, plugin_seen: false },
  })
})

test('what the event callback has counted is in it', async () => {
  write('events.jsonl', '{}\n')
  write('callback.json', { errors: 2, dropped: 3 })
  const { events } = await agentEndOf(folder, LOST, NOW)
  expect(events).toMatchObject({ length: 3, errors: 2, dropped: 3, plugin_seen: true })
})

test('a report of the callback that is torn says that there was one, and nothing more', async () => {
  write('callback.json', '{"errors": 2')
  const { events } = await agentEndOf(folder, LOST, NOW)
  expect(events).toMatchObject({ errors: 0, dropped: 0, plugin_seen: true })
})

test('an abort that was asked for is in it; the reason stays the known one', async () => {
  write('abort.json', {})
  expect(await agentEndOf(folder, LOST, NOW)).toMatchObject({ cause: 'supervisor_lost', aborted: true })
})

test('an end that is there is never replaced', async () => {
  const first = await writeAgentEnd(folder, LOST, NOW)
  expect(await writeAgentEnd(folder, { cause: 'aborted', message: null }, NOW)).toEqual(first)
  expect(folder.end()).toMatchObject({ kind: 'present', content: { cause: 'supervisor_lost' } })
})

test('from a callback report that cannot be read nothing follows', async () => {
  const unreadable = { ...folder, callback: () => ({ kind: 'unknown', code: 'EIO' }) as const }
  await expect(agentEndOf(unreadable, LOST, NOW)).rejects.toThrow(UnsureError)
  const hidden = { ...folder, look: () => ({ kind: 'unknown', code: 'EIO' }) as const }
  await expect(agentEndOf(hidden, LOST, NOW)).rejects.toThrow(UnsureError)
})

test('what was lost after the end is counted, and an undamaged end stays as it is', async () => {
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
