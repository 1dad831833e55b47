import { appendFileSync, chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { connectServiceManager } from '../../../control-plane/src/cli/service-manager.js'
import { holdProcessTimers } from '../../support/held-process-timers.js'

/** Waits without a timer, because the timers are held. */
async function turnsUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve))
}

/** A program of systemd that keeps what it is told, one notice a line. */
function fakeSystemd() {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-systemd-'))
  const [told, gate] = [join(folder, 'told'), join(folder, 'gate')]
  const program = join(folder, 'systemd-notify')
  // While there is a gate, a notice is under way.
  const script = `while [ -e ${gate} ]; do sleep 0.02; done; echo "$*" >> ${told}`
  writeFileSync(program, `#!/bin/sh\n${script}\n`)
  chmodSync(program, 0o700)
  const path = process.env['PATH'] ?? ''
  process.env['PATH'] = `${folder}:${path}`
  onTestFinished(() => {
    process.env['PATH'] = path
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    notices: () => (existsSync(told) ? readFileSync(told, 'utf8').trimEnd().split('\n') : []),
    shut: () => appendFileSync(gate, ''),
    open: () => rmSync(gate),
  }
}

test('notices are sent one after the other, and the close waits for all of them', async () => {
  const systemd = fakeSystemd()
  const told: string[] = []
  const manager = connectServiceManager({ NOTIFY_SOCKET: '/nowhere/notify' }, (line) => void told.push(line))
  manager.ready('listens')
  manager.reloading()
  manager.ready('listens again')
  manager.stopping()
  await manager.close()
  expect(systemd.notices()).toEqual([
    'READY=1 STATUS=listens',
    'RELOADING=1 STATUS=reads its configuration anew',
    'READY=1 STATUS=listens again',
    'STOPPING=1 STATUS=stops in good order',
  ])
  expect(told).toEqual([])
})

test('the watchdog is told at each half of its time, but not while a notice is under way, and not after the end', async () => {
  const systemd = fakeSystemd()
  const timers = holdProcessTimers()
  onTestFinished(timers.release)
  const environment = { NOTIFY_SOCKET: '/nowhere/notify', WATCHDOG_USEC: '20000000' }
  const manager = connectServiceManager(environment, () => undefined)
  timers.advance(9_999)
  expect(systemd.notices()).toEqual([])
  timers.advance(1)
  await turnsUntil(() => systemd.notices().length === 1)
  systemd.shut()
  manager.ready('listens')
  timers.advance(30_000)
  systemd.open()
  await turnsUntil(() => systemd.notices().length === 2)
  // Only when the sender has ended, the next one is begun.
  await turnsUntil(() => {
    timers.advance(10_000)
    return systemd.notices().length > 2
  })
  await manager.close()
  expect(timers.count()).toBe(0)
  expect(systemd.notices().slice(0, 3)).toEqual(['WATCHDOG=1', 'READY=1 STATUS=listens', 'WATCHDOG=1'])
})
