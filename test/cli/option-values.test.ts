import { describe, expect, it } from 'vitest'
import { newQuickPerson } from './run-cli.js'

/** Nothing listens there: a command that would go on ends with another exit code. */
const NOWHERE = { HOLDFAST_TOKEN: 'x', HOLDFAST_SERVER: 'http://127.0.0.1:1' }

const TEXTS: readonly (readonly [command: string, options: string])[] = [
  ['admin reset-password ada', 'persistent-path settings-file'],
  ['audit list', 'server records user action'],
  ['audit verify', 'server head'],
  ['backup f', 'persistent-path settings-file passphrase-file'],
  [
    'credential create db',
    'type user host port db-type db-name ca-file certificate-file description password-file server',
  ],
  ['credential update db', 'name password-file'],
  ['form check f', 'vars-files-path workflows-path playbooks-path functions-path'],
  ['job approvals', 'records'],
  ['job compare 1', 'with'],
  ['job download 1', 'output'],
  ['job events 1', 'host task'],
  ['job launch f', 'extra-vars credential file from-file'],
  ['job list', 'records user user-type runner status form search from to'],
  ['job output 1', 'host task'],
  ['job relaunch 1', 'extra-vars values file'],
  ['join-token create', 'name ttl-minutes'],
  ['login', 'username server'],
  ['notification add-target n http://x', 'event kind'],
  ['notification change-target 1', 'url event password-file'],
  ['notification list', 'state job records'],
  ['restore f', 'persistent-path settings-file passphrase-file'],
  ['runner add', 'address name fingerprint'],
  ['runner approve 1', 'fingerprint'],
  ['runner orphans', 'runner'],
  ['runner set 1', 'max-jobs description'],
  ['schedule change 1', 'name cron at time-zone missed extra-vars credential'],
  ['schedule create f', 'name cron at time-zone missed extra-vars credential'],
  ['schedule next 1', 'count'],
  ['service rotate-key', 'fingerprint'],
  ['token create', 'name days scope'],
  ['user create ada', 'group email password-file'],
  ['user set ada', 'group add-group remove-group email'],
]

const CHOICES: readonly (readonly [command: string, choices: string])[] = [
  ['backup f --with', 'forms workflows playbooks config uploads secrets'],
  ['completion', 'bash zsh fish'],
  ['credential create db --type', 'userpass ssh vault database token certificate'],
  ['credential create db --db-type', 'postgres mysql'],
  ['notification add-target n http://x --event', 'job.ended job.approval runner.request runner.lost runner.back'],
  ['notification list --state', 'waiting sent failed'],
  ['runner orphans', 'adopt end forget'],
  ['schedule change 1 --missed', 'run skip'],
  ['secret rotate', 'encryption access-token'],
  ['token create --scope', 'read launch admin'],
]

/** Commands that go nowhere without what they work on. */
const NAMELESS = [
  'backup',
  'completion',
  'config check',
  'credential create',
  'credential delete',
  'credential update',
  'form check',
  'form show',
  'job abort',
  'job approve',
  'job compare',
  'job delete',
  'job download',
  'job events',
  'job follow',
  'job launch',
  'job nodes',
  'job output',
  'job reject',
  'job relaunch',
  'job search 1',
  'job show',
  'job timeline',
  'join-token revoke',
  'notification add-target n',
  'notification change-target',
  'notification remove-target',
  'notification retry',
  'notification test',
  'notification test-mail',
  'restore',
  'role show',
  'runner accept',
  'runner add',
  'runner approve',
  'runner default',
  'runner keep',
  'runner reject',
  'runner remove',
  'runner remove-address',
  'runner rename 1',
  'runner revoke',
  'runner set',
  'runner show',
  'schedule change',
  'schedule create',
  'schedule delete',
  'schedule next',
  'schedule pause',
  'schedule resume',
  'schedule show',
  'secret rotate',
  'session end',
  'token revoke',
  'user accept-name',
  'user block',
  'user create',
  'user delete',
  'user password',
  'user set',
  'user unblock',
]

/** Groups, and what they say when no command of theirs is given. */
const GROUPS: readonly string[] = [
  'admin',
  'config',
  'credential',
  'form',
  'job',
  'join-token',
  'notification',
  'role',
  'runner',
  'schedule',
  'secret',
  'service',
  'session',
  'token',
  'user',
]

const run = (command: string) => newQuickPerson(NOWHERE).run(command.split(' '))

describe('a wrong command line is refused before anything is asked', () => {
  const options = TEXTS.flatMap(([command, names]) => names.split(' ').map((name) => [command, name] as const))
  it.each(options)('%s --%s without its value', async (command, name) => {
    const { code, stderr } = await run(`${command} --${name}`)
    expect(code).toBe(2)
    // Where there are choices, they are told in place of it.
    expect(stderr).toMatch(new RegExp(`following: ${name} |Argument: ${name}, Given: true, Choices: `))
  })

  it.each(CHOICES)('%s with a word that is none of its choices, which are told: %s', async (command, choices) => {
    const { code, stderr } = await run(`${command} nonsense`)
    expect(code).toBe(2)
    const told = choices.split(' ').map((choice) => `"${choice}"`)
    expect(stderr).toContain(`Choices: ${told.join(', ')} `)
  })

  it.each(NAMELESS)('%s without what it is about', async (command) => {
    const { code, stderr } = await run(command)
    expect(code).toBe(2)
    expect(stderr).toMatch(/Not enough non-option arguments|Missing required argument/)
  })

  it.each(GROUPS)('%s without a command', async (group) => {
    const { code, stderr } = await run(group)
    expect(code).toBe(2)
    expect(stderr).toMatch(/: (Say what to do|Give a command)/)
  })
})
