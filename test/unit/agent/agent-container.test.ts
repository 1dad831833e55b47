import { describe, expect, test } from 'vitest'
import { containerCommand, environmentOfContainer } from '../../../runner-agent/src/playbook/container.js'
import { readSettings } from '../../../runner-agent/src/settings.js'

const settingsOf = (environment: Record<string, string>) =>
  readSettings(
    { environment: { APP_URL: 'https://forms.example.com', ...environment }, flags: {}, readFile: () => '' },
    '/',
  )

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
