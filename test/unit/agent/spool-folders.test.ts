import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { createJobFolder, type JobFolder, jobKeyOf } from '../../../runner-agent/src/spool/job-folder.js'
import { openSpool, type Spool } from '../../../runner-agent/src/spool/spool.js'

/** The way of a job's folder through the spool: staged, admitted, found again, thrown away. */
const log = pino({ level: 'silent' })
const keyOf = (jobId: number) => ({ jobId, runId: 'a'.repeat(32) })
let state: string
let spool: Spool

const below = (...names: string[]): string => join(state, 'spool', ...names)
const namesIn = (folder: string): string[] => readdirSync(below(folder))

/** The next agent on the same state folder. */
async function openAgain(): Promise<Spool> {
  const next = openSpool(state, log)
  onTestFinished(() => next.close())
  await next.prepare()
  return next
}

async function admit(jobId: number): Promise<JobFolder> {
  const staged = await spool.stage(keyOf(jobId))
  writeFileSync(join(staged.path, 'claim.json'), '{}')
  return spool.admit(staged)
}

beforeEach(async () => {
  state = mkdtempSync(join(tmpdir(), 'holdfast-spool-'))
  onTestFinished(() => {
    rmSync(state, { recursive: true })
  })
  spool = await openAgain()
})

test('the folders of the spool are of the agent alone, and are made again when one is missing', async () => {
  for (const name of ['jobs', 'staging', 'trash']) {
    expect(statSync(below(name)).mode & 0o777).toBe(0o700)
    rmSync(below(name), { recursive: true })
    await spool.prepare()
    expect(existsSync(below(name))).toBe(true)
  }
})

describe('a staged job', () => {
  test('is no job of the spool before it is admitted', async () => {
    const staged = await spool.stage(keyOf(1))
    expect(statSync(staged.path).mode & 0o777).toBe(0o700)
    expect(await spool.list()).toEqual([])
    const folder = await spool.admit(staged)
    expect((await spool.list()).map(({ key }) => key)).toEqual([keyOf(1)])
    expect(folder.path).toBe(below('jobs', `1-${'a'.repeat(32)}`))
    expect(namesIn('staging')).toEqual([])
  })

  test('leaves nothing when it is discarded, also twice', async () => {
    const staged = await spool.stage(keyOf(1))
    writeFileSync(join(staged.path, 'claim.json'), '{}')
    await spool.discard(staged)
    await spool.discard(staged)
    expect(namesIn('staging')).toEqual([])
  })

  test('stays when the spool is prepared again, and is gone for the next agent', async () => {
    const staged = await spool.stage(keyOf(1))
    writeFileSync(join(staged.path, 'claim.json'), '{}')
    await spool.prepare()
    expect(namesIn('staging')).toHaveLength(1)
    await openAgain()
    expect(namesIn('staging')).toEqual([])
  })

  test('is not admitted over a job that is there', async () => {
    await admit(1)
    const again = await spool.stage(keyOf(1))
    await expect(spool.admit(again)).rejects.toMatchObject({ code: 'ENOTEMPTY' })
    expect(namesIn('staging')).toHaveLength(1)
  })
})

describe('the list of jobs', () => {
  test('is empty when there is no folder of jobs, and cannot be read when that is no folder', async () => {
    rmSync(below('jobs'), { recursive: true })
    expect(await spool.list()).toEqual([])
    writeFileSync(below('jobs'), '')
    await expect(spool.list()).rejects.toMatchObject({ code: 'ENOTDIR' })
  })

  test('has no job whose run is over, and its folder goes', async () => {
    await admit(1)
    await admit(2)
    await spool.giveUp(keyOf(1))
    const next = await openAgain()
    expect((await next.list()).map(({ key }) => key.jobId)).toEqual([2])
    expect(namesIn('jobs')).toEqual([`2-${'a'.repeat(32)}`])
  })

  test('leaves alone what is not the folder of a job', async () => {
    mkdirSync(below('jobs', 'lost+found'))
    writeFileSync(below('jobs', `3-${'a'.repeat(32)}`), 'a file')
    expect(await spool.list()).toEqual([])
    expect(namesIn('jobs')).toHaveLength(2)
  })

  test('cannot be read while the disk of the spool is away', async () => {
    await admit(1)
    expect(spool.problem()).toBeNull()
    renameSync(below(), join(state, 'away'))
    mkdirSync(below())
    expect(spool.problem()).toContain('is not there')
    await expect(spool.list()).rejects.toThrow('is not there')
  })
})

describe('a job that leaves the spool', () => {
  test('is over for good, and its bytes go in the background', async () => {
    const folder = await admit(1)
    expect(spool.isPast(keyOf(1))).toBe(false)
    await spool.trash(folder)
    expect([spool.isPast(keyOf(1)), spool.isPast(keyOf(2))]).toEqual([true, false])
    expect(namesIn('jobs')).toEqual([])
    await spool.close()
    expect(namesIn('trash')).toEqual([])
    expect((await openAgain()).isPast(keyOf(1))).toBe(true)
  })

  test('may have been removed before', async () => {
    const folder = await admit(1)
    rmSync(folder.path, { recursive: true })
    await spool.trash(folder)
    expect(spool.isPast(keyOf(1))).toBe(true)
  })

  test('and cannot be moved now is moved at the next chance', async () => {
    const folder = await admit(1)
    rmSync(below('trash'), { recursive: true })
    await expect(spool.trash(folder)).rejects.toMatchObject({ code: 'ENOENT' })
    expect(namesIn('jobs')).toHaveLength(1)
    await spool.prepare()
    expect(namesIn('jobs')).toEqual([])
    // It is tried once: a folder of that name that comes later is another one.
    mkdirSync(folder.path)
    await spool.prepare()
    expect(namesIn('jobs')).toHaveLength(1)
  })

  test('and was not removed to its end is removed by the next agent', async () => {
    mkdirSync(below('trash', 'of an agent before', 'work'), { recursive: true })
    writeFileSync(below('trash', 'of an agent before', 'work', 'file'), 'text')
    await spool.prepare()
    expect(namesIn('trash')).toHaveLength(1)
    await (await openAgain()).close()
    expect(namesIn('trash')).toEqual([])
  })

  test('and whose end cannot be noted is removed all the same', async () => {
    const folder = await admit(1)
    writeFileSync(below('past'), 'a file in place of the folder')
    await spool.trash(folder)
    expect(namesIn('jobs')).toEqual([])
    await expect(spool.giveUp(keyOf(2))).rejects.toMatchObject({ code: 'ENOTDIR' })
  })
})

test.each([
  ['1-', null],
  [`1-${'a'.repeat(31)}`, null],
  [`1-${'A'.repeat(32)}`, null],
  [`0-${'a'.repeat(32)}`, null],
  [`01-${'a'.repeat(32)}`, null],
  [`x1-${'a'.repeat(32)}`, null],
  [`12-${'0f'.repeat(16)}`, { jobId: 12, runId: '0f'.repeat(16) }],
])('the folder %s is of the job %j', (name, key) => {
  expect(jobKeyOf(name)).toEqual(key)
})

test('a job folder outside of a spool is absent when it is not there', () => {
  const folder = createJobFolder(join(state, 'nowhere'), keyOf(1))
  expect(folder.lookAround()).toEqual({ kind: 'absent' })
  mkdirSync(folder.path)
  expect(folder.lookAround()).toEqual({ kind: 'present', content: String(statSync(folder.path).ino) })
  expect(folder.look('end.json')).toEqual({ kind: 'absent' })
})
