import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  OrderRefusedError,
  playbookArguments,
  type PlaybookRoot,
  workingFolder,
} from '../../../runner-agent/src/playbook/command-line.js'
import { playbookEnvironment } from '../../../runner-agent/src/playbook/environment.js'
import { extravarsYaml } from '../../../runner-agent/src/playbook/extravars-text.js'
import { readPassedNames } from '../../../runner-agent/src/playbook/passed-environment.js'
import { extravarsText } from '../../../runner-agent/src/playbook/plan.js'
import { CONTROL_PLANE_SETTINGS } from '../../../control-plane/src/settings-table.js'
import { RUNNER_AGENT_SETTINGS as AGENT_SETTINGS } from '../../../runner-agent/src/settings-table.js'
import { orderOf } from '../../agent/playbooks.js'

/** The author of the form says it, no user. */
const AUTHOR = { inventory: true, limit: true }

let folder: string
let root: PlaybookRoot

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-playbook-'))
  root = { path: join(folder, 'work'), confined: true }
  mkdirSync(join(root.path, 'plays', 'inventories'), { recursive: true })
  mkdirSync(join(root.path, 'inventories'))
  for (const path of ['site.yml', '-e.yml', 'plays/site.yml', 'plays/inventories/near', 'inventories/far', '@hosts']) {
    writeFileSync(join(root.path, path), '')
  }
  writeFileSync(join(folder, 'outside.yml'), '')
  symlinkSync(join(folder, 'outside.yml'), join(root.path, 'link.yml'))
})

afterAll(() => {
  rmSync(folder, { recursive: true })
})

const argumentsOf = (change: Parameters<typeof orderOf>[1], subPath: string | null = null): string[] => {
  const order = orderOf('0'.repeat(64), { inventory: [], ...change })
  return playbookArguments(order, root, workingFolder(root, subPath), '/job/extravars.json')
}

