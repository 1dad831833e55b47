import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  endGuarded,
  endMarkedProcesses,
  findSupervisor,
  limitMarkOf,
  markedProcesses,
} from '../../../runner-agent/src/playbook/process-tree.js'
import { holdClock } from '../../agent/held-clock.js'

/** How the processes of a job are found in a `/proc` that the test writes, and which of them are ended. */
const OURS = 'a1'.repeat(16)
const MARK = `HOLDFAST_JOB_MARKER=${OURS}`
const limitsOf = (locks: number | string): string =>
  `Limit                     Soft Limit           Hard Limit           Units     \nMax file locks            ${locks}     unlimited            locks     \n`
const LIMIT = limitsOf(limitMarkOf(OURS))

/** What can be read of a process. What is not named is empty. */
interface Shown {
  readonly environ?: string
  readonly limits?: string
  readonly cmdline?: string
  /** As its `stat` has it: `Z` is a zombie. */
  readonly state?: string
}

let killed: number[]
let shown: Record<number, Shown>
/** Reading such a file fails with that code. */
let failing: { readonly file: string; readonly code: string } | null

beforeEach(() => {
  killed = []
  shown = {}
  failing = null
  const read = fs.readFileSync
  const spies = [
    vi.spyOn(process, 'kill').mockImplementation((pid) => {
      killed.push(pid)
      return true
    }),
    vi.spyOn(fs, 'readdirSync').mockImplementation((() => ['1x', 'self', ...Object.keys(shown), 'meminfo']) as never),
    vi.spyOn(fs, 'readFileSync').mockImplementation(((path: string, options: never) => {
      const [, pid, file] = /^\/proc\/(\d+|self)\/(environ|limits|cmdline|stat)$/.exec(path) ?? []
      if (pid === undefined || file === undefined) return read(path, options)
      const found = shown[pid === 'self' ? process.pid : Number(pid)]
      if (found === undefined) throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' })
      if (failing?.file === file) throw Object.assign(new Error(failing.code), { code: failing.code })
      if (file === 'stat') return `${pid} (a name) ${found.state ?? 'S'} ${'1 '.repeat(30)}`
      return Buffer.from(found[file as 'environ' | 'limits' | 'cmdline'] ?? '')
    }) as never),
  ]
  syncBuiltinESMExports()
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore()
    syncBuiltinESMExports()
  })
})

describe('a process', () => {
  test.each<[string, boolean, Shown]>([
    ['with the marker as its only variable', true, { environ: `${MARK}\0` }],
    ['with the marker before others', true, { environ: `${MARK}\0A=1\0` }],
    ['with the marker behind others', true, { environ: `A=1\0${MARK}\0` }],
    ['with the limit alone', true, { limits: LIMIT }],
    ['with the marker of another job', false, { environ: `HOLDFAST_JOB_MARKER=${'b2'.repeat(16)}\0` }],
    ['with the marker as a part of another variable', false, { environ: `X${MARK}\0` }],
    ['with a longer marker', false, { environ: `${MARK}0\0` }],
    ['with another limit', false, { limits: limitsOf(limitMarkOf('b2'.repeat(16))) }],
    ['without a limit', false, { limits: limitsOf('unlimited') }],
    ['that has ended and that nobody collects', false, { environ: `${MARK}\0`, limits: LIMIT, state: 'Z' }],
  ])('%s is one of the job: %s', (_, isOurs, what) => {
    shown = { 4711: what }
    expect(markedProcesses(OURS)).toEqual(isOurs ? [4711] : [])
    // A zombie needs no end. The kernel does nothing about it.
    if (what.state !== undefined) return
    endGuarded(4711, OURS)
    expect(killed).toEqual(isOurs ? [4711] : [])
  })

  test('of the host or of the agent is never ended, whatever marks it has', () => {
    const marked = { environ: `${MARK}\0`, limits: LIMIT }
    shown = { 1: marked, [process.pid]: marked, [process.ppid]: marked, 2: marked }
    expect(markedProcesses(OURS)).not.toContain(process.pid)
    for (const pid of [-1, 0, 1, process.pid, process.ppid]) endGuarded(pid, OURS)
    expect(killed).toEqual([])
    endGuarded(2, OURS)
    expect(killed).toEqual([2])
  })

  test('that ends just before its signal is no failure', () => {
    shown = { 4711: { limits: LIMIT } }
    vi.mocked(process.kill).mockImplementationOnce(() => {
      throw Object.assign(new Error('ESRCH'), { code: 'ESRCH' })
    })
    endGuarded(4711, OURS)
  })

  test.each(['EMFILE', 'ENFILE', 'ENOMEM', 'EIO', 'ETIMEDOUT'])(
    'that cannot be read now (%s) is not taken for another one',
    (code) => {
      shown = { 4711: { environ: `${MARK}\0`, limits: LIMIT } }
      for (const file of ['environ', 'limits']) {
        failing = { file, code }
        expect(() => {
          endGuarded(4711, OURS)
        }).toThrow(code)
      }
      failing = { file: 'environ', code }
      expect(() => markedProcesses(OURS)).toThrow(code)
      failing = { file: 'cmdline', code }
      expect(() => findSupervisor(`1-${OURS}`)).toThrow(code)
      expect(killed).toEqual([])
    },
  )

  test.each(['EACCES', 'ESRCH', 'ENOENT'])('of another user, or one that has gone (%s), is passed over', (code) => {
    shown = { 4711: { environ: `${MARK}\0` } }
    failing = { file: 'environ', code }
    expect(markedProcesses(OURS)).toEqual([])
    endGuarded(4711, OURS)
    expect(killed).toEqual([])
  })
})

