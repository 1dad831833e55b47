import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { identifyProcess, lookAtProcess, signalProcess } from '../../../runner-agent/src/host/processes.js'
import { endGuarded, endMarkedProcesses, markedProcesses } from '../../../runner-agent/src/playbook/process-tree.js'

/** Which processes of a host are those of a job, and are ended. A wrong one would be a process of somebody else. */
const OURS = 'a1'.repeat(16)
const OTHERS = 'b2'.repeat(16)
const mark = (runId: string): string => `HOLDFAST_JOB_MARKER=${runId}`

/** A process that ends with its input, and so with this test. It has begun when it says so. */
async function processOf(...variables: string[]): Promise<ChildProcess & { pid: number }> {
  const program = ['-i', `PATH=${process.env.PATH}`, ...variables, '/bin/sh', '-c', 'echo begun; exec cat >/dev/null']
  const child = spawn('env', program, { stdio: ['pipe', 'pipe', 'ignore'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return child as typeof child & { pid: number }
}

describe('the processes of a job', () => {
  test.each([
    ['the marker behind other variables', ['A=1', mark(OURS)], true],
    ['the marker of another job', [mark(OTHERS)], false],
    ['the marker as a part of another variable', [`X${mark(OURS)}`, `OTHER=${mark(OURS)}`], false],
    ['a longer marker', [`${mark(OURS)}0`], false],
  ])('with %s: %s', async (_, variables, isOurs) => {
    const { pid } = await processOf(...variables)
    expect(markedProcesses(OURS).includes(pid)).toBe(isOurs)
  })

  test('are ended, and no others', async () => {
    const [ours, others] = await Promise.all([processOf(mark(OURS)), processOf(mark(OTHERS))])
    const isEnded = once(ours, 'exit')
    expect(await endMarkedProcesses(OURS, 60_000)).toEqual([])
    expect((await isEnded)[1]).toBe('SIGKILL')
    expect(markedProcesses(OTHERS)).toEqual([others.pid])
  })

  test.each(['', '1', 'A1'.repeat(16), `${OURS}0`])('are not looked for by the marker %j', async (marker) => {
    await expect(endMarkedProcesses(marker, 60_000)).rejects.toThrow('is no run id')
  })

  test('are never the first process, the agent, its parent, or one of another job', async () => {
    const { pid } = await processOf(mark(OTHERS))
    const killing = vi.spyOn(process, 'kill').mockReturnValue(true)
    onTestFinished(() => killing.mockRestore())
    for (const wrong of [-1, 0, 1, process.pid, process.ppid, pid]) endGuarded(wrong, OURS)
    expect(killing).not.toHaveBeenCalled()
    endGuarded(pid, OTHERS)
    expect(killing).toHaveBeenCalledTimes(1)
  })
})

describe('the name of a process', () => {
  test.each([
    [{}, 'runs'],
    [{ pid_namespace: undefined }, 'runs'],
    [{ start_ticks: 1 }, 'other'],
    [{ boot_id: 'another' }, 'other'],
    [{ pid_namespace: 'pid:[1]' }, 'unknown'],
    [{ pid_namespace: 'pid:[1]', boot_id: 'another' }, 'other'],
  ])('with %j is of one that is %s, and only one that runs gets a signal', async (more, state) => {
    const child = await processOf()
    const isEnded = once(child, 'exit')
    const name = { ...identifyProcess(child.pid), ...more } as NonNullable<ReturnType<typeof identifyProcess>>
    expect(lookAtProcess(name)).toBe(state)
    expect(signalProcess(name, 'SIGTERM')).toBe(state === 'runs')
    if (state === 'runs') expect((await isEnded)[1]).toBe('SIGTERM')
  })
})