describe('the command line', () => {
  test('has the order of the specification', () => {
    const tags = { tags: 'a,b', skip_tags: 'c' }
    const all = { inventory: ['web1,web2,'], ...tags, check: true, diff: true, verbose: true, limit: 'web1' }
    expect(argumentsOf(all)).toEqual([
      '-e',
      '@/job/extravars.json',
      '--inventory=web1,web2,',
      '--tags=a,b',
      '--skip-tags=c',
      '--check',
      '--diff',
      '-vvv',
      '--limit=web1',
      'site.yml',
    ])
    expect(argumentsOf({ verbose: true, verbosity: 2 })).toContain('-vvv')
    expect(argumentsOf({ verbosity: 4 })).toContain('-vvvv')
    expect(argumentsOf({ tags: '', limit: null })).toEqual(['-e', '@/job/extravars.json', 'site.yml'])
  })

  test('no value becomes an option', () => {
    for (const change of [{ inventory: ['--become,'] }, { tags: '--x' }, { skip_tags: '-x' }, { limit: '-C' }]) {
      expect(() => argumentsOf(change)).toThrow(OrderRefusedError)
    }
    expect(() => argumentsOf({ playbook: '-e.yml' })).toThrow('cannot be a part of a path')
  })

  test('paths are relative to the working folder; an inventory also to the playbook folder', () => {
    const near = join(root.path, 'plays/inventories/near')
    const far = join(root.path, 'inventories/far')
    const found = argumentsOf({ inventory: ['inventories/near', 'inventories/far'] }, 'plays')
    expect(found.slice(2)).toEqual([`--inventory=${near}`, `--inventory=${far}`, 'site.yml'])
    expect(argumentsOf({ playbook: '../site.yml' }, 'plays').at(-1)).toBe('../site.yml')
    expect(argumentsOf({ playbook: join(root.path, 'site.yml') }).at(-1)).toBe('site.yml')
  })

  test.each([
    [{ playbook: '../outside.yml' }, 'lies outside the playbook folder'],
    [{ playbook: 'link.yml' }, 'lies outside the playbook folder'],
    [{ playbook: 'plays' }, 'is not in the playbook folder'],
    [{ playbook: '' }, 'names no playbook'],
    [{ playbook: 'a\0b' }, 'cannot be a part of a path'],
    [{ inventory: ['../outside.yml'] }, 'lies outside the playbook folder'],
    [{ inventory: ['nowhere'] }, 'is not in the playbook folder'],
    [{ limit: 'web:@../outside.yml' }, 'is no pattern of hosts'],
    [{ limit: '@../outside.yml', of_form: AUTHOR }, 'lies outside the playbook folder'],
    [{ limit: '@@hosts' }, 'is no pattern of hosts'],
    [{ inventory: ['@hosts'] }, 'is no inventory by its name'],
    [{ tags: '{{ x }}' }, 'is no tag'],
    [{ skip_tags: 'a,@b' }, 'is no tag'],
    [{ inventory: ['a{% x %},'] }, 'is no name or address of a host'],
  ])('%j is refused', (change, message) => {
    expect(() => argumentsOf(change)).toThrow(message)
  })

  test.each(['nowhere', 'site.yml'])('playbookSubPath %s is refused, because it is no folder', (subPath) => {
    expect(() => argumentsOf({}, subPath)).toThrow(`the folder "${subPath}" is not in the playbook folder`)
  })

  test('200 characters of a name are shown to people, and no more', () => {
    const told = (length: number) => () => argumentsOf({ playbook: 'x'.repeat(length) })
    expect(told(200)).toThrow(`the playbook "${'x'.repeat(200)}" is not in`)
    expect(told(201)).toThrow(`the playbook "${'x'.repeat(200)}…" is not in`)
  })

  test('a sub-path that is empty or has a dot is the playbook folder, and one may be a folder of it', () => {
    expect([workingFolder(root, null), workingFolder(root, '')]).toEqual([root.path, root.path])
    expect(workingFolder(root, '.')).toBe(root.path)
    expect(workingFolder(root, 'plays')).toBe(join(root.path, 'plays'))
    expect(() => workingFolder(root, '..')).toThrow('lies outside the playbook folder')
    expect(() => workingFolder(root, '-x')).toThrow('cannot be a part of a path')
  })

  test('a link of the host itself may lead anywhere', () => {
    const order = orderOf('0'.repeat(64), { inventory: [], playbook: 'link.yml' })
    const local = { path: root.path, confined: false }
    expect(playbookArguments(order, local, root.path, '/x').at(-1)).toBe('link.yml')
  })

  test('with local files an absolute inventory must be below the folder; others need a link', () => {
    const local = { path: root.path, confined: false }
    const inventoryOf = (entry: string): string | undefined =>
      playbookArguments(orderOf('0'.repeat(64), { inventory: [entry], of_form: AUTHOR }), local, root.path, '/x')[2]
    expect(inventoryOf(join(root.path, 'inventories/far'))).toBe(`--inventory=${join(root.path, 'inventories/far')}`)
    expect(inventoryOf('link.yml')).toBe(`--inventory=${join(root.path, 'link.yml')}`)
    expect(() => inventoryOf(join(folder, 'outside.yml'))).toThrow('a link in that folder may lead to it')
  })
})

