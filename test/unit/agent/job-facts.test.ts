import { mkdirSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { identifyProcess, type ProcessState } from '../../../runner-agent/src/host/processes.js'
import { type JobFacts, readFacts, type SupervisorChild } from '../../../runner-agent/src/jobs/facts.js'
import {
  createJobFolder,
  type JobFileName,
  type JobFolder,
  type Started,
} from '../../../runner-agent/src/spool/job-folder.js'

/** What one look at a job finds in its folder, and what of it counts. */
const SELF = identifyProcess(process.pid)
const EXIT = { exit_code: 0, signal: null, stopped: false, started_at: null, time: '2026-11-20T08:00:00.000Z' }
let parent: string
let folder: JobFolder

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'holdfast-facts-'))
  const key = { jobId: 1, runId: 'd3'.repeat(16) }
  folder = createJobFolder(join(parent, `1-${key.runId}`), key)
  mkdirSync(folder.path)
  onTestFinished(() => {
    rmSync(parent, { recursive: true })
  })
})

const write = (name: JobFileName, content: unknown): void => {
  writeFileSync(folder.file(name), typeof content === 'string' ? content : JSON.stringify(content))
}

interface Given {
  readonly known?: Started | null
  readonly child?: SupervisorChild
  /** What the watch over supervisors says, or what it throws. */
  readonly says?: ProcessState | Error
  readonly of?: JobFolder
}

function look({ known = null, child = 'none', says = 'gone', of = folder }: Given = {}): JobFacts {
  const answer = (): ProcessState => {
    if (says instanceof Error) throw says
    return says
  }
  return readFacts(of, known, child, { look: answer, lookAtTorn: answer })
}

describe('the supervisor of a job', () => {
  test.each<[string, Given, JobFacts['supervisor']]>([
    ['runs', { says: 'runs' }, 'alive'],
    ['is gone', { says: 'gone' }, 'gone'],
    ['cannot be seen from here', { says: 'unknown' }, 'unknown'],
    ['cannot be looked at now', { says: new Error('EMFILE') }, 'unknown'],
  ])('that %s is found so, with a whole start and with a torn one', (_, given, expected) => {
    write('started.json', { ...SELF })
    expect(look(given).supervisor).toBe(expected)
    write('started.json', '{"pid":')
    expect(look(given).supervisor).toBe(expected)
    expect(look({ ...given, child: { how: 'it ended' } }).supervisor).toBe(expected)
  })

  test('is none when the agent itself took the start', () => {
    write('started.json', { ...SELF, by: 'agent' })
    expect(look({ says: 'runs' }).supervisor).toBe('none')
  })

  test.each<[string, SupervisorChild, JobFacts['supervisor']]>([
    ['was not started', 'none', 'none'],
    ['was started just now', 'running', 'alive'],
    ['has ended without a start', { how: 'it ended' }, 'gone'],
  ])('that %s is found so without a start', (_, child, expected) => {
    expect(look({ child, says: 'runs' }).supervisor).toBe(expected)
  })

  test('that was started just now lives, whatever its start looks like', () => {
    write('started.json', '{"pid":')
    expect(look({ child: 'running', says: 'gone' }).supervisor).toBe('alive')
  })

  test('that an earlier look has found is looked for without its start', () => {
    const known = { ...SELF, pid: 1, start_ticks: 1, boot_id: 'this boot' }
    const facts = look({ known, says: 'gone' })
    expect([facts.started, facts.supervisor]).toEqual([{ kind: 'present', content: known }, 'gone'])
  })

  test('is not known when its start cannot be read', () => {
    rmSync(folder.path, { recursive: true })
    writeFileSync(folder.path, 'a file in place of the folder')
    const facts = look()
    expect(facts.started).toEqual({ kind: 'unknown', code: 'ENOTDIR' })
    expect(facts.supervisor).toBe('unknown')
  })
})

