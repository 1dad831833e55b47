import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, linkSync, mkdtempSync, readdirSync, rmSync, rmdirSync, statfsSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { killProcessesOfFolder } from '../support/processes-of-folder.js'
import { waitFor } from '../support/wait.js'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
import { expectExactly } from './kit/stored.js'

/** On a disk that is truly full: a small one of its own for the runner. */
const DISK_BYTES = 16 * 1024 * 1024

/** Mounting takes privileges that not everybody has who runs tests; the same is tested by fault rules in disk.test.ts. */
const why = mountingRefused()
const name = `a runner whose disk is really full${why === null ? '' : ` (left out: ${why})`}`

function mountingRefused(): string | null {
  if (userInfo().uid !== 0) return 'a disk is mounted by root only'
  try {
    execFileSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', '/mnt'])
    return null
  } catch {
    return 'this machine does not let root mount'
  }
}

/** Takes all room of the disk that a file is on. */
function fill(path: string): void {
  for (let bytes = 1024 * 1024; bytes >= 512;) {
    try {
      appendFileSync(path, Buffer.alloc(bytes, 1))
    } catch {
      bytes /= 2
    }
  }
}

let chaos: ChaosProduct | null = null
let disk = ''

afterEach(async () => {
  await chaos?.close()
  if (disk === '') return
  await killProcessesOfFolder(disk)
  execFileSync('umount', [disk])
  rmdirSync(disk)
})

test.skipIf(why !== null)(name, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-disk-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', folder])
  disk = folder
  chaos = await startChaos({ agent: { RTE_STATE_PATH: disk } })
  const { product } = chaos
  const load = { steps: 300, outputBytes: 4000, eventBytes: 0, gates: [100, 200] }
  const { jobId, truth } = await chaos.launchSynthetic(load)
  await waitFor('the job to be at its gate', () => truth.waitsAt(100))
  const [jobFolder] = readdirSync(join(disk, 'spool/jobs'))
  const kept = { outputPath: join(disk, 'kept-output'), eventsPath: join(disk, 'kept-events') }
  linkSync(join(disk, 'spool/jobs', jobFolder ?? '', 'output.log'), kept.outputPath)
  linkSync(join(disk, 'spool/jobs', jobFolder ?? '', 'events.jsonl'), kept.eventsPath)

  const filler = join(disk, 'filler')
  fill(filler)
  expect(statfsSync(disk).bavail).toBe(0)
  truth.openGate(100)
  truth.openGate(200)
  const job = await product.waitForEnd(jobId)
  expect(job.status).toBe('success')
  expect(job.detail).toMatch(/^[1-9]\d* bytes of output were not kept$/)
  expect(job.output).toContain('bytes of output lost: No space left on device')
  await expectExactly(product, jobId, { ...truth, ...kept })
  expect(truth.starts()).toBe(1)

  // What the first job has left is taken too.
  await waitFor('its folder to be removed', () =>
    ['jobs', 'trash'].every((part) => readdirSync(join(disk, 'spool', part)).length === 0),
  )
  fill(filler)
  const waiting = await chaos.launchSynthetic()
  await waitFor('a new job to be refused', () => product.agent.said().includes('"code":"spool_full"'))
  expect(existsSync(waiting.truth.outputPath)).toBe(false)
  rmSync(filler)
  expect(await product.waitForEnd(waiting.jobId)).toMatchObject({ status: 'success', detail: null })
  await expectExactly(product, waiting.jobId, waiting.truth)
  expect(waiting.truth.starts()).toBe(1)
})
