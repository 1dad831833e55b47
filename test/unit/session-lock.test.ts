import { mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type SessionFile, sessionFile } from '../../control-plane/src/cli/client/session-file.js'

const HOUR_MS = 3_600_000

function newHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-lock-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  return home
}

/** Makes all files look as if they were an hour old. */
function age(home: string): void {
  const longAgo = new Date(Date.now() - HOUR_MS)
  for (const name of readdirSync(home, { recursive: true, encoding: 'utf8' })) {
    utimesSync(join(home, name), longAgo, longAgo)
  }
}

/** Begins to work with the lock. @returns ends the work, when the lock was taken */
function work(file: SessionFile): Promise<() => Promise<void>> {
  return new Promise((begun) => {
    const done = file.exclusively(
      () =>
        new Promise<void>((end) => {
          begun(() => {
            end()
            return done
          })
        }),
    )
  })
}

test('a lock that was left behind is taken by one process after the other, also when many find it at once', async () => {
  for (let round = 0; round < 30; round += 1) {
    const home = newHome()
    const file = sessionFile({ XDG_CONFIG_HOME: home })
    // A process got the lock and ended without giving it back.
    await work(file)
    age(home)
    let [inside, most, done] = [0, 0, 0]
    const renew = () =>
      file.exclusively(async () => {
        inside += 1
        most = Math.max(most, inside)
        await file.read()
        inside -= 1
        done += 1
      })
    await Promise.all(Array.from({ length: 8 }, renew))
    expect([most, done], `round ${round}`).toEqual([1, 8])
  }
})

test('a process that was stopped for long gives back its own lock, and not that of the next one', async () => {
  const home = newHome()
  const file = sessionFile({ XDG_CONFIG_HOME: home })
  const endFirst = await work(file)
  age(home)
  const endSecond = await work(file)
  await endFirst()
  let isTaken = false
  const third = file.exclusively(async () => void (isTaken = true))
  // Each look at the file takes as long as one at the lock.
  for (let look = 0; look < 20; look += 1) await file.read()
  expect(isTaken).toBe(false)
  await endSecond()
  await third
})
