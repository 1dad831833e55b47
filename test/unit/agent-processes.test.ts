import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { expect, onTestFinished, test, vi } from 'vitest'
import { identifyProcess, lookAtProcess } from '../../runner-agent/src/host/processes.js'

/** From now on reading a file fails with this code, until the test is finished. */
function failToRead(code: string): void {
  const reading = vi.spyOn(fs, 'readFileSync').mockImplementation(() => {
    throw Object.assign(new Error(code), { code })
  })
  syncBuiltinESMExports()
  onTestFinished(() => {
    reading.mockRestore()
    syncBuiltinESMExports()
  })
}

test('a process that cannot be looked at is not taken for gone: its job would be ended as lost', () => {
  const self = identifyProcess(process.pid)
  if (!self) throw new Error('this process is not found')
  expect(lookAtProcess(self)).toBe('runs')
  failToRead('EMFILE')
  expect(() => lookAtProcess(self)).toThrow('EMFILE')
})

test('a process without an entry in /proc is gone', () => {
  const self = identifyProcess(process.pid)
  if (!self) throw new Error('this process is not found')
  failToRead('ENOENT')
  expect(lookAtProcess(self)).toBe('gone')
})