describe('the files of a job', () => {
  const NOT_LOOKED = { kind: 'unknown', code: 'it was not looked at' }

  test('are all looked at when no supervisor is at work', () => {
    write('started.json', { ...SELF })
    for (const name of ['abort.json', 'abort-forced.json'] as const) write(name, '')
    write('exit.json', EXIT)
    const facts = look()
    expect(facts.exit).toEqual({ kind: 'present', content: EXIT })
    expect([facts.abort.kind, facts.forced.kind, facts.end.kind]).toEqual(['present', 'present', 'absent'])
    // A started job needs no claim, and one with a folder no list of processes.
    expect([facts.claim, facts.rest]).toEqual([NOT_LOOKED, NOT_LOOKED])
  })

  test('have the claim of a job that was not started', () => {
    expect(look().claim).toEqual({ kind: 'absent' })
    write('claim.json', '{}')
    expect(look().claim).toEqual({ kind: 'torn' })
  })

  test.each<[string, Given]>([
    ['works', { says: 'runs' }],
    ['cannot be seen', { says: 'unknown' }],
  ])('are not looked at while a supervisor %s', (_, given) => {
    write('started.json', { ...SELF })
    write('abort-forced.json', '')
    write('exit.json', EXIT)
    const { forced, exit, claim, rest } = look(given)
    expect([forced, exit, claim, rest]).toEqual([NOT_LOOKED, NOT_LOOKED, NOT_LOOKED, NOT_LOOKED])
  })

  test('say what a supervisor at work waits for', () => {
    write('started.json', { ...SELF })
    expect(look({ says: 'runs' }).waitsFor).toBeNull()
    write('supervisor.log', 'some line\nholdfast supervisor: waiting: output.log: No space left\n')
    expect(look({ says: 'runs' }).waitsFor).toBe('output.log: No space left')
    expect(look({ says: 'gone' }).waitsFor).toBeNull()
    write('supervisor.log', 'holdfast supervisor: waiting: output.log\nit goes on\n')
    expect(look({ says: 'runs' }).waitsFor).toBeNull()
  })
})

describe('the folder of a job', () => {
  test('is there with its inode, and is absent when it is not', () => {
    expect(look().folder).toEqual({ kind: 'present', content: String(statSync(folder.path).ino) })
    rmSync(folder.path, { recursive: true })
    const facts = look()
    expect(facts.folder).toEqual({ kind: 'absent' })
    // Nothing on this host has the marks of this job.
    expect(facts.rest).toEqual({ kind: 'absent' })
  })

  /** A folder with which something happens between the two looks at it. */
  function changing(change: () => void): JobFolder {
    return {
      ...folder,
      end: () => {
        change()
        return folder.end()
      },
    }
  }

  test.each<[string, () => void, string]>([
    ['goes', () => rmSync(folder.path, { recursive: true }), 'it came or went just now'],
    [
      'is replaced',
      () => {
        renameSync(folder.path, join(parent, 'away'))
        mkdirSync(folder.path)
      },
      'another folder took its place just now',
    ],
  ])('is not known when it %s during the look', (_, change, code) => {
    expect(look({ of: changing(change) }).folder).toEqual({ kind: 'unknown', code })
  })

  test('is not known when it comes during the look', () => {
    rmSync(folder.path, { recursive: true })
    const of = changing(() => mkdirSync(folder.path))
    expect(look({ of }).folder).toEqual({ kind: 'unknown', code: 'it came or went just now' })
  })

  test('is not known when one of the two looks failed', () => {
    const looks = (...kinds: ('present' | 'EIO')[]): JobFolder => ({
      ...folder,
      lookAround: () => (kinds.shift() === 'EIO' ? { kind: 'unknown', code: 'EIO' } : folder.lookAround()),
    })
    for (const of of [looks('EIO', 'present'), looks('present', 'EIO')]) {
      expect(look({ of }).folder).toEqual({ kind: 'unknown', code: 'EIO' })
    }
  })
})
