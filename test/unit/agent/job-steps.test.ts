import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { unknown } from '../../../runner-agent/src/host/fact.js'
import { identifyProcess } from '../../../runner-agent/src/host/processes.js'
import {
  askAbort,
  endUnstarted,
  forceAbort,
  startJob,
  type StepServices,
} from '../../../runner-agent/src/jobs/steps.js'
import { createJobFolder } from '../../../runner-agent/src/spool/job-folder.js'
import { orderOf } from '../../agent/playbooks.js'
import { errorOf } from './one-job.js'

/** The single steps of a job: what each does with processes and files, and what it says of a failure. */
// Processes are found by it on the whole host, where other tests run, too.
const RUN_ID = randomBytes(16).toString('hex')

function jobFolder() {
  const parent = mkdtempSync(join(tmpdir(), 'holdfast-job-steps-'))
  onTestFinished(() => {
    rmSync(parent, { recursive: true })
  })
  const folder = createJobFolder(join(parent, `1-${RUN_ID}`), { jobId: 1, runId: RUN_ID })
  mkdirSync(folder.path)
  return folder
}

/** A process of this host, and what a started.json says of it. */
function sleeper(environment: Record<string, string> = {}): { child: ChildProcess; started: object } {
  const child = spawn('sleep', ['600'], { stdio: 'ignore', env: { PATH: process.env['PATH'], ...environment } })
  onTestFinished(() => void child.kill('SIGKILL'))
  return { child, started: { ...identifyProcess(child.pid ?? 0), time: '' } }
}

describe('asking for an abort', () => {
  test('notes when it was asked for, once, and tells the supervisor', async () => {
    const folder = jobFolder()
    const { child, started } = sleeper()
    writeFileSync(folder.file('started.json'), JSON.stringify(started))
    const exit = once(child, 'exit')
    expect(await askAbort(folder, new Date(0))).toBe(true)
    expect(await exit).toEqual([null, 'SIGTERM'])
    expect(await askAbort(folder, new Date(1))).toBe(false)
    expect(JSON.parse(readFileSync(folder.file('abort.json'), 'utf8'))).toEqual({ time: '1970-01-01T00:00:00.000Z' })
  })

  test('tells nobody when no supervisor was started, or when an agent has the start', async () => {
    const folder = jobFolder()
    expect(await askAbort(folder, new Date(0))).toBe(false)
    const { child, started } = sleeper()
    writeFileSync(folder.file('started.json'), JSON.stringify({ ...started, by: 'agent' }))
    expect(await askAbort(folder, new Date(0))).toBe(false)
    expect(child.signalCode).toBeNull()
    expect(folder.look('abort.json').kind).toBe('present')
  })

  test('fails when it cannot be known whether it is noted already, and when it cannot be noted', async () => {
    const folder = jobFolder()
    const unseen = { ...folder, look: () => unknown('EIO') }
    await expect(askAbort(unseen, new Date(0))).rejects.toThrow('abort.json cannot be looked at: EIO')
    expect(existsSync(folder.file('abort.json'))).toBe(false)
    rmSync(folder.path, { recursive: true })
    await expect(askAbort(folder, new Date(0))).rejects.toMatchObject({ code: 'ENOENT' })
  })
})

describe('ending the processes of a job by force', () => {
  test('leaves its supervisor alone, or ends it, too', async () => {
    const folder = jobFolder()
    const supervisor = sleeper()
    writeFileSync(folder.file('started.json'), JSON.stringify(supervisor.started))
    let kills = 0
    const kill = (): void => void (kills += 1)
    const ended = once(sleeper({ HOLDFAST_JOB_MARKER: RUN_ID }).child, 'exit')
    expect(await forceAbort(folder, new Date(0), false, kill)).toEqual([])
    expect(await ended).toEqual([null, 'SIGKILL'])
    expect([supervisor.child.signalCode, kills]).toEqual([null, 0])
    expect(JSON.parse(readFileSync(folder.file('abort-forced.json'), 'utf8'))).toHaveProperty('time')
    const exit = once(supervisor.child, 'exit')
    expect(await forceAbort(folder, new Date(0), true, kill)).toEqual([])
    expect([await exit, kills]).toEqual([[null, 'SIGKILL'], 1])
  })

  test('goes on when nobody can be named, and when it cannot be noted', async () => {
    const folder = jobFolder()
    rmSync(folder.path, { recursive: true })
    const ended = once(sleeper({ HOLDFAST_JOB_MARKER: RUN_ID }).child, 'exit')
    expect(await forceAbort(folder, new Date(0), true, null)).toEqual([])
    expect(await ended).toEqual([null, 'SIGKILL'])
  })
})

