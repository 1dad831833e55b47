import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { pino } from 'pino'
import { composeIsolation } from '../../../runner-agent/src/isolation/compose.js'
import { isolationWord, openIsolation, releaseUser } from '../../../runner-agent/src/isolation/isolation.js'
import { ANSIBLE_PARTS } from '../../../runner-agent/src/package-info.js'

/** How the agent asks its helper whether jobs can be kept apart, and what it makes of the answer. */
let folder: string
let state: string
let lines: [string, string][]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-isolation-'))
  state = join(folder, 'state')
  mkdirSync(state)
  lines = []
  onTestFinished(() => {
    rmSync(folder, { recursive: true })
  })
})

const log = pino(
  { base: null, formatters: { level: (level) => ({ level }) } },
  {
    write: (text: string) => {
      const { level, msg } = JSON.parse(text) as { level: string; msg: string }
      lines.push([level, msg])
    },
  },
)
const USERS = [
  { uid: 60_001, gid: 60_001, name: 'job-1', groups: [60_001, 5] },
  { uid: 60_002, gid: 60_002, name: 'job-2', groups: [] },
]
const SETTINGS = { users: ['job-1', 'job-2'], sudo: false, home: null }
const FIT = { users: USERS, private: ['/tmp', '/var/tmp'], warnings: [] }

/** A helper that says this, and notes in a file what it was asked, and how it was started. */
function helper(answer: unknown, text = `print(${JSON.stringify(JSON.stringify(answer))})`) {
  const script = join(folder, 'helper.py')
  const asked = join(folder, 'asked')
  writeFileSync(
    script,
    `import json, os, sys\nflags = [sys.flags.isolated, sys.flags.no_site, os.getcwd(), sorted(os.environ.keys() - {"LC_CTYPE"})]
json.dump([sys.argv[1], json.load(sys.stdin), flags], open(${JSON.stringify(asked)}, "w"))\n${text}\n`,
  )
  const read = () => (existsSync(asked) ? (JSON.parse(readFileSync(asked, 'utf8')) as unknown) : null)
  return {
    python: 'python3',
    script,
    statePath: state,
    read: ['/plays'],
    run: ['/usr/bin/ansible-playbook'],
    asked: read,
  }
}

/** Alone, without modules beside it or of the host, in no folder of the agent, without its variables. */
const ALONE = [1, 1, '/', []]

describe('jobs with users of their own', () => {
  test('are not asked for', async () => {
    const host = helper(FIT)
    expect(await openIsolation(null, host, log)).toEqual({ kind: 'none' })
    expect(host.asked()).toBeNull()
    expect(lines).toEqual([['info', 'playbooks run as the user of the agent and are not kept apart from it']])
  })

  test('can be had when the helper has tried each of them', async () => {
    const host = helper(FIT)
    const orders = {
      users: USERS,
      private: ['/tmp', '/var/tmp'],
      folder: join(state, 'users'),
      sudo: false,
      home: null,
    }
    expect(await openIsolation(SETTINGS, host, log)).toEqual({ kind: 'user', orders })
    const hidden = ['identity', 'spool/staging', 'spool/trash', 'cache', 'generations'].map((name) => join(state, name))
    expect(host.asked()).toEqual([
      'check',
      {
        users: ['job-1', 'job-2'],
        folder: join(state, 'users'),
        state,
        read: ['/plays'],
        run: ['/usr/bin/ansible-playbook'],
        hidden,
      },
      ALONE,
    ])
    // What jobs must not read is there, so that it could be tried. The keys are somebody else's to make.
    const [identity, ...closed] = hidden
    expect(existsSync(identity ?? '')).toBe(false)
    expect(closed.map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o700, 0o700, 0o700])
    expect(lines).toEqual([['info', 'each playbook runs as a user of its own']])
  })

  test('have sudo and the home of the settings', async () => {
    const settings = { ...SETTINGS, sudo: true, home: folder }
    expect(await openIsolation(settings, helper(FIT), log)).toMatchObject({ orders: { sudo: true, home: folder } })
  })

  test('come with the warnings of the helper, and one when /tmp is shared', async () => {
    await openIsolation(SETTINGS, helper({ ...FIT, private: ['/var/tmp'], warnings: ['one', 'two'] }), log)
    expect(lines.map(([level, text]) => [level, text.slice(0, 14)])).toEqual([
      ['warn', 'one'],
      ['warn', 'two'],
      ['info', 'each playbook '],
      ['warn', 'jobs share /tm'],
    ])
  })

  test.each<[string, unknown, string]>([
    ['says why they cannot be had', { problem: 'there is no user job-1' }, 'there is no user job-1'],
    ['answers something else', { users: 7 }, 'it could not be tried: '],
    ['names users without ids', { ...FIT, users: [{ name: 'job-1' }] }, 'it could not be tried: '],
  ])('cannot be had when the helper %s', async (_name, answer, problem) => {
    const isolation = await openIsolation(SETTINGS, helper(answer), log)
    expect(isolation).toEqual({ kind: 'unavailable', problem: expect.stringContaining(problem) as unknown })
    expect(lines).toEqual([['error', expect.stringContaining('no job is taken until that is mended')]])
  })

  test('cannot be had when the helper fails', async () => {
    const isolation = await openIsolation(SETTINGS, helper(null, 'sys.exit(3)'), log)
    expect(isolation).toMatchObject({ problem: expect.stringContaining('it could not be tried: ') as unknown })
  })

  test('cannot be had when the home of the settings is not there', async () => {
    const home = join(folder, 'nowhere')
    const host = helper(FIT)
    expect(await openIsolation({ ...SETTINGS, home }, host, log)).toEqual({
      kind: 'unavailable',
      problem: `RTE_ISOLATION_HOME: no folder ${home}`,
    })
    expect(host.asked()).toBeNull()
  })

  test.each([
    [{ kind: 'none' } as const, 'none'],
    [{ kind: 'user', orders: { ...FIT, folder: '/', sudo: false, home: null } } as const, 'user'],
    [{ kind: 'unavailable', problem: 'x' } as const, 'user (not available)'],
  ])('have a word for admins: %j', (isolation, word) => {
    expect(isolationWord(isolation)).toBe(word)
  })
})

