import { describe, expect, it } from 'vitest'
import { startFakeService } from './fake-service.js'
import { newPerson, newQuickPerson } from './run-cli.js'

describe('help', () => {
  it.each(['serve', 'job launch'])('is there for %s', async (command) => {
    const { code, stdout } = await newPerson().run([...command.split(' '), '--help'])
    expect(code).toBe(0)
    expect(stdout).toContain(`holdfast ${command}`)
  })
})

describe('a wrong command line ends with exit code 2 and one sentence', () => {
  const cases: readonly (readonly [string, readonly string[], string])[] = [
    ['nothing at all', [], 'Give a command'],
    ['an unknown command', ['dance'], 'Unknown argument: dance'],
    ['a group without its command', ['job'], 'Say what to do with jobs:'],
    ['an unknown option', ['job', 'list', '--colour'], 'Unknown argument: colour'],
    ['an option without its value', ['schedule', 'change', '1', '--name'], 'Not enough arguments following: name'],
    ['a setting without its value', ['serve', '--port'], 'Not enough arguments following: port (holdfast --help'],
    ['a server that is left out', ['login', '--server'], 'Not enough arguments following: server (holdfast --help'],
    [
      'a file that is left out',
      ['backup', 'f', '--passphrase-file'],
      'Not enough arguments following: passphrase-file',
    ],
    ['a mail address that is left out', ['user', 'set', 'ada', '--email'], 'Not enough arguments following: email'],
    ['an id that is not a number', ['job', 'show', 'x'], '"x" is not a job\'s id'],
    ['an id that is zero', ['job', 'abort', '0'], '"0" is not a job\'s id'],
    ['a server that is not an address', ['job', 'list', '--server', 'ftp://x'], 'must begin with http:// or https://'],
    ['a password in the address', ['job', 'list', '--server', 'http://a:b@c'], 'holds no password'],
    ['an -e without a value', ['job', 'launch', 'f', '-e', 'x'], 'give key=value'],
    ['an -e with broken JSON', ['job', 'launch', 'f', '-e', '{"a"'], 'is neither JSON nor YAML'],
    ['an -e file that does not exist', ['job', 'launch', 'f', '-e', '@/nowhere.yml'], 'cannot be read'],
    ['a --file without its field', ['job', 'launch', 'f', '--file', process.execPath], 'give field=path'],
    [
      'two files for one field',
      ['job', 'launch', 'f', ...['a', 'b', 'a'].flatMap((field) => ['--file', `${field}=${process.execPath}`])],
      'the field is given twice',
    ],
    ['a setting of the wrong kind', ['serve', '--port', 'http'], 'PORT: must be a whole number'],
    ['a setting with an unknown value', ['serve', '--log-level', 'loud'], 'LOG_LEVEL: must be one of'],
    ['a setting that does not exist', ['serve', '--prot', '80'], 'Unknown argument'],
  ]
  it.each(cases)('%s', async (_what, args, sentence) => {
    const { code, stdout, stderr } = await newQuickPerson({ HOLDFAST_TOKEN: 'x' }).run(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(sentence)
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })
})

it('says what to do when nobody answers, with exit code 3', async () => {
  const gone = await startFakeService()
  await gone.stop()
  const server = gone.address.replace('127.0.0.1', 'localhost')
  const { code, stderr } = await newQuickPerson({ HOLDFAST_TOKEN: 'x' }).run(['job', 'list', '--server', server])
  expect(code).toBe(3)
  expect(stderr).toMatch(/^holdfast: Cannot reach http:\/\/localhost:\d+: connection refused\. .*--server.*\n$/)
})

it('says how to sign in at the server of the option, which wins over the environment, with exit code 4', async () => {
  const { code, stderr } = await newQuickPerson({ HOLDFAST_SERVER: 'http://other.example' }).run([
    'job',
    'list',
    '--server',
    'http://127.0.0.1:1/',
  ])
  expect(code).toBe(4)
  expect(stderr).toContain('holdfast login --server http://127.0.0.1:1')
})
