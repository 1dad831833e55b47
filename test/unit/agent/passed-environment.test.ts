import { describe, expect, test } from 'vitest'
import { passedEnvironment, readPassedNames } from '../../../runner-agent/src/playbook/passed-environment.js'

const REFUSED = [
  'ANSIBLE_PATH',
  'PORT',
  'LOG_LEVEL',
  'LOG_FORMAT',
  'NODE_OPTIONS',
  'NODE_EXTRA_CA_CERTS',
  'NODE_CHANNEL_FD',
  'NODE_UNIQUE_ID',
  'INIT_CWD',
  'NOTIFY_SOCKET',
  'CREDENTIALS_DIRECTORY',
  'OLDPWD',
  '_',
  'ENCRYPTION_SECRET',
  'ENCRYPTION_SECRET_PREVIOUS',
  'ADMIN_USERNAME',
  'ADMIN_PASSWORD',
  'DATABASE_URL',
  'SMTP_PASSWORD',
  'METRICS_TOKEN',
  'RTE_NAME',
  'APP_URL',
  'HOLDFAST_X',
  'npm_config_x',
  'ACCESS_TOKEN_X',
  'WATCHDOG_PID',
  'LISTEN_PID',
]

describe('what is never passed on to a playbook', () => {
  test.each(REFUSED)('is %s, whatever the operator says', (name) => {
    for (const one of [name, `${name}_FILE`]) {
      expect(passedEnvironment({ [one]: 'x', OTHER: 'y' }, ['*'])).toEqual({ OTHER: 'y' })
      expect(() => readPassedNames(`OTHER ${one}`)).toThrow(
        `RTE_PASS_ENVIRONMENT: ${one} is never passed on to playbooks`,
      )
    }
  })

  test.each(['SUPPORT', 'PORTS', 'MY_APP_URL', 'NODE_ENV', 'NODE_OPTIONS_X', 'A_RTE_NAME', 'NPM_X', 'RTEX'])(
    'is not %s, which only looks like it',
    (name) => {
      expect(passedEnvironment({ [name]: 'x' }, [name])).toEqual({ [name]: 'x' })
      expect(passedEnvironment({ [name]: 'x' }, [])).toEqual({})
      expect(readPassedNames(name)).toEqual([name])
    },
  )
})

test.each([
  ['a beginning', ['MY_*'], ['MY_', 'MY_A', 'MY_A_B']],
  ['a name', ['MY_A'], ['MY_A']],
  ['all', ['*'], ['MY_', 'MY_A', 'MY_A_B', 'YOUR_A']],
  ['none', [], []],
])('an operator passes on %s: %j', (_, more, expected) => {
  const own = { MY_: '1', MY_A: '2', MY_A_B: '3', YOUR_A: '4', UNSET: undefined }
  expect(Object.keys(passedEnvironment(own, more))).toEqual(expected)
})

test('names are separated by white space or commas', () => {
  expect(readPassedNames('A, B*\tC\n,,* ')).toEqual(['A', 'B*', 'C', '*'])
  expect(readPassedNames('')).toEqual([])
  for (const wrong of ['A-B', '**', '*A', '1A', 'A=1', 'Ä']) {
    expect(() => readPassedNames(wrong)).toThrow(`'${wrong}' is no name of a variable`)
  }
})