describe('the environment', () => {
  const environmentOf = (own: Record<string, string>, cwd = root.path, more = ''): Record<string, string> =>
    playbookEnvironment({
      own: { HOME: folder, ...own },
      more: readPassedNames(more),
      cwd,
      marker: 'the-marker',
      secretsFile: null,
      hasMarks: false,
      eventsFile: '/job/events.jsonl',
      callbackFile: '/job/callback.json',
      callbackFolder: '/agent/callback',
      socketFolder: '/agent/sockets/1',
    })

  test('has the variables that are passed on, and those that the callback needs', () => {
    const own = { PATH: '/bin', MY_OWN: 'not passed on', HTTPS_PROXY: 'http://proxy', RTE_JOIN_TOKEN: 'x' }
    expect(environmentOf(own)).toEqual({
      HOME: folder,
      PATH: '/bin',
      HTTPS_PROXY: 'http://proxy',
      PWD: root.path,
      ANSIBLE_FORCE_COLOR: '1',
      ANSIBLE_NO_TARGET_SYSLOG: '1',
      PYTHONUNBUFFERED: '1',
      HOLDFAST_JOB_MARKER: 'the-marker',
      HOLDFAST_EVENTS_FILE: '/job/events.jsonl',
      HOLDFAST_CALLBACK_FILE: '/job/callback.json',
      ANSIBLE_CALLBACKS_ENABLED: 'holdfast_events',
      ANSIBLE_CALLBACK_PLUGINS: `/agent/callback:${folder}/.ansible/plugins/callback:/usr/share/ansible/plugins/callback`,
      ANSIBLE_SSH_CONTROL_PATH_DIR: '/agent/sockets/1',
      ANSIBLE_PERSISTENT_CONTROL_PATH_DIR: '/agent/sockets/1',
      ANSIBLE_LOCAL_TEMP: '/agent/sockets/1/tmp',
    })
  })

  test('has the variables that authors of playbooks need', () => {
    const names = ['PATH', 'USER', 'LOGNAME', 'SHELL', 'TERM', 'TZ', 'LANG', 'LANGUAGE', 'LC_ALL', 'LC_CTYPE', 'TMPDIR']
    names.push('TEMP', 'TMP', 'HTTP_PROXY', 'HTTPS_PROXY', 'FTP_PROXY', 'ALL_PROXY', 'NO_PROXY')
    names.push('http_proxy', 'https_proxy', 'ftp_proxy', 'all_proxy', 'no_proxy')
    names.push('SSH_AUTH_SOCK', 'SSH_AGENT_PID', 'KRB5CCNAME', 'KRB5_CONFIG', 'KRB5_KTNAME', 'KRB5_CLIENT_KTNAME')
    names.push('SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE', 'VIRTUAL_ENV')
    names.push('LD_LIBRARY_PATH', 'PYTHONPATH', 'XDG_RUNTIME_DIR', 'ANSIBLE_ROLES_PATH', 'ANSIBLE_VAULT_PASSWORD_FILE')
    const own = Object.fromEntries(names.map((name) => [name, `its ${name}`]))
    expect(environmentOf(own)).toMatchObject(own)
  })

  /** Every setting of both programs, and what else tells a service about itself. */
  const SECRET_NAMES = [
    ...Object.keys({ ...AGENT_SETTINGS, ...CONTROL_PLANE_SETTINGS }).filter((name) => !/^(HTTPS|NO)_PROXY$/.test(name)),
    'ENCRYPTION_SECRET_PREVIOUS',
    'ACCESS_TOKEN_SECRET_FILE',
    'DATABASE_URL_FILE',
    'HOLDFAST_JOB_MARKER',
    'NODE_OPTIONS',
    'NODE_EXTRA_CA_CERTS',
    'NODE_CHANNEL_FD',
    'NODE_UNIQUE_ID',
    'INIT_CWD',
    'NOTIFY_SOCKET',
    'CREDENTIALS_DIRECTORY',
    'OLDPWD',
    '_',
    'npm_config_cache',
    'WATCHDOG_USEC',
    'LISTEN_FDS',
    'HOLDFAST_TOKEN',
  ]

  test.each(SECRET_NAMES)('does not have %s', (name) => {
    const { [name]: passed } = environmentOf({ [name]: 'a secret' })
    expect(passed ?? '').not.toBe('a secret')
  })

  // Vault's own names: lookups of playbooks take them, too, from an operator who passes them on.
  const isOfVault = (name: string): boolean => name.startsWith('VAULT_')
  const SECRETS = Object.entries({ ...AGENT_SETTINGS, ...CONTROL_PLANE_SETTINGS })
    .filter(([name, setting]) => 'secret' in setting && !isOfVault(name))
    .flatMap(([name]) => [name, `${name}_FILE`])

  test.each([...SECRETS, 'CREDENTIALS_DIRECTORY', 'NODE_OPTIONS', 'RTE_STATE_PATH', 'APP_URL'])(
    'never has %s, whatever the operator passes on',
    (name) => {
      expect(environmentOf({ [name]: 'a secret', MY_OWN: 'kept' }, root.path, '*')).toMatchObject({ MY_OWN: 'kept' })
      expect(JSON.stringify(environmentOf({ [name]: 'a secret' }, root.path, '*'))).not.toContain('a secret')
      expect(() => readPassedNames(`MY_OWN, ${name}`)).toThrow(`${name} is never passed on`)
    },
  )

  test('has the token of Vault only when the operator passes it on for lookups', () => {
    const own = { VAULT_TOKEN: 'for lookups', VAULT_ADDR: 'https://vault' }
    expect(environmentOf(own)).not.toMatchObject({ VAULT_TOKEN: 'for lookups' })
    expect(environmentOf(own, root.path, 'VAULT_*')).toMatchObject(own)
  })

  test('also has variables that the operator passes on: names, and beginnings of names', () => {
    const own = { AWS_REGION: 'eu', AWSOME: 'no', KUBECONFIG: '/k', KUBECONFIG_OLD: '/o', OTHER: 'no' }
    const { AWS_REGION, AWSOME, KUBECONFIG, KUBECONFIG_OLD, OTHER } = environmentOf(own, root.path, 'AWS_*, KUBECONFIG')
    expect([AWS_REGION, AWSOME, KUBECONFIG, KUBECONFIG_OLD, OTHER]).toEqual([
      'eu',
      undefined,
      '/k',
      undefined,
      undefined,
    ])
    expect(readPassedNames(null)).toEqual([])
    for (const wrong of ['A-B', '*_KEY', 'A=B', '1ST']) expect(() => readPassedNames(wrong)).toThrow('is no name')
  })

  test('does not change folders of a job that the operator or the author sets', () => {
    const cwd = mkdtempSync(join(folder, 'config-'))
    writeFileSync(
      join(cwd, 'ansible.cfg'),
      '[defaults]\nlocal_tmp = ~/tmp\n[ssh_connection]\ncontrol_path_dir = ~/mine\n',
    )
    const environment = environmentOf({ ANSIBLE_PERSISTENT_CONTROL_PATH_DIR: '/own' }, cwd)
    expect(environment).toMatchObject({ ANSIBLE_PERSISTENT_CONTROL_PATH_DIR: '/own' })
    expect(environment).not.toHaveProperty('ANSIBLE_SSH_CONTROL_PATH_DIR')
    expect(environment).not.toHaveProperty('ANSIBLE_LOCAL_TEMP')
  })

  test('names the callbacks of the environment together with that of Holdfast', () => {
    const own = { ANSIBLE_CALLBACK_WHITELIST: 'timer, profile_tasks', ANSIBLE_CALLBACK_PLUGINS: 'mine:~/theirs' }
    const environment = environmentOf(own)
    expect(environment.ANSIBLE_CALLBACKS_ENABLED).toBe('timer,profile_tasks,holdfast_events')
    expect(environment.ANSIBLE_CALLBACK_WHITELIST).toBeUndefined()
    expect(environment.ANSIBLE_CALLBACK_PLUGINS).toBe(`/agent/callback:${root.path}/mine:${folder}/theirs`)
    expect(environmentOf({ ANSIBLE_CALLBACKS_ENABLED: '' }).ANSIBLE_CALLBACKS_ENABLED).toBe('holdfast_events')
  })

  test.each([
    ['[defaults]\ncallbacks_enabled = timer, mine\n', 'timer,mine,holdfast_events'],
    ['[defaults]\n# callbacks_enabled = no\ncallback_whitelist: timer ; old name\n', 'timer,holdfast_events'],
    ['[defaults]\ncallbacks_enabled = timer,\n    mine\n', 'timer,mine,holdfast_events'],
    ['[defaults]\n  forks = 5\n  callbacks_enabled = timer,\n      mine\n  nocows = 1\n', 'timer,mine,holdfast_events'],
    ['  [defaults]\n\tcallbacks_enabled=timer\n# a comment\n\n\t\t,mine\n', 'timer,mine,holdfast_events'],
    ['[other]\ncallbacks_enabled = timer\n', 'holdfast_events'],
    ['not a config at all', 'holdfast_events'],
  ])('reads ansible.cfg of the working folder: %j', (config, enabled) => {
    const cwd = mkdtempSync(join(folder, 'config-'))
    writeFileSync(join(cwd, 'ansible.cfg'), config)
    expect(environmentOf({}, cwd).ANSIBLE_CALLBACKS_ENABLED).toBe(enabled)
  })

  test('folders of callbacks may begin with a variable or a home folder, which ansible expands for the job', () => {
    const cwd = mkdtempSync(join(folder, 'config-'))
    const paths = '$PLACE/one:${PLACE}/two:~/three:~other/four:five'
    writeFileSync(join(cwd, 'ansible.cfg'), `[defaults]\ncallback_plugins = ${paths}\n`)
    const expected = `$PLACE/one:\${PLACE}/two:${folder}/three:~other/four:${cwd}/five`
    expect(environmentOf({}, cwd).ANSIBLE_CALLBACK_PLUGINS).toBe(`/agent/callback:${expected}`)
  })

  test('folders of callbacks in ansible.cfg are relative to its folder, and ANSIBLE_CONFIG comes first', () => {
    const elsewhere = mkdtempSync(join(folder, 'elsewhere-'))
    writeFileSync(join(elsewhere, 'ansible.cfg'), '[defaults]\ncallback_plugins = plugins:{{CWD}}/more\n')
    const environment = environmentOf({ ANSIBLE_CONFIG: elsewhere })
    expect(environment.ANSIBLE_CALLBACK_PLUGINS).toBe(`/agent/callback:${elsewhere}/plugins:${root.path}/more`)
  })
})

