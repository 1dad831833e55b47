import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createLog, type Logger } from '../../../runner-agent/src/log.js'
import {
  containerCommand,
  environmentOfContainer,
  environmentOfPodman,
  removeContainer,
} from '../../../runner-agent/src/playbook/container.js'
import { readSettings } from '../../../runner-agent/src/settings.js'

const settingsOf = (environment: Record<string, string>) =>
  readSettings(
    { environment: { APP_URL: 'https://forms.example.com', ...environment }, flags: {}, readFile: () => '' },
    '/',
  )

/** The log of an agent, and what is in it. */
function heldLog(): { log: Logger; lines: () => string } {
  const output = new PassThrough()
  return { log: createLog({ level: 'info', format: 'json', output }), lines: () => String(output.read() ?? '') }
}

describe('playbooks in containers', () => {
  test('have a command line without values of variables, with keys as open files', () => {
    const job = {
      runId: 'r1',
      image: 'team/ansible:1',
      cwd: '/spool/work',
      folders: ['/spool'],
      readFolders: ['/agent'],
      keyFiles: 2,
      environment: { TOKEN: 'a value' },
    }
    const words = containerCommand('/usr/bin/podman', job, { image: null, options: ['--network=host'] })
    expect(words.join(' ')).not.toContain('a value')
    expect(words).toEqual(
      expect.arrayContaining([
        '--env=TOKEN',
        '--volume=/spool:/spool',
        '--volume=/agent:/agent:ro',
        '--preserve-fds=2',
      ]),
    )
    expect(words.slice(-3)).toEqual(['--network=host', '--entrypoint=ansible-playbook', 'team/ansible:1'])
    expect(() => containerCommand('podman', { ...job, folders: ['/a:b'] }, { image: null, options: [] })).toThrow(
      'colon',
    )
  })

  test('have no more on their command line than that', () => {
    const job = { runId: 'r1', image: 'i', cwd: '/w', folders: ['/w'], readFolders: [], keyFiles: 0, environment: {} }
    expect(containerCommand('podman', job, { image: null, options: [] })).toEqual([
      'podman',
      'run',
      '--rm',
      '--name=holdfast-r1',
      '--log-driver=passthrough',
      '--user=0:0',
      '--security-opt=label=disable',
      '--workdir=/w',
      '--volume=/w:/w',
      '--entrypoint=ansible-playbook',
      'i',
    ])
  })

  test('are run by a podman that gets what it needs, and no secrets of the agent', () => {
    const needed = {
      PATH: '/bin',
      XDG_RUNTIME_DIR: '/run/1',
      CONTAINERS_CONF: '/c',
      CONTAINER_HOST: 'h',
      https_proxy: 'p',
    }
    expect(environmentOfPodman({ ...needed, RTE_JOIN_TOKEN: 'x', LANG: 'de', HOME: undefined })).toEqual(needed)
  })

  test.each([
    ['a podman that can remove it', 0, ''],
    ['a podman that cannot: that is noted', 1, 'podman cannot remove the container of a job'],
  ])('are removed after their end by %s', async (_, status, noted) => {
    const bin = mkdtempSync(join(tmpdir(), 'holdfast-podman-'))
    onTestFinished(() => {
      rmSync(bin, { recursive: true })
    })
    const words = join(bin, 'words')
    writeFileSync(join(bin, 'podman'), `#!/bin/sh\n{ echo "$@"; /usr/bin/env; } > ${words}\nexit ${status}\n`, {
      mode: 0o755,
    })
    process.env['HOLDFAST_TEST_OF_AGENT'] = 'of the agent'
    onTestFinished(() => {
      delete process.env['HOLDFAST_TEST_OF_AGENT']
    })
    const { log, lines } = heldLog()
    await removeContainer('r1', { PATH: bin }, log)
    const told = readFileSync(words, 'utf8')
    expect(told.split('\n', 1)).toEqual(['rm --force --ignore --time=0 holdfast-r1'])
    expect(told).not.toContain('HOLDFAST_TEST_OF_AGENT')
    if (noted === '') expect(lines()).toBe('')
    else expect(lines()).toContain(noted)
  })

  test('have no paths of the host in their environment', () => {
    const inside = environmentOfContainer({ PATH: '/x', HOME: '/h', LANG: 'de', ANSIBLE_FORKS: '3', AWS_REGION: 'r' })
    expect(inside).toEqual({ ANSIBLE_FORKS: '3', AWS_REGION: 'r', LC_ALL: 'C.UTF-8', PYTHONUNBUFFERED: '1' })
  })

  test('are a setting that excludes users of jobs and installed requirements', () => {
    expect(settingsOf({}).container).toBeNull()
    expect(settingsOf({ RTE_EXECUTION: 'podman', RTE_EXECUTION_OPTIONS: ' -a  -b ' }).container).toEqual({
      image: null,
      options: ['-a', '-b'],
    })
    const users = { RTE_ISOLATION: 'user', RTE_ISOLATION_USERS: 'nobody' }
    expect(() => settingsOf({ RTE_EXECUTION: 'podman', ...users })).toThrow('RTE_ISOLATION: must be none')
    expect(() => settingsOf({ RTE_EXECUTION: 'podman', RTE_GALAXY: 'on' })).toThrow('RTE_GALAXY: must be off')
    expect(() => settingsOf({ RTE_EXECUTION: 'podman', RTE_EXECUTION_IMAGE: '-v' })).toThrow('RTE_EXECUTION_IMAGE')
  })
})
