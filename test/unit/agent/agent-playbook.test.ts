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
import { environmentOfContainer, environmentOfPodman } from '../../../runner-agent/src/playbook/container.js'
import { playbookEnvironment } from '../../../runner-agent/src/playbook/environment.js'
import { extravarsYaml } from '../../../runner-agent/src/playbook/extravars-text.js'
import { readPassedNames } from '../../../runner-agent/src/playbook/passed-environment.js'
import { extravarsText, findProgram } from '../../../runner-agent/src/playbook/plan.js'
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

const REFUSED = [
  [{ inventory: ['--become,'] }, 'inventory'],
  [{ tags: '--x' }, 'tags'],
  [{ skip_tags: '-x' }, 'skip'],
  [{ limit: '-C' }, 'limit'],
  [{ playbook: '-e.yml' }, 'cannot be a part of a path'],
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
] as const satisfies [Parameters<typeof orderOf>[1], string][]

describe('the command line', () => {
  test('has the order of the specification', () => {
    const tags = { tags: 'a,b', skip_tags: 'c' }
    const all = { inventory: ['web1,web2,'], ...tags, check: true, diff: true, verbose: true, limit: 'web1' }
    const options = '--inventory=web1,web2, --tags=a,b --skip-tags=c --check --diff -vvv --limit=web1'
    expect(argumentsOf(all)).toEqual(['-e', '@/job/extravars.json', ...options.split(' '), 'site.yml'])
    expect(argumentsOf({ verbosity: 4 })).toContain('-vvvv')
    expect(argumentsOf({ tags: '', limit: null })).toEqual(['-e', '@/job/extravars.json', 'site.yml'])
  })

  test('paths are relative to the working folder; an inventory also to the playbook folder', () => {
    const near = join(root.path, 'plays/inventories/near')
    const far = join(root.path, 'inventories/far')
    const found = argumentsOf({ inventory: ['inventories/near', 'inventories/far'] }, 'plays')
    expect(found.slice(2)).toEqual([`--inventory=${near}`, `--inventory=${far}`, 'site.yml'])
    expect(argumentsOf({ playbook: '../site.yml' }, 'plays').at(-1)).toBe('../site.yml')
    expect(argumentsOf({ playbook: join(root.path, 'site.yml') }).at(-1)).toBe('site.yml')
  })

  test.each(REFUSED)('%j is refused', (change, message) => {
    expect(() => argumentsOf(change as Parameters<typeof orderOf>[1])).toThrow(message)
  })

  test.each([
    [null, ''],
    ['', ''],
    ['.', ''],
    ['plays', 'plays'],
    ['..', null],
    ['-x', null],
    ['nowhere', null],
    ['site.yml', null],
  ])('playbookSubPath %s is the folder %j', (subPath, folderBelow) => {
    if (folderBelow === null) expect(() => workingFolder(root, subPath)).toThrow(OrderRefusedError)
    else expect(workingFolder(root, subPath)).toBe(join(root.path, folderBelow))
  })

  test('with playbooks of the host a link may lead anywhere, and an absolute inventory is below their folder', () => {
    const local = { path: root.path, confined: false }
    const wordsOf = (change: Parameters<typeof orderOf>[1]): string[] =>
      playbookArguments(orderOf('0'.repeat(64), { inventory: [], of_form: AUTHOR, ...change }), local, root.path, '/x')
    expect(wordsOf({ playbook: 'link.yml' }).at(-1)).toBe('link.yml')
    for (const path of [join(root.path, 'inventories/far'), join(root.path, 'link.yml')]) {
      expect(wordsOf({ inventory: [path] })[2]).toBe(`--inventory=${path}`)
    }
    expect(() => wordsOf({ inventory: [join(folder, 'outside.yml')] })).toThrow('a link in that folder may lead to it')
  })
})