describe('the user of an ended job', () => {
  const job = () => join(folder, 'job')
  beforeEach(() => {
    mkdirSync(job())
  })

  test('is freed by the helper, which says what is left', async () => {
    writeFileSync(join(job(), 'isolation.json'), '{}')
    const host = helper({ left: ['process 7'] })
    expect(await releaseUser(job(), host)).toEqual(['process 7'])
    expect(host.asked()).toEqual(['release', { job: job(), folder: join(state, 'users') }, ALONE])
  })

  test('is nobody when the job had none', async () => {
    const host = helper({ left: ['process 7'] })
    expect(await releaseUser(job(), host)).toEqual([])
    expect(host.asked()).toBeNull()
  })

  test('is asked about when the note of it is broken, and not known when it cannot be looked at', async () => {
    const note = join(job(), 'isolation.json')
    symlinkSync('isolation.json', note)
    expect(await releaseUser(job(), helper({ left: ['who was it?'] }))).toEqual(['who was it?'])
    rmSync(job(), { recursive: true })
    writeFileSync(job(), '')
    await expect(releaseUser(job(), helper({ left: [] }))).rejects.toThrow(
      'isolation.json cannot be looked at: ENOTDIR',
    )
  })

  test('is not freed when the helper fails', async () => {
    writeFileSync(join(job(), 'isolation.json'), '{}')
    await expect(releaseUser(job(), helper(null, 'sys.exit(3)'))).rejects.toThrow('exit code 3')
    await expect(releaseUser(job(), helper({ problem: 'x' }))).rejects.toThrow('left')
  })
})

describe('the room of isolation', () => {
  const ground = {
    log,
    now: () => new Date(0),
    random: () => 0,
    environment: {},
    after: () => () => undefined,
    onClose: () => undefined,
  }
  /** A Python that answers for the agent's own helper, and counts how often it is asked. */
  function room(settings: typeof SETTINGS | null, answer: unknown) {
    const python = join(folder, 'python3')
    const count = join(folder, 'count')
    const answers = (what: unknown): void => {
      const words = `cat >/dev/null\necho "$3 $4" >>${count}\necho '${JSON.stringify(what)}'`
      writeFileSync(python, `#!/bin/sh\n${words}\n`, { mode: 0o755 })
    }
    answers(answer)
    const part = composeIsolation(ground, { statePath: state, isolation: settings }, { python, read: [], run: [] })
    const asked = () => (existsSync(count) ? readFileSync(count, 'utf8').trim().split('\n') : [])
    return { part, asked, answers }
  }

  test('takes no job before it was tried', () => {
    const { part, asked } = room(SETTINGS, FIT)
    expect([part.problem, part.word(), part.maxJobs()]).toEqual(['it was not tried yet', 'user (not available)', 0])
    expect([part.now.kind, asked()]).toEqual(['unavailable', []])
  })

  test('takes as many jobs as there are users, and tries that once', async () => {
    const { part, asked } = room(SETTINGS, FIT)
    await part.prepare()
    await part.prepare()
    expect([part.problem, part.word(), part.maxJobs(), part.now.kind]).toEqual([null, 'user', 2, 'user'])
    expect(asked()).toEqual([`${ANSIBLE_PARTS.isolation} check`])
  })

  test('sets no limit without isolation', async () => {
    const { part, asked } = room(null, FIT)
    await part.prepare()
    expect([part.problem, part.word(), part.maxJobs(), asked()]).toEqual([null, 'none', 0, []])
  })

  test('takes jobs again when a later try works', async () => {
    const { part, answers } = room(SETTINGS, { problem: 'not yet' })
    await part.prepare()
    expect(part.problem).toBe('not yet')
    answers(FIT)
    await part.prepare()
    expect(part.problem).toBeNull()
  })

  test('frees the user of a job', async () => {
    const { part, asked } = room(SETTINGS, { left: ['process 7'] })
    writeFileSync(join(folder, 'isolation.json'), '{}')
    expect(await part.release(folder)).toEqual(['process 7'])
    expect(asked()).toEqual([`${ANSIBLE_PARTS.isolation} release`])
  })
})
