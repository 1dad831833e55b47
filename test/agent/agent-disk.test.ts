import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { StoredJob } from './fake-control-plane.js'
import { orderOf, play, publish, say } from './playbooks.js'
import { createSetting, exactEnd, type Setting } from './setting.js'
import { waitUntil } from './waiting.js'

/** Starts on disks that are full or read-only: small ones of their own. */
const DISK = 'size=16m'

const why = mountingRefused()
const left = why === null ? '' : ` (left out: ${why})`

function mountingRefused(): string | null {
  if (userInfo().uid !== 0) return 'a disk is mounted by root only'
  try {
    execFileSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', '-o', DISK, 'tmpfs', '/mnt'], { stdio: 'ignore' })
    return null
  } catch {
    return 'this machine does not let root mount'
  }
}

function mountState({ statePath }: Setting): void {
  mkdirSync(statePath)
  execFileSync('mount', ['-t', 'tmpfs', '-o', `${DISK},mode=700`, 'tmpfs', statePath])
}

const remount = ({ statePath }: Setting, how: 'ro' | 'rw'): void => {
  execFileSync('mount', ['-o', `remount,${how}`, statePath])
}

function offer({ controlPlane }: Setting, text: string): StoredJob {
  return controlPlane.offer(orderOf(publish(controlPlane, { 'site.yml': play(say(text)) })))
}

/** Leaves a job in the spool whose end the control plane has not stored; no agent runs afterwards. */
async function spoolAJob(setting: Setting, text: string): Promise<StoredJob> {
  const agent = await setting.join()
  const job = offer(setting, text)
  job.acceptEnd = false
  await exactEnd(setting.controlPlane, job)
  await agent.kill()
  await waitUntil('the socket is closed', () => setting.controlPlane.connected === null)
  return job
}

const spooled = ({ statePath }: Setting): string[] => readdirSync(join(statePath, 'spool', 'jobs'))

test.skipIf(why !== null)(`an agent starts on a read-only disk, sends what is there, and recovers${left}`, async () => {
  const setting = await createSetting()
  const { controlPlane, statePath } = setting
  mountState(setting)
  onTestFinished(() => {
    execFileSync('umount', ['--lazy', statePath])
  })
  const job = await spoolAJob(setting, 'kept')
  remount(setting, 'ro')
  job.end = null
  job.acceptEnd = true
  const first = await setting.join()
  expect((await exactEnd(controlPlane, job)).text).toContain('kept')
  expect((await first.probe('/ready')).body).toContain(`the disk of the state folder ${statePath} is read-only`)
  const refused = offer(setting, 'too early')
  expect(await waitUntil('it is refused', () => refused.refusals[0])).toMatchObject({ code: 'spool_full' })
  await first.kill()
  // A number that cannot be kept is not used: with it the next start would be taken for a copy of the folder.
  const agent = await setting.join()
  const [before, again] = controlPlane.hellos.slice(-2)
  expect(again).toMatchObject({ generation: before?.generation, instance: before?.instance })
  expect(agent.errors + first.errors).toBe('')

  remount(setting, 'rw')
  await agent.logged('can be written again')
  await waitUntil('what is stored leaves the spool', () => spooled(setting).length === 0)
  expect((await agent.probe('/ready')).status).toBe(200)
  controlPlane.offer(refused.order)
  await exactEnd(controlPlane, refused)
  await agent.kill()
  await setting.join()
  expect(controlPlane.hellos.at(-1)?.generation).toBe((again?.generation ?? 0) + 1)
})

test.skipIf(why !== null)(`an agent starts on a full disk, empties its spool, and recovers${left}`, async () => {
  const setting = await createSetting()
  const { controlPlane, statePath } = setting
  mountState(setting)
  onTestFinished(() => {
    execFileSync('umount', ['--lazy', statePath])
  })
  const job = await spoolAJob(setting, 'kept')
  const filler = join(statePath, 'filler')
  for (let bytes = 1024 * 1024; bytes >= 512;) {
    try {
      appendFileSync(filler, Buffer.alloc(bytes, 1))
    } catch {
      bytes /= 2
    }
  }
  job.end = null
  job.acceptEnd = true
  const agent = await setting.join()
  expect(await agent.logged('no job is taken')).toMatchObject({ problem: expect.stringContaining('is full') as string })
  expect((await exactEnd(controlPlane, job)).text).toContain('kept')
  await waitUntil('what is stored leaves the spool', () => spooled(setting).length === 0)
  rmSync(filler)
  await agent.logged('can be written again')
  expect((await exactEnd(controlPlane, offer(setting, 'later'))).text).toContain('later')
})

test('an agent works whose port is taken, and answers probes when it is free', async () => {
  const setting = await createSetting()
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, resolve))
  const { port } = other.address() as AddressInfo
  const agent = await setting.join({ PORT: String(port) })
  await agent.logged('probes are not answered')
  await exactEnd(setting.controlPlane, offer(setting, 'all the same'))
  await new Promise((resolve) => other.close(resolve))
  expect((await agent.probe('/ready')).status).toBe(200)
})
