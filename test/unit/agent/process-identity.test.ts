import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs, { copyFileSync, mkdtempSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as v from 'valibot'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  identifyProcess,
  lookAtProcess,
  type ProcessIdentity,
  processIdentitySchema,
  readBootId,
  signalProcess,
} from '../../../runner-agent/src/host/processes.js'
import { waitFor } from '../../support/wait.js'

/** The name of exactly one process: who is taken for it, and who is not. */
let self: ProcessIdentity
beforeAll(() => {
  self = identify(process.pid)
})

function identify(pid: number): ProcessIdentity {
  const found = identifyProcess(pid)
  if (found === null) throw new Error(`there is no process ${pid}`)
  return found
}

/** A program that reads until this test ends. */
function reader(program = 'cat'): ChildProcess {
  const child = spawn(program, { stdio: ['pipe', 'ignore', 'ignore'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** From now on links are read so, until the test is finished. */
function readLinks(read: (path: string) => string): void {
  const reading = vi.spyOn(fs, 'readlinkSync').mockImplementation(((path: string) => read(path)) as typeof readlinkSync)
  syncBuiltinESMExports()
  onTestFinished(() => {
    reading.mockRestore()
    syncBuiltinESMExports()
  })
}

test('a process is named by pid, start, boot and namespace', () => {
  const stat = readFileSync('/proc/self/stat', 'latin1')
  expect(self).toEqual({
    pid: process.pid,
    start_ticks: Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]),
    boot_id: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
    pid_namespace: readlinkSync('/proc/self/ns/pid'),
  })
  expect(readBootId()).toMatch(/^[0-9a-f-]{36}$/)
})

describe('such a name', () => {
  test.each<[string, Partial<ProcessIdentity>, string]>([
    ['is found', {}, 'runs'],
    ['without a namespace is found, too', { pid_namespace: undefined }, 'runs'],
    ['with another start is of a process that is gone', { start_ticks: 1 }, 'gone'],
    ['of another boot is of one that is gone', { boot_id: 'another' }, 'gone'],
    ['of another namespace says nothing', { pid_namespace: 'pid:[1]' }, 'unknown'],
    ['of another namespace and boot is of one that is gone', { pid_namespace: 'pid:[1]', boot_id: 'another' }, 'gone'],
  ])('%s', (_name, more, state) => {
    expect(lookAtProcess({ ...self, ...more })).toBe(state)
  })

  test('says nothing where /proc shows other numbers', () => {
    const namespace = readlinkSync('/proc/self/ns/pid')
    readLinks((path) => (path === '/proc/self' ? '1' : namespace))
    expect([lookAtProcess(self), lookAtProcess({ ...self, boot_id: 'another' })]).toEqual(['unknown', 'gone'])
    expect(signalProcess(self, 'SIGCONT')).toBe(false)
  })

  test('has no namespace where /proc hides it, and says nothing there', () => {
    readLinks(() => {
      throw new Error('there is no such link')
    })
    const hidden = identify(process.pid)
    expect(Object.keys(hidden)).toEqual(['pid', 'start_ticks', 'boot_id'])
    expect([lookAtProcess(hidden), lookAtProcess(self)]).toEqual(['unknown', 'unknown'])
  })

  test.each<[object, boolean]>([
    [{}, true],
    [{ pid: 1 }, true],
    [{ pid: 0 }, false],
    [{ pid: 1.5 }, false],
    [{ start_ticks: 0 }, true],
    [{ start_ticks: -1 }, false],
    [{ start_ticks: 0.5 }, false],
    [{ pid_namespace: undefined }, true],
    [{ boot_id: undefined }, false],
  ])('is read from a file with %j: %s', (more, isOne) => {
    expect(v.is(processIdentitySchema, { ...self, ...more })).toBe(isOne)
  })
})

test('a process that has ended is gone, also while nobody has collected it', async () => {
  const script = 'sleep 600 >/dev/null & echo $!; exec cat >/dev/null'
  const parent = spawn('/bin/sh', ['-c', script], { stdio: ['pipe', 'pipe', 'ignore'] })
  onTestFinished(() => void parent.kill('SIGKILL'))
  const [said] = (await once(parent.stdout, 'data')) as [Buffer]
  const pid = Number(said.toString())
  // A shell collects its children. What it becomes does not.
  await waitFor('the shell is gone', () => readFileSync(`/proc/${parent.pid}/comm`, 'utf8') === 'cat\n')
  process.kill(pid, 'SIGKILL')
  const stateOf = () => /\) (\S)/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.[1]
  await waitFor('it has ended', () => stateOf() === 'Z')
  expect(identifyProcess(pid)).toBeNull()
  expect(lookAtProcess({ ...self, pid })).toBe('gone')
})

test('the name of a program may look like what follows it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-process-'))
  onTestFinished(() => {
    rmSync(folder, { recursive: true })
  })
  const program = join(folder, 'a) Z (b')
  copyFileSync('/bin/cat', program)
  const { pid = 0 } = reader(program)
  expect(lookAtProcess(identify(pid))).toBe('runs')
})

describe('a signal', () => {
  test('ends exactly the process that is named', async () => {
    const child = reader()
    const ended = once(child, 'exit')
    const named = identify(child.pid ?? 0)
    expect(signalProcess({ ...named, start_ticks: named.start_ticks + 1 }, 'SIGKILL')).toBe(false)
    expect(signalProcess({ ...named, pid_namespace: 'pid:[1]' }, 'SIGKILL')).toBe(false)
    expect(signalProcess(named, 'SIGTERM')).toBe(true)
    expect((await ended)[1]).toBe('SIGTERM')
    expect(signalProcess(named, 'SIGTERM')).toBe(false)
  })

  test('that comes too late is none', () => {
    const killing = vi.spyOn(process, 'kill').mockImplementation(() => {
      throw Object.assign(new Error('ESRCH'), { code: 'ESRCH' })
    })
    onTestFinished(() => killing.mockRestore())
    expect(signalProcess(self, 'SIGTERM')).toBe(false)
  })
})
