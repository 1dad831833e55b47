import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createPartsOwner } from '../../../runner-agent/src/ground.js'
import { composePython } from '../../../runner-agent/src/playbook/compose.js'
import type { HostPython } from '../../../runner-agent/src/playbook/host-python.js'
import { waitUntil } from '../../agent/waiting.js'

const NONE: HostPython = { path: '/old/python3', problem: 'it is too old', locale: null, localeDoubt: null }
const GOOD: HostPython = { ...NONE, path: '/new/python3', problem: null }

/** A watch whose pauses end only when the test ends them. `found`: what the looks after the first one find. */
async function watchHost(...found: HostPython[]) {
  const owner = createPartsOwner()
  const waits = new Set<() => void>()
  let looks = 0
  const find = (): Promise<HostPython> => {
    looks += 1
    return Promise.resolve(looks === 1 ? NONE : (found.shift() ?? NONE))
  }
  const after = (_: number, task: () => void): (() => void) => {
    waits.add(task)
    return () => void waits.delete(task)
  }
  const python = await composePython({ log: pino({ level: 'silent' }), after, onClose: owner.onClose }, find)
  return {
    owner,
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
  const { python, waits, looks, endPause } = await watchHost(NONE, GOOD)
  expect(python.now).toEqual(NONE)
  endPause()
  await waitUntil('it waits for the third look', () => waits.size === 1)
  expect(python.now).toEqual(NONE)
  endPause()
  await waitUntil('the good one is found', () => python.now === GOOD)
  expect([looks(), waits.size]).toEqual([3, 0])
})

test('a Python is looked for no more when the agent closes', async () => {
  const { owner, waits, looks } = await watchHost()
  expect(waits.size).toBe(1)
  await owner.close()
  expect([looks(), waits.size]).toEqual([1, 0])
})