describe('a start', () => {
  const services = (openSecrets: StepServices['openSecrets'], change: object = {}): StepServices => ({
    now: () => new Date(0),
    bootId: 'this boot',
    playbook: {
      localFolder: tmpdir(),
      environment: {},
      passEnvironment: [],
      pythonProblem: 'this host has no Python',
      galaxy: null,
      container: null,
      python: '/none',
      callbackFolder: '/none',
      isolation: { kind: 'none' },
      sockets: { folderOf: () => '/none', remove: () => Promise.resolve() },
      ...change,
    },
    supervisor: { python: '/none', script: '/none' },
    openSecrets,
    releaseUser: () => Promise.resolve([]),
    giveUp: () => Promise.resolve(),
  })
  const claim = {
    order: orderOf('0'.repeat(64)),
    claimed_at: '',
    boot_id: 'this boot',
    service: `SHA256:${'a'.repeat(43)}`,
  }
  const failing = (error: unknown) => () => {
    throw error
  }

  test.each(['ENOSPC', 'EDQUOT', 'EROFS', 'ENOENT', 'EMFILE', 'EIO'])(
    'that fails with %s says nothing about the job: it is tried again',
    async (code) => {
      const error = errorOf(code)
      await expect(startJob(jobFolder(), services(failing(error)), claim)).rejects.toBe(error)
    },
  )

  test.each([
    [errorOf('EINVAL'), 'the start failed: EINVAL: the system says no'],
    ['some words', 'the start failed: some words'],
  ])('that fails otherwise (%s) ends the job', async (error, message) => {
    expect(await startJob(jobFolder(), services(failing(error)), claim)).toEqual({
      kind: 'refused',
      end: { cause: 'not_started', message },
    })
  })

  test('of an order that cannot be carried out here ends the job with the reason itself', async () => {
    expect(
      await startJob(
        jobFolder(),
        services(() => null),
        claim,
      ),
    ).toEqual({
      kind: 'refused',
      end: { cause: 'not_started', message: 'this host has no Python' },
    })
  })

  test('is taken by the agent when it ends an unstarted job, unless somebody else has it', async () => {
    const [own, other] = [jobFolder(), jobFolder()]
    const end = { cause: 'aborted', message: 'before its start' } as const
    expect(
      await endUnstarted(
        own,
        services(() => null),
        end,
      ),
    ).toMatchObject({ ...end, aborted: true })
    expect([own.started(), own.end()]).toMatchObject([{ content: { by: 'agent' } }, { content: end }])
    writeFileSync(other.file('started.json'), '{}')
    expect(
      await endUnstarted(
        other,
        services(() => null),
        end,
      ),
    ).toBeNull()
    expect(other.end().kind).toBe('absent')
  })

  test('writes the whole plan before the supervisor, which gets the secrets', async () => {
    const folder = jobFolder()
    const bin = jobFolder().path
    writeFileSync(join(bin, 'ansible-playbook'), '')
    writeFileSync(join(bin, 'site.yml'), '[]')
    const python = join(bin, 'shell')
    writeFileSync(python, '#!/bin/sh\n[ -s "$4/supervisor.json" ] && echo planned\necho "$5"\ncat > "$4/got"\n')
    for (const name of ['ansible-playbook', 'shell']) chmodSync(join(bin, name), 0o755)
    const path = `${bin}:${process.env['PATH'] ?? ''}`
    const given = { pythonProblem: null, localFolder: bin, environment: { PATH: path } }
    const secrets = {
      variables: {},
      extravars: { password: 'it is secret' },
      key_files: [],
      vault_password: null,
      vaults: [],
      hidden: [],
      origins: [],
    }
    const said = async (open: StepServices['openSecrets']): Promise<string[]> => {
      const set = { ...services(open, given), supervisor: { python, script: 'none' } }
      const outcome = await startJob(folder, set, claim)
      if (outcome.kind !== 'started') throw new Error(outcome.end.message ?? '')
      await outcome.supervisor.ended
      const lines = readFileSync(folder.file('supervisor.log'), 'utf8').split('\n')
      rmSync(folder.file('supervisor.log'))
      return [...lines.slice(0, 2), readFileSync(join(folder.path, 'got'), 'utf8')]
    }
    expect(await said(() => null)).toEqual(['planned', '', ''])
    const [planned, option, got] = await said(() => secrets)
    expect([planned, option]).toEqual(['planned', 'secrets'])
    expect(got).toContain('it is secret')
  })
})
