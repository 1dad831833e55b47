import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { cleanEnvironment } from '../support/process.js'
import { ROOT } from '../support/product.js'
import { waitFor } from '../support/wait.js'

interface RunningDemo {
  readonly process: ChildProcess
  readonly folder: string
  readonly said: () => string
  readonly ended: Promise<number | null>
}

/** The demo with a temporary folder of its own, so that what it leaves behind can be seen. */
function startDemo(...args: string[]): RunningDemo {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-demo-test-'))
  onTestFinished(() => {
    // Only after a failure is there anything left.
    for (const pid of processesOf(folder)) process.kill(Number(pid), 'SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  const child = spawn(join(ROOT, 'scripts/demo'), args, {
    cwd: tmpdir(),
    env: cleanEnvironment({ TMPDIR: folder }),
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own, which a Ctrl-C reaches as a whole.
    detached: true,
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (said += text))
  }
  return {
    process: child,
    folder,
    said: () => said,
    ended: once(child, 'close').then(([code]) => code as number | null),
  }
}

/** Processes whose environment names the folder: what the demo started. */
function processesOf(folder: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`=${folder}/holdfast-demo`)
      } catch {
        return false
      }
    })
}

it('shows both jobs to their end and leaves nothing behind', async () => {
  const demo = startDemo()
  expect({ code: await demo.ended, said: demo.said() }).toMatchObject({ code: 0 })
  const said = demo.said()
  expect(said).toContain('Hello world, says admin in job 1')
  expect(said).toMatch(/^ +\d+ {2}runner_on_failed +db-1 +Find last night's backup/m)
  expect(said).toContain('Final status: job 1 success, job 2 success')
  expect(said).not.toContain('\u001b')
  expect(readdirSync(demo.folder)).toEqual([])
  expect(processesOf(demo.folder)).toEqual([])
})

it('stopped in the middle, it leaves nothing behind either', async () => {
  const demo = startDemo()
  await waitFor('the first job', () => demo.said().includes('$ holdfast job follow 1'))
  expect(processesOf(demo.folder).length).toBeGreaterThan(1)
  process.kill(-Number(demo.process.pid), 'SIGINT')
  expect(await demo.ended).toBe(130)
  expect(readdirSync(demo.folder)).toEqual([])
  expect(processesOf(demo.folder)).toEqual([])
})

it('with --keep both programs go on, and what it prints stops them', async () => {
  const demo = startDemo('--keep')
  expect({ code: await demo.ended, said: demo.said() }).toMatchObject({ code: 0 })
  const address = /^Address: +(\S+)/m.exec(demo.said())?.[1] ?? ''
  expect((await fetch(`${address}/api/v2/ready`)).status).toBe(200)
  const stop = /^Stop: +(.*)$/m.exec(demo.said())?.[1] ?? ''
  const [code] = (await once(spawn('bash', ['--norc', '-c', stop]), 'close')) as [number]
  expect(code).toBe(0)
  await waitFor('both programs to end', () => processesOf(demo.folder).length === 0)
})
