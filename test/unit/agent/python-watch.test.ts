import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createPartsOwner } from '../../../protocol/host/src/parts-owner.js'
import { composePython } from '../../../runner-agent/src/playbook/compose.js'
import type { HostPython } from '../../../runner-agent/src/playbook/host-python.js'
import { waitUntil } from '../../agent/waiting.js'

const NONE: HostPython = { path: '/old/python3', problem: 'it is too old', locale: null, localeDoubt: null }
const GOOD: HostPython = { ...NONE, path: '/new/python3', problem: null }

/** What a look finds: null when no Python runs at all. */
type Found = HostPython | null

/** A watch whose pauses end only when the test ends them. `found`: what the looks after the first one find. */
async function watchHost(first: HostPython, ...found: Found[]) {
  const lines: string[] = []
  const pauses: number[] = []
  const owner = createPartsOwner()
  const waits = new Set<() => void>()
  let looks = 0
  const find = (): Promise<HostPython> => {
    looks += 1
    if (looks === 1) return Promise.resolve(first)
    const next = found.length === 0 ? NONE : found.shift()
    return next ? Promise.resolve(next) : Promise.reject(new Error('spawn ENOENT'))
  }
  const after = (milliseconds: number, task: () => void): (() => void) => {
    pauses.push(milliseconds)
    waits.add(task)
    return () => void waits.delete(task)
  }
  const log = pino({}, { write: (line) => void lines.push((JSON.parse(line) as { msg: string }).msg) })
  const python = await composePython({ log, after, onClose: owner.onClose }, find)
  return {
    owner,
    lines,
    pauses,
    python,
    waits,
    looks: () => looks,
    endPause(): void {
      const tasks = [...waits]
      waits.clear()
      for (const task of tasks) task()
    },
  }
}

test('a Python is looked for again and again, until one fits', async () => {
  const { python, waits, looks, endPause } = await watchHost(NONE, NONE, GOOD)
  expect(python.now).toEqual(NONE)
  endPause()
  await waitUntil('it waits for the third look', () => waits.size === 1)
  expect(python.now).toEqual(NONE)
  endPause()
  await waitUntil('the good one is found', () => python.now === GOOD)
  expect([looks(), waits.size]).toEqual([3, 0])
})

test('a Python is looked for no more when the agent closes', async () => {
  const { owner, waits, looks } = await watchHost(NONE)
  expect(waits.size).toBe(1)
  await owner.close()
  expect([looks(), waits.size]).toEqual([1, 0])
})

test('a look comes every five seconds, and none where there is a good Python', async () => {
  expect((await watchHost(GOOD)).pauses).toEqual([])
  const { waits, pauses, endPause } = await watchHost(NONE)
  endPause()
  await waitUntil('it waits for the third look', () => waits.size === 1)
  expect(pauses).toEqual([5_000, 5_000])
})

const NO_JOB = 'no job is taken until there is a Python for them'
const STARTED = 'playbooks are started with this Python'

test.each<[string, HostPython, Found, string[]]>([
  ['a good one', GOOD, null, [STARTED]],
  ['a good one whose locale is doubtful', { ...GOOD, localeDoubt: 'no UTF-8' }, null, [STARTED, 'no UTF-8']],
  ['the same trouble once', NONE, NONE, [NO_JOB]],
  ['another trouble', NONE, { ...NONE, problem: 'it has no ssl' }, [NO_JOB, NO_JOB]],
  ['the same trouble of another one', NONE, { ...NONE, path: '/other/python3' }, [NO_JOB, NO_JOB]],
  ['the end of the trouble', NONE, GOOD, [NO_JOB, STARTED]],
  ['the end of the trouble of the same one', NONE, { ...NONE, problem: null }, [NO_JOB, STARTED]],
])('an operator is told of %s', async (_, first, second, told) => {
  const { python, waits, lines, endPause, looks } = await watchHost(first, second)
  if (first.problem === null) {
    expect([waits.size, lines]).toEqual([0, told])
    return
  }
  endPause()
  const isGood = second?.problem === null
  await waitUntil('the second look is over', () => looks() === 2 && (isGood ? python.now === second : waits.size === 1))
  expect(lines).toEqual(told)
  expect([python.now.path, python.now.problem]).toEqual([second?.path, second?.problem])
})

test('a Python that is gone at a look leaves what was known, and is looked for again', async () => {
  const { python, waits, lines, endPause } = await watchHost(NONE, null, GOOD)
  endPause()
  await waitUntil('it waits for the third look', () => waits.size === 1)
  expect([python.now, lines]).toEqual([NONE, [NO_JOB, 'no Python runs here just now']])
  endPause()
  await waitUntil('the good one is found', () => python.now === GOOD)
})

test('a look that is under way when the agent closes is the last one', async () => {
  const { owner, python, waits, endPause, lines } = await watchHost(NONE, { ...NONE, problem: 'it has no ssl' })
  endPause()
  await owner.close()
  await waitUntil('the look is over', () => lines.length === 2)
  await new Promise((resolve) => setImmediate(resolve))
  expect([python.now.problem, waits.size]).toEqual(['it has no ssl', 0])
})