describe('extra variables', () => {
  const body = (variables: unknown, allowJinja = false) =>
    extravarsYaml(variables, allowJinja).split('\n').slice(1).join(' ')

  test('are YAML, with every text and name marked as data, whatever it looks like', () => {
    const value = { plain: 'x', n: 1.5, none: null, on: true, list: ['{{ a }}', { __ansible_vault: 'b' }], big: 1e21 }
    expect(extravarsYaml(value, false)).toMatch(/^# .*\n\{\?/)
    expect(body(value)).toBe(
      '{? !unsafe "plain" : !unsafe "x", ? !unsafe "n" : 1.5, ? !unsafe "none" : null, ? !unsafe "on" : true, ' +
        '? !unsafe "list" : [!unsafe "{{ a }}", {? !unsafe "__ansible_vault" : !unsafe "b"}], ? !unsafe "big" : 1.0e+21} ',
    )
    expect(body({ a: '{{ b }}', '{{ c }}': 1 }, true)).toBe('{? "a" : "{{ b }}", ? "{{ c }}" : 1} ')
  })

  test('have no text that YAML reads differently: all characters that are not ASCII are escaped', () => {
    expect(body({ a: '"\\\n\u0000\u0085\u2028é😀\ud800' })).toBe(
      String.raw`{? !unsafe "a" : !unsafe "\"\\\n\u0000\u0085\u2028\u00e9\U0001f600\ufffd"} `,
    )
    expect(body({})).toBe('{} ')
  })

  test('a variable with an unusual name stays a variable', () => {
    const value = JSON.parse('{"__proto__": "{{ a }}", "constructor": "b"}') as unknown
    expect(body(value)).toBe('{? !unsafe "__proto__" : !unsafe "{{ a }}", ? !unsafe "constructor" : !unsafe "b"} ')
  })

  test('a name that looks like a template is refused at any depth, unless the form allows templates', () => {
    const value = { a: [{ 'b {{ c }}': 1 }] }
    expect(() => extravarsText(value, false)).toThrow('the name "b {{ c }}", which looks like a template')
    expect(extravarsText(value, true)).toContain('b {{ c }}')
  })
})
