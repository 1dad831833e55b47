import type { JobRecord } from '@holdfast/client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createTerminalSink } from '../../../control-plane/src/cli/follow/terminal-sink.js'
import type { Output } from '../../../control-plane/src/cli/terminal.js'

/** What a person at a terminal sees of a job that is followed. */
function person({ isTerminal = true, waits = false } = {}) {
  const seen: string[] = []
  const output: Output = {
    isTerminal,
    color: false,
    columns: 80,
    write: (data) => Promise.resolve(void seen.push(Buffer.from(data).toString())),
  }
  const terminal = { environment: {}, stdin: process.stdin, stdout: output, stderr: output }
  return { sink: createTerminalSink(terminal, false, waits), seen: () => seen.splice(0).join('') }
}

const JOB = {
  id: 7,
  status: 'running',
  start: '2026-01-01T00:00:00.000Z',
  end: '2026-01-01T00:00:05.000Z',
  approval: null,
  status_reason: null,
  detail: null,
} as unknown as JobRecord
const ESTIMATE = { progress: 0.5, left_seconds: 20, shortest_seconds: 20, longest_seconds: 20, runs: 1 }
const LEFT = '50 % done, about 20 s left, by one earlier run.\n'

test('how long a job will still take is said at once, and then not with every piece', async () => {
  const { sink, seen } = person()
  await sink.left?.(ESTIMATE)
  await sink.left?.(ESTIMATE)
  expect(seen()).toBe(LEFT)
})

test('how long a job will still take is said again after 30 s, and not before', async () => {
  const clock = vi.spyOn(performance, 'now')
  onTestFinished(() => clock.mockRestore())
  const { sink, seen } = person()
  for (const [now, said] of [
    [1000, LEFT],
    [30_999, ''],
    [31_000, LEFT],
    [60_999, ''],
  ] as const) {
    clock.mockReturnValue(now)
    await sink.left?.(ESTIMATE)
    expect(seen()).toBe(said)
  }
})

test('a script is not told how long a job will still take', async () => {
  const { sink, seen } = person({ isTerminal: false })
  await sink.left?.(ESTIMATE)
  expect(seen()).toBe('')
})

test.each([
  [true, `half a line\n${LEFT}`],
  [false, 'half a line'],
])('a notice begins on a line of its own at a terminal: %s', async (isTerminal, text) => {
  const { sink, seen } = person({ isTerminal })
  await sink.output(Buffer.from('half a line'), 0)
  await sink.left?.(ESTIMATE)
  expect(seen()).toBe(text)
  await sink.output(Buffer.from('a line\n'), 11)
  await sink.connectionBack()
  expect(seen()).toBe('a line\nConnected again.\n')
})

test.each([
  [true, 'Job 7 was given up: no word; silent. Waiting for its real outcome; Ctrl-C stops waiting.\n'],
  [false, ''],
])('who waits for the real outcome is told that it may come: %s', async (waits, text) => {
  const { sink, seen } = person({ waits })
  await sink.status({ ...JOB, status: 'abandoned', status_reason: 'no word', detail: 'silent' })
  expect(seen()).toBe(text)
})

test('an approval is said when it is waited for, and when it was given', async () => {
  const approval = { title: 'Go live', roles: ['ops'], state: 'pending', decided_by: null, decided_by_type: null }
  const { sink, seen } = person()
  await sink.status({ ...JOB, status: 'approve', approval } as unknown as JobRecord)
  expect(seen()).toBe("Job 7 waits for an approval 'Go live' by ops or an admin.\n")
  const decided = { ...approval, state: 'approved', decided_by: 'ann', decided_by_type: 'local' }
  await sink.status({ ...JOB, approval: decided } as unknown as JobRecord)
  expect(seen()).toMatch(/^Job 7 was approved by .*ann.*\.\n$/)
  await sink.status({ ...JOB, approval: decided } as unknown as JobRecord)
  expect(seen()).toBe('')
})

test('an approval that was given before is not said', async () => {
  const approval = { title: null, roles: [], state: 'approved', decided_by: 'ann', decided_by_type: 'local' }
  const { sink, seen } = person()
  await sink.status({ ...JOB, approval } as unknown as JobRecord)
  expect(seen()).toBe('')
})

test.each([
  [['default'], 'anyone'],
  [['public', 'ops'], 'anyone'],
  [[], 'an admin'],
  [['ops', 'web'], 'ops, web or an admin'],
])('who may approve: %j', async (roles, givers) => {
  const { sink, seen } = person()
  const approval = { title: null, roles, state: 'pending' }
  await sink.status({ ...JOB, status: 'approve', approval } as unknown as JobRecord)
  expect(seen()).toBe(`Job 7 waits for an approval by ${givers}.\n`)
})

test('the end is said with its time, and after an abandoned job what can be done', async () => {
  const { sink, seen } = person()
  await sink.end({ ...JOB, status: 'success' })
  expect(seen()).toMatch(/^Job 7 ended success after 5\S* s\n$/)
  await sink.end({ ...JOB, status: 'abandoned' })
  expect(seen()).toMatch(
    /^Job 7 ended abandoned after [^\n]*\nIts playbook may still be running, [^\n]*job abort 7 --abandoned\n$/,
  )
})