describe('the environment', () => {
  const environmentOf = (own: Record<string, string>, config = '', more = ''): Record<string, string> => {
    const cwd = mkdtempSync(join(folder, 'config-'))
    writeFileSync(join(cwd, 'ansible.cfg'), config)
    return playbookEnvironment({
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
  }

  // Vault's own names: lookups of playbooks take them from an operator who passes them on.
  const secrets = Object.entries({ ...AGENT_SETTINGS, ...CONTROL_PLANE_SETTINGS })
    .filter(([name, setting]) => 'secret' in setting && !name.startsWith('VAULT_'))
    .flatMap(([name]) => [name, `${name}_FILE`])

  test.each(secrets)('never has %s, whatever the operator passes on', (name) => {
    const environment = environmentOf({ [name]: 'a secret', MY_OWN: 'kept' }, '', '*')
    expect(environment).toMatchObject({ MY_OWN: 'kept' })
    expect(JSON.stringify(environment)).not.toContain('a secret')
    expect(() => readPassedNames(`MY_OWN, ${name}`)).toThrow(`${name} is never passed on`)
  })

  test.each([
    ['', ['PATH', 'ANSIBLE_FORKS']],
    ['AWS_*, KUBECONFIG', ['PATH', 'ANSIBLE_FORKS', 'AWS_REGION', 'KUBECONFIG']],
    ['VAULT_*\tAWSOME', ['PATH', 'ANSIBLE_FORKS', 'AWSOME', 'VAULT_TOKEN']],
    ['*', ['PATH', 'ANSIBLE_FORKS', 'AWS_REGION', 'AWSOME', 'KUBECONFIG', 'KUBECONFIG_OLD', 'VAULT_TOKEN']],
  ])('has what playbooks need, and with RTE_PASS_ENVIRONMENT=%j more', (more, names) => {
    const all = ['PATH', 'ANSIBLE_FORKS', 'AWS_REGION', 'AWSOME', 'KUBECONFIG', 'KUBECONFIG_OLD', 'VAULT_TOKEN']
    const environment = environmentOf(Object.fromEntries(all.map((name) => [name, `its ${name}`])), '', more)
    expect(all.filter((name) => environment[name] === `its ${name}`)).toEqual(names)
  })

  test.each(['A-B', '**', '*_KEY', 'A=B', '1ST', 'Ä'])('takes no %s for the name of a variable', (wrong) => {
    expect(() => readPassedNames(wrong)).toThrow('is no name')
  })

  test('does not change folders of a job that the operator or the author sets', () => {
    const config = '[defaults]\nlocal_tmp = ~/tmp\n[ssh_connection]\ncontrol_path_dir = ~/mine\n'
    const environment = environmentOf({ ANSIBLE_PERSISTENT_CONTROL_PATH_DIR: '/own' }, config)
    expect(environment).toMatchObject({ ANSIBLE_PERSISTENT_CONTROL_PATH_DIR: '/own' })
    expect(environment).not.toHaveProperty('ANSIBLE_SSH_CONTROL_PATH_DIR')
    expect(environment).not.toHaveProperty('ANSIBLE_LOCAL_TEMP')
    const usual = environmentOf({})
    expect([usual.ANSIBLE_SSH_CONTROL_PATH_DIR, usual.ANSIBLE_LOCAL_TEMP]).toEqual([
      '/agent/sockets/1',
      '/agent/sockets/1/tmp',
    ])
  })

  test.each([
    ['', {}, '1'],
    ['', { ANSIBLE_NO_TARGET_SYSLOG: '0' }, '0'],
    ['[defaults]\nno_target_syslog = false\n', {}, undefined],
  ])(
    'keeps the arguments of modules out of the syslog, unless somebody wants them there (%j, %j)',
    (config, own, set) => {
      expect(environmentOf(own, config).ANSIBLE_NO_TARGET_SYSLOG).toBe(set)
    },
  )

  test.each([
    ['', {}, 'holdfast_events'],
    ['', { ANSIBLE_CALLBACK_WHITELIST: 'timer, mine' }, 'timer,mine,holdfast_events'],
    ['', { ANSIBLE_CALLBACKS_ENABLED: '' }, 'holdfast_events'],
    ['[defaults]\ncallbacks_enabled = timer, mine\n', {}, 'timer,mine,holdfast_events'],
    ['[defaults]\n# callbacks_enabled = no\ncallback_whitelist: timer ; old name\n', {}, 'timer,holdfast_events'],
    ['[defaults]\n  callbacks_enabled = timer,\n      mine\n  nocows = 1\n', {}, 'timer,mine,holdfast_events'],
    ['  [defaults]\n\tcallbacks_enabled=timer\n# a comment\n\n\t\t,mine\n', {}, 'timer,mine,holdfast_events'],
    ['[other]\ncallbacks_enabled = timer\n', {}, 'holdfast_events'],
    ['not a config at all', {}, 'holdfast_events'],
  ])('of ansible.cfg %j and %j enables the callbacks %s', (config, own, enabled) => {
    expect(environmentOf(own, config).ANSIBLE_CALLBACKS_ENABLED).toBe(enabled)
  })

  test('has folders of callbacks that may begin with a variable, a home folder or the folder of ansible.cfg', () => {
    const { PWD = '', ...environment } = environmentOf(
      {},
      '[defaults]\ncallback_plugins = $PLACE/one:~/three:~other/four:five:{{CWD}}/six\n',
    )
    const paths = ['$PLACE/one', `${folder}/three`, '~other/four', `${PWD}/five`, `${PWD}/six`]
    expect(environment.ANSIBLE_CALLBACK_PLUGINS).toBe(['/agent/callback', ...paths].join(':'))
    const elsewhere = mkdtempSync(join(folder, 'elsewhere-'))
    writeFileSync(join(elsewhere, 'ansible.cfg'), '[defaults]\ncallback_plugins = plugins\n')
    const other = environmentOf({ ANSIBLE_CONFIG: elsewhere }).ANSIBLE_CALLBACK_PLUGINS
    expect(other).toBe(`/agent/callback:${elsewhere}/plugins`)
  })

  test('of a container has no path of the host, and that of podman has no secret of the agent', () => {
    const own = { PATH: '/x', HOME: '/h', LANG: 'de', ANSIBLE_FORKS: '3', AWS_REGION: 'r', RTE_JOIN_TOKEN: 'x' }
    const { RTE_JOIN_TOKEN: _, ...ofPlaybook } = own
    expect(environmentOfContainer(ofPlaybook)).toMatchObject({ ANSIBLE_FORKS: '3', AWS_REGION: 'r' })
    expect(JSON.stringify(environmentOfContainer(ofPlaybook))).not.toMatch(/\/x|\/h/)
    expect(environmentOfPodman(own)).toEqual({ PATH: '/x', HOME: '/h' })
  })
})

test('a program is the first in PATH that can be run, and is not looked for below the place of the agent', () => {
  const [first, second] = [mkdtempSync(join(folder, 'bin-')), mkdtempSync(join(folder, 'bin-'))]
  mkdirSync(join(first, 'ansible'))
  writeFileSync(join(first, 'plain'), '', { mode: 0o644 })
  for (const name of ['ansible', 'plain']) writeFileSync(join(second, name), '', { mode: 0o755 })
  for (const name of ['ansible', 'plain']) expect(findProgram(name, `${first}:${second}`)).toBe(join(second, name))
  expect(() => findProgram('sh', '../../../../../../bin:')).toThrow('sh was not found on this runner')
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

  test('that are nested too deeply are refused in words', () => {
    let deep: unknown = 1
    for (let depth = 0; depth < 100_000; depth += 1) deep = [deep]
    for (const allowJinja of [true, false]) expect(() => extravarsText({ deep }, allowJinja)).toThrow('nested deeper')
  })
})
