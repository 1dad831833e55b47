import type * as Fs from 'node:fs'
import { expect, test, vi } from 'vitest'
import { identifyProcess, isRunning } from '../../runner-agent/src/processes.js'

const failing = vi.hoisted(() => ({ code: '' }))

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof Fs>()
  return {
    ...fs,
    readFileSync: (...given: Parameters<typeof fs.readFileSync>) => {
      if (failing.code !== '') throw Object.assign(new Error(failing.code), { code: failing.code })
      return fs.readFileSync(...given)
    },
  }
})

test('a process that cannot be looked at is not taken for gone: its job would be ended as lost', () => {
  const self = identifyProcess(process.pid)
  if (!self) throw new Error('this process is not found')
  expect(isRunning(self)).toBe(true)
  failing.code = 'EMFILE'
  expect(() => isRunning(self)).toThrow('EMFILE')
  failing.code = 'ENOENT'
  expect(isRunning(self)).toBe(false)
})
