import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import fsp, { type FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import timers from 'node:timers/promises'
import { pino } from 'pino'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openSpool, type Spool } from '../../../runner-agent/src/spool/spool.js'
import { holdClock } from '../../agent/held-clock.js'
import { syncedFiles } from '../../support/synced-files.js'

/** What of the spool is on the disk when the power fails, and what goes on in the background. */
const KEY = { jobId: 1, runId: 'a'.repeat(32) }
const NAME = `1-${KEY.runId}`
let state: string
let spool: Spool
let lines: string[]

const below = (...names: string[]): string => join(state, 'spool', ...names)
const open = (): Spool => openSpool(state, pino({}, { write: (line) => void lines.push(line) }))

beforeEach(async () => {
  lines = []
  state = mkdtempSync(join(tmpdir(), 'holdfast-spool-'))
  spool = open()
  await spool.prepare()
  onTestFinished(async () => {
    await spool.close()
    rmSync(state, { recursive: true })
  })
})

/** A function of the system that does something else, until the test is finished. */
function replaced(module: object, name: string, other: (...given: never[]) => unknown): void {
  const spy = vi.spyOn(module as Record<string, () => unknown>, name).mockImplementation(other as () => unknown)
  syncBuiltinESMExports()
  onTestFinished(() => {
    spy.mockRestore()
    syncBuiltinESMExports()
  })
}

/** From now on the first syncs of the folder of all jobs fail. */
async function failToSync(times: number): Promise<void> {
  const probe = await fsp.open(tmpdir(), 'r')
  const handles = Object.getPrototypeOf(probe) as Pick<FileHandle, 'sync'>
  await probe.close()
  const real = handles.sync as (this: FileHandle) => Promise<void>
  let failed = 0
  const spy = vi.spyOn(handles, 'sync').mockImplementation(async function (this: FileHandle) {
    const { ino } = await this.stat()
    if (ino !== (await fsp.stat(below('jobs'))).ino || failed === times) {
      await real.call(this)
      return
    }
    failed += 1
    throw Object.assign(new Error('EIO'), { code: 'EIO' })
  })
  onTestFinished(() => spy.mockRestore())
}

describe('a claim', () => {
  test('is on the disk, the folder of the job and then its name', async () => {
    const staged = await spool.stage(KEY)
    const synced = await syncedFiles()
    const { path } = await spool.admit(staged)
    expect(synced).toEqual([staged.path, below('jobs')])
    expect(path).toBe(below('jobs', NAME))
  })

  test('that does not come to the disk is taken back', async () => {
    const staged = await spool.stage(KEY)
    await failToSync(1)
    await expect(spool.admit(staged)).rejects.toMatchObject({ code: 'EIO' })
    expect([existsSync(staged.path), readdirSync(below('jobs'))]).toEqual([true, []])
    expect(lines).toEqual([])
  })

  test('that can be neither kept nor taken back is tried again after a pause', async () => {
    const staged = await spool.stage(KEY)
    await failToSync(2)
    const { rename } = fsp
    replaced(fsp, 'rename', (from: string, to: string) =>
      from === staged.path ? rename(from, to) : Promise.reject(new Error('EIO')),
    )
    const pauses: number[] = []
    replaced(timers, 'setTimeout', (milliseconds: number) => Promise.resolve(void pauses.push(milliseconds)))
    expect((await spool.admit(staged)).path).toBe(below('jobs', NAME))
    expect(pauses).toEqual([500, 500])
    expect(lines).toHaveLength(2)
    expect(lines[0]).toContain('can be neither kept nor taken back')
  })
})

describe('the trash', () => {
  const admit = async () => spool.admit(await spool.stage(KEY))

  test('is emptied in the background, and the agent waits for that at its end', async () => {
    const folder = await admit()
    let remove = (): void => undefined
    const held = new Promise<void>((resolve) => (remove = resolve))
    const { rm } = fsp
    replaced(fsp, 'rm', async (path: string, options: object) => {
      await held
      await rm(path, options)
    })
    await spool.trash(folder)
    expect([readdirSync(below('jobs')), readdirSync(below('trash')).length]).toEqual([[], 1])
    let isClosed = false
    const closed = spool.close().then(() => (isClosed = true))
    await new Promise((resolve) => setImmediate(resolve))
    expect(isClosed).toBe(false)
    remove()
    await closed
    expect(readdirSync(below('trash'))).toEqual([])
  })

  test('may lose a folder by another hand, which nobody has to hear of', async () => {
    const folder = await admit()
    const { rm } = fsp
    replaced(fsp, 'rm', async (path: string, options: object) => {
      rmSync(path, { recursive: true })
      await rm(path, options)
    })
    await spool.trash(folder)
    await spool.close()
    expect(lines).toEqual([])
  })

  test('that cannot be emptied now is emptied by the next agent', async () => {
    const folder = await admit()
    replaced(fsp, 'rm', () => Promise.reject(new Error('EIO')))
    await spool.trash(folder)
    await spool.close()
    expect(readdirSync(below('trash'))).toHaveLength(1)
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain('cannot remove a folder of the trash now')
  })

  test('takes no folder for gone while the disk of the spool may be away', async () => {
    const folder = await admit()
    const away = {
      ...folder,
      path: below('jobs', 'nowhere'),
      lookAround: () => ({ kind: 'unknown', code: 'EIO' }) as const,
    }
    await expect(spool.trash(away)).rejects.toMatchObject({ code: 'ENOENT' })
    // It is tried again, and only the folder of the job that is there goes.
    await expect(spool.prepare()).rejects.toMatchObject({ code: 'ENOENT' })
    await spool.trash(folder)
    await spool.prepare()
    expect(readdirSync(below('jobs'))).toEqual([])
  })

  test('is not tried with a folder that can be looked at and that another hand just moved', async () => {
    const folder = await admit()
    rmSync(folder.path, { recursive: true })
    await spool.trash(folder)
    mkdirSync(folder.path)
    await spool.prepare()
    expect(readdirSync(below('jobs'))).toEqual([NAME])
  })
})

test('old runs are forgotten in the background once the spool is prepared, until the agent ends', async () => {
  await spool.giveUp(KEY)
  const longAgo = Date.now() / 1000 - 91 * 24 * 3600
  utimesSync(below('past', NAME), longAgo, longAgo)
  const clock = holdClock({ timers: true })
  const next = open()
  expect(clock.count()).toBe(0)
  await next.prepare()
  expect(clock.count()).toBe(1)
  await next.prepare()
  expect(clock.count()).toBe(1)
  expect(next.isPast(KEY)).toBe(true)
  clock.move(10 * 60 * 1000)
  await next.close()
  expect([next.isPast(KEY), clock.count()]).toEqual([false, 0])
})
