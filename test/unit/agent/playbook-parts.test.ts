import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { ANSIBLE_PARTS } from '../../../runner-agent/src/package-info.js'
import {
  composePlaybook,
  playbookAccess,
  type PlaybookComposition,
  programIn,
} from '../../../runner-agent/src/playbook/compose.js'
import type { HostPython } from '../../../runner-agent/src/playbook/host-python.js'

/** With what playbooks are started, and what of the host they must be able to use. */
const SETTINGS: Omit<PlaybookComposition, 'statePath'> = {
  localFolder: null,
  passEnvironment: ['AWS_*'],
  galaxySeconds: null,
  container: null,
}
let base: string
let bin: string
let lines: string[]

beforeEach(() => {
  lines = []
  base = mkdtempSync(join(tmpdir(), 'holdfast-parts-'))
  onTestFinished(() => {
    rmSync(base, { recursive: true })
  })
  bin = join(base, 'bin')
  mkdirSync(bin)
})

function program(name: string, text = '#!/bin/sh\n'): string {
  writeFileSync(join(bin, name), text)
  chmodSync(join(bin, name), 0o755)
  return join(bin, name)
}

const pythonOf = (change: Partial<HostPython>): HostPython => ({
  path: '/opt/python',
  problem: null,
  locale: null,
  localeDoubt: null,
  ...change,
})

function compose(change: Partial<PlaybookComposition> = {}) {
  const python = { now: pythonOf({}), close: () => undefined }
  const isolation: { now: Parameters<typeof composePlaybook>[2]['isolation']['now'] } = { now: { kind: 'none' } }
  const ground = {
    log: pino({}, { write: (line) => void lines.push((JSON.parse(line) as { msg: string }).msg) }),
    environment: { PATH: bin, HOME: base },
  }
  const settings = { ...SETTINGS, statePath: base, ...change }
  return {
    ...composePlaybook(ground as never, settings, { python, isolation }),
    hostPython: python,
    hostIsolation: isolation,
  }
}

describe('the settings of a start', () => {
  test('are those of the agent', () => {
    const { playbook, supervisor } = compose({ localFolder: '/playbooks' })
    expect(playbook).toMatchObject({
      localFolder: '/playbooks',
      passEnvironment: ['AWS_*'],
      container: null,
      callbackFolder: ANSIBLE_PARTS.callbackFolder,
      galaxy: null,
    })
    expect(playbook.sockets.folderOf('a'.repeat(32))).toContain('a'.repeat(12))
    expect(supervisor.script).toBe(ANSIBLE_PARTS.supervisor)
  })

  test('follow what is found on the host meanwhile', () => {
    const { playbook, supervisor, hostPython, hostIsolation } = compose()
    expect([playbook.python, playbook.pythonProblem, supervisor.python]).toEqual(['/opt/python', null, '/opt/python'])
    expect(playbook.environment).toEqual({ PATH: bin, HOME: base })
    hostPython.now = pythonOf({ path: '/other/python', problem: 'it is too old', locale: 'C.UTF-8' })
    hostIsolation.now = { kind: 'unavailable', problem: 'no users' }
    expect([playbook.python, playbook.pythonProblem, supervisor.python]).toEqual([
      '/other/python',
      'it is too old',
      '/other/python',
    ])
    expect(playbook.environment).toEqual({ PATH: bin, HOME: base, LC_ALL: 'C.UTF-8' })
    expect(playbook.isolation).toEqual({ kind: 'unavailable', problem: 'no users' })
  })

  test('install what a folder requires only where the operator wants that', () => {
    expect(compose({ galaxySeconds: 60 }).playbook.galaxy).toEqual({
      cache: join(base, 'cache', 'galaxy'),
      seconds: 60,
      script: ANSIBLE_PARTS.requirements,
    })
  })

  test('remove containers only where playbooks run in them', async () => {
    expect(compose().removeContainer).toBeNull()
    program('podman', '#!/bin/sh\nexit 1\n')
    await compose({ container: { image: null, options: [] } }).removeContainer?.('r1')
    expect(lines).toEqual(['podman cannot remove the container of a job'])
  })
})

test('the version of ansible is known after it was asked for, and a missing one is told', async () => {
  const { ansible } = compose()
  expect(ansible.version).toBeNull()
  await ansible.readVersion()
  expect([ansible.version, lines]).toEqual([
    null,
    ['ansible-playbook was not found or does not answer; jobs will fail'],
  ])
  program('ansible-playbook', '#!/bin/sh\necho "ansible-playbook [core 2.19.1]"\n')
  await ansible.readVersion()
  expect([ansible.version, lines.length]).toEqual(['2.19.1', 1])
})

describe('a playbook must be able', () => {
  const accessOf = (localFolder: string | null, galaxySeconds: number | null) =>
    playbookAccess({ PATH: bin }, { localFolder, galaxySeconds }, '/opt/python')

  test('to read the callback, and the playbooks of the host where they are there', () => {
    expect(accessOf(null, null)).toEqual({ read: [ANSIBLE_PARTS.callbackFolder], run: [] })
    expect(accessOf('/playbooks', null).read).toEqual([ANSIBLE_PARTS.callbackFolder, '/playbooks'])
  })

  test('to run ansible, and to install what its folder requires where that is wanted', () => {
    const [playbook, galaxy] = [program('ansible-playbook'), program('ansible-galaxy')]
    expect(accessOf(null, null).run).toEqual([playbook])
    expect(accessOf(null, 60)).toEqual({
      read: [ANSIBLE_PARTS.callbackFolder, ANSIBLE_PARTS.requirements],
      run: [playbook, galaxy, '/opt/python'],
    })
  })

  test('to run no program that is not there', () => {
    expect([programIn(bin, 'ansible-galaxy'), programIn(undefined, 'ansible-playbook')]).toEqual([[], []])
    expect(accessOf(null, 60).run).toEqual(['/opt/python'])
  })
})
