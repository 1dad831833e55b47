import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../../runner-agent/src/log.js'
import { connectServiceManager } from '../../../runner-agent/src/service-manager.js'

/** An agent whose notices go to a file, and whose times pass when the test says so. */
function connected(environment: Readonly<Record<string, string>> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-notices-'))
  const path = join(folder, 'notices')
  const descriptor = openSync(path, 'w')
  onTestFinished(() => {
    closeSync(descriptor)
    rmSync(folder, { recursive: true })
  })
  let waiting: { readonly ms: number; readonly run: () => void }[] = []
  const manager = connectServiceManager({
    environment: { HOLDFAST_NOTIFY_FD: String(descriptor), ...environment },
    after(ms, run) {
      const one = { ms, run }
      waiting.push(one)
      return () => void (waiting = waiting.filter((other) => other !== one))
    },
    log: createLog({ level: 'silent', format: 'json', output: process.stdout }),
  })
  let read = 0
  /** What was told since the last call. */
  const told = (): string => {
    const text = readFileSync(path, 'utf8').slice(read)
    read += text.length
    return text
  }
  const pass = (): void => waiting.splice(0).forEach(({ run }) => run())
  return { manager, told, pass, waits: () => waiting.map(({ ms }) => ms) }
}

test('each change of the state is told, once', () => {
  const { manager, told, pass, waits } = connected()
  let state = 'waits for approval'
  manager.ready(() => state)
  expect(told()).toBe('READY=1\nSTATUS=waits for approval')
  pass()
  expect(told()).toBe('')
  state = 'approved'
  pass()
  expect(told()).toBe('STATUS=approved')
  pass()
  expect(told()).toBe('')
  manager.stopping()
  expect(told()).toMatch(/^STOPPING=1\nSTATUS=/)
  expect(waits()).toEqual([])
})

test('a watchdog hears of the agent until it is closed', () => {
  const watched = { WATCHDOG_USEC: '30000000', WATCHDOG_PID: String(process.pid) }
  const { manager, told, pass, waits } = connected(watched)
  expect(waits()).toHaveLength(1)
  expect(waits()[0]).toBeLessThan(30_000)
  pass()
  expect(told()).toBe('WATCHDOG=1')
  manager.stopping()
  expect(waits()).toHaveLength(1)
  manager.close()
  expect(waits()).toEqual([])
})

test('without a service manager nothing is told, and nothing waits', () => {
  const { manager, told, waits } = connected({ HOLDFAST_NOTIFY_FD: '' })
  manager.ready(() => 'approved')
  manager.stopping()
  manager.close()
  expect([told(), waits()]).toEqual(['', []])
})