describe('the supervisor of a job', () => {
  const NAME = `1-${OURS}`

  test.each<[string, boolean, string[]]>([
    ['by the folder of the job', true, ['python3', '-I', '/agent/supervisor.py', `/spool/${NAME}`, 'secrets']],
    ['also where the kernel starts it as a program', true, ['/agent/supervisor.py', `/spool/${NAME}`]],
    ['but not by the folder of another job', false, ['python3', '/agent/supervisor.py', `/spool/2-${OURS}`]],
    ['but not by a longer name', false, ['python3', '/agent/supervisor.py', `/spool/1${NAME}`]],
    ['but not by another program', false, ['python3', '/agent/other.py', `/spool/${NAME}`]],
    ['but not by an earlier word', false, ['python3', `/spool/${NAME}`, '/agent/supervisor.py']],
    ['but not without a folder', false, ['python3', '/agent/supervisor.py']],
  ])('is found %s: %s', (_, isFound, words) => {
    shown = { 4711: { cmdline: 'other\0' }, 4712: { cmdline: `${words.join('\0')}\0` } }
    expect(findSupervisor(NAME)?.pid ?? null).toBe(isFound ? 4712 : null)
  })

  test('is not one that has ended', () => {
    const cmdline = `python3\0/agent/supervisor.py\0/spool/${NAME}\0`
    shown = { 4711: { cmdline, state: 'Z' } }
    expect(findSupervisor(NAME)).toBeNull()
    shown = { 4711: { cmdline, state: 'Z' }, 4712: { cmdline } }
    expect(findSupervisor(NAME)?.pid).toBe(4712)
  })
})

describe('processes of a job that do not end', () => {
  let pauses: number

  beforeEach(() => {
    pauses = 0
    shown = { 4711: { environ: `${MARK}\0` } }
    const clock = holdClock({ performance: true, timers: true })
    const pausing = vi.spyOn(timers, 'setTimeout').mockImplementation(((milliseconds: number) => {
      pauses += 1
      clock.move(milliseconds)
      return Promise.resolve()
    }) as never)
    syncBuiltinESMExports()
    onTestFinished(() => {
      pausing.mockRestore()
      syncBuiltinESMExports()
    })
  })

  test.each([
    ['at once', 0, 0],
    ['after a pause', 50, 1],
    ['after two pauses, the second beyond the time', 51, 2],
  ])('are told %s', async (_, boundMs, expected) => {
    expect(await endMarkedProcesses(OURS, boundMs)).toEqual([4711])
    expect([killed.length, pauses]).toEqual([expected, expected])
  })

  test('are told after two thousand tries, however long the time is', async () => {
    expect(await endMarkedProcesses(OURS, Infinity)).toEqual([4711])
    expect(killed).toHaveLength(2000)
  })
})
