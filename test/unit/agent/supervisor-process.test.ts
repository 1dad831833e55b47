import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { identifyProcess, lookAtProcess, signalProcess } from '../../../runner-agent/src/host/processes.js'
import { lastWordOf, startSupervisor, waitingOf } from '../../../runner-agent/src/playbook/supervisor.js'
import { createJobFolder, type JobFolder } from '../../../runner-agent/src/spool/job-folder.js'
import { openFilesBelow } from '../../agent/open-files.js'
import { waitUntil } from '../../agent/waiting.js'

/** A supervisor as a process of this agent: how it is started, and what its end means. */
let parent: string
let folder: JobFolder

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'holdfast-supervisor-'))
  const key = { jobId: 1, runId: 'e4'.repeat(16) }
  folder = createJobFolder(join(parent, `1-${key.runId}`), key)
  mkdirSync(folder.path)
  onTestFinished(() => {
    rmSync(parent, { recursive: true })
  })
})

/** Starts a shell script in place of a supervisor. It gets the words that Python would get. */
function start(script: string, secrets: string | null = null) {
  const python = join(parent, 'python')
  writeFileSync(python, `#!/bin/sh\n${script}\n`)
  chmodSync(python, 0o755)
  const environment = { PATH: process.env.PATH, LANG: 'C', LC_ALL: 'C.UTF-8', OTHER: 'of the agent' }
  return startSupervisor(folder, { python, script: '/supervisor.py' }, environment, secrets)
}

describe('a supervisor', () => {
  test('gets the folder of its job, little of the environment, and no open file of the agent', async () => {
    const { ended } = start('echo "$@"; echo "$LANG $LC_ALL ${OTHER-none} $PWD" >&2; cat; exit 0')
    expect(await ended).toEqual({ how: 'the supervisor ended with 0', isToTryAgain: false })
    expect(readFileSync(folder.file('supervisor.log'), 'utf8')).toBe(
      `-I -S /supervisor.py ${folder.path}\nC C.UTF-8 none /\n`,
    )
    expect(openFilesBelow(parent)).toEqual([])
  })

  test('reads secrets to their end, when its job has some', async () => {
    const { ended } = start('echo "$5"; cat; exit 3', 'line one\nline two\n')
    expect((await ended).how).toBe('the supervisor ended with 3')
    expect(readFileSync(folder.file('supervisor.log'), 'utf8')).toBe('secrets\nline one\nline two\n')
    expect(lastWordOf(folder)).toBe('line two')
  })

  test('that does not read its secrets ends nobody else', async () => {
    const { ended } = start('exit 3', 'x'.repeat(1_000_000))
    expect((await ended).how).toBe('the supervisor ended with 3')
  })

  test.each([
    [0, false],
    [1, true],
    [2, false],
    [17, false],
    [18, true],
    [19, false],
  ])('that ends with %i is started again: %s', async (code, isToTryAgain) => {
    expect(await start(`exit ${code}`).ended).toEqual({ how: `the supervisor ended with ${code}`, isToTryAgain })
  })

  test('that cannot be started is started again only when the host may have what it lacks later', async () => {
    const program = (python: string) => startSupervisor(folder, { python, script: '/x' }, {}, null).ended
    expect(await program(join(parent, 'nowhere'))).toMatchObject({ isToTryAgain: false })
    writeFileSync(join(parent, 'plain'), '')
    const denied = await program(join(parent, 'plain'))
    expect(denied).toMatchObject({ how: expect.stringContaining('cannot be started: ') as string, isToTryAgain: true })
  })

  test('runs in a session of its own, and can be ended at once', async () => {
    const supervisor = start('echo $$; exec sleep 600')
    const pid = await waitUntil('it has begun', () => Number(lastWordOf(folder)))
    const identity = identifyProcess(pid)
    if (identity === null) throw new Error('it is not found')
    onTestFinished(() => void signalProcess(identity, 'SIGKILL'))
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    expect(fields.slice(2, 4)).toEqual([String(pid), String(pid)])
    expect(signalProcess({ ...identity, start_ticks: identity.start_ticks + 1 }, 'SIGKILL')).toBe(false)
    expect(lookAtProcess(identity)).toBe('runs')
    supervisor.kill()
    expect(await supervisor.ended).toEqual({ how: 'the supervisor was ended by SIGKILL', isToTryAgain: false })
    expect(signalProcess(identity, 'SIGKILL')).toBe(false)
  })
})

test('a signal that comes after the end of a process says so', () => {
  const own = identifyProcess(process.pid)
  if (own === null) throw new Error('this process is not found')
  const kill = vi.spyOn(process, 'kill').mockImplementationOnce(() => {
    throw Object.assign(new Error('kill ESRCH'), { code: 'ESRCH' })
  })
  onTestFinished(() => kill.mockRestore())
  expect(signalProcess(own, 'SIGCONT')).toBe(false)
  expect(signalProcess(own, 'SIGCONT')).toBe(true)
})

test('the last word of a supervisor is the last line of its log, and only its own word says that it waits', () => {
  const log = (text: string): void => {
    writeFileSync(folder.file('supervisor.log'), text)
  }
  expect([lastWordOf(folder), waitingOf(folder)]).toEqual(['', null])
  log('')
  expect([lastWordOf(folder), waitingOf(folder)]).toEqual(['', null])
  log('one\ntwo\n\n')
  expect([lastWordOf(folder), waitingOf(folder)]).toEqual(['two', null])
  log('holdfast supervisor: waiting: a disk\n')
  expect(waitingOf(folder)).toBe('a disk')
  log('holdfast supervisor: waiting: a disk\nholdfast supervisor: going on\n')
  expect(waitingOf(folder)).toBeNull()
  log('somebody said holdfast supervisor: waiting: a disk\n')
  expect(waitingOf(folder)).toBeNull()
})
