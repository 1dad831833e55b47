import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { endGuarded, endMarkedProcesses, markedProcesses } from '../../../runner-agent/src/playbook/process-tree.js'
import { identifyProcess, lookAtProcess } from '../../../runner-agent/src/host/processes.js'

/** From now on reading a file fails with this code, until the test is finished. */
function failToRead(code: string): void {
  const reading = vi.spyOn(fs, 'readFileSync').mockImplementation(() => {
    throw Object.assign(new Error(code), { code })
  })
  syncBuiltinESMExports()
  onTestFinished(() => {
    reading.mockRestore()
    syncBuiltinESMExports()
  })
}

test('a process that cannot be checked does not count as gone, because its job would be ended as lost', () => {
  const self = identifyProcess(process.pid)
  if (!self) throw new Error('this process is not found')
  expect(lookAtProcess(self)).toBe('runs')
  failToRead('EMFILE')
  expect(() => lookAtProcess(self)).toThrow('EMFILE')
})

test('a process without an entry in /proc is gone', () => {
  const self = identifyProcess(process.pid)
  if (!self) throw new Error('this process is not found')
  failToRead('ENOENT')
  expect(lookAtProcess(self)).toBe('gone')
})

describe('ending what is left of a job', () => {
  const OURS = 'a1'.repeat(16)
  const OTHERS = 'b2'.repeat(16)

  /** A process that ends with its input, and so with this test. It has begun when it says so. */
  async function processOf(environment: Readonly<Record<string, string>>): Promise<ChildProcess> {
    const child = spawn('/bin/sh', ['-c', 'echo begun; exec cat >/dev/null'], {
      env: { PATH: process.env.PATH, ...environment },
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    if (child.stdout) await once(child.stdout, 'data')
    return child
  }

  test('ends the processes with its marks and no others', async () => {
    const [ours, others, like] = await Promise.all([
      processOf({ HOLDFAST_JOB_MARKER: OURS }),
      processOf({ HOLDFAST_JOB_MARKER: OTHERS }),
      processOf({ HOLDFAST_JOB_MARKER: `${OURS}0`, OTHER: `HOLDFAST_JOB_MARKER=${OURS}` }),
    ])
    const isEnded = once(ours, 'exit')
    // Nothing is ended when there is no time for it.
    expect(await endMarkedProcesses(OURS, 0)).toEqual([ours.pid])
    expect(await endMarkedProcesses(OURS, 60_000)).toEqual([])
    expect((await isEnded)[1]).toBe('SIGKILL')
    expect(markedProcesses(OTHERS)).toEqual([others.pid])
    expect([others.signalCode, like.signalCode]).toEqual([null, null])
    expect(identifyProcess(like.pid ?? 0)).not.toBeNull()
  })

  test.each(['', '1', 'a'.repeat(31), 'A1'.repeat(16), `${OURS}0`])('refuses the marker %j', async (marker) => {
    await expect(endMarkedProcesses(marker, 60_000)).rejects.toThrow('is no run id')
  })

  test('does not end processes of a wrong list: the first process, the agent, its parent, and others', async () => {
    const child = await processOf({ HOLDFAST_JOB_MARKER: OTHERS })
    const killed: unknown[] = []
    const killing = vi.spyOn(process, 'kill').mockImplementation((pid) => {
      killed.push(pid)
      return true
    })
    onTestFinished(() => killing.mockRestore())
    for (const pid of [-1, 0, 1, process.pid, process.ppid, child.pid ?? 0]) endGuarded(pid, OURS)
    expect(killed).toEqual([])
    endGuarded(child.pid ?? 0, OTHERS)
    expect(killed).toEqual([child.pid])
  })
})
