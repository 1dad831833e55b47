import { flagOf, resolveSettings, SettingsError, type SettingTable } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'

const TABLE: SettingTable = {
  PORT: { kind: 'integer', meaning: 'a port', default: '1', minimum: 1, maximum: 65_535 },
  JOBS: { kind: 'integer', meaning: 'jobs at once', default: '1', minimum: 1 },
  ON: { kind: 'boolean', meaning: 'a switch', default: null },
  LEVEL: { kind: 'choice', meaning: 'a level', default: null, choices: ['low', 'high'] },
  NAME: { kind: 'text', meaning: 'a name', default: null },
  TOKEN: { kind: 'text', meaning: 'a secret', default: null, secret: true },
  PLACE: { kind: 'text', meaning: 'a place', default: (soFar) => `port ${String(soFar.PORT)}` },
}
const DEFAULTS = { PORT: 1, JOBS: 1, ON: null, LEVEL: null, NAME: null, TOKEN: null, PLACE: 'port 1' }

const resolve = (environment: Record<string, string | undefined>, flags: Record<string, string | undefined> = {}) =>
  resolveSettings(TABLE, {
    environment,
    flags,
    readFile(path) {
      if (path === '/nowhere') throw new Error('there is no such file')
      return `of ${path}\r\n`
    },
  })

test.each([
  ['PORT', '65536', 'from 1 to 65535'],
  ['PORT', '0', 'from 1 to 65535'],
  ['PORT', 'x', 'from 1 to 65535'],
  ['JOBS', '0', 'from 1 up'],
  ['JOBS', '1.5', 'from 1 up'],
  ['JOBS', '-1', 'from 1 up'],
  ['JOBS', '9007199254740992', 'from 1 up'],
])('%s=%s is refused with the numbers that it may be', (name, text, range) => {
  const words = `${name}: must be a whole number ${range}, not "${text}"`
  expect(() => resolve({ [name]: text })).toThrow(new SettingsError(words))
})

test('the least and the greatest number are taken', () => {
  expect(resolve({ PORT: '65535', JOBS: '9007199254740991' })).toMatchObject({
    PORT: 65_535,
    JOBS: Number.MAX_SAFE_INTEGER,
  })
  expect(resolve({ PORT: '1' })).toEqual(DEFAULTS)
})

test.each([
  ...['1', 'true', 'Yes', 'ON'].map((text) => [text, true] as const),
  ...['0', 'False', 'no', 'off'].map((text) => [text, false] as const),
])('a switch that is %s is %s', (text, value) => {
  expect(resolve({ ON: text }).ON).toBe(value)
})

test.each([
  ['ON', '2', 'ON: must be 1 or 0, not "2"'],
  ['ON', 'onn', 'ON: must be 1 or 0, not "onn"'],
  ['LEVEL', 'middle', 'LEVEL: must be one of low, high, not "middle"'],
])('%s=%s is refused with what it may be', (name, text, words) => {
  expect(() => resolve({ [name]: text })).toThrow(new SettingsError(words))
})

describe('a value', () => {
  test('of the command line wins, an empty one counts for nothing, and a default may use those before it', () => {
    expect(resolve({ NAME: 'a', LEVEL: 'low' }, { NAME: 'b' })).toMatchObject({ NAME: 'b', LEVEL: 'low' })
    expect(resolve({ NAME: '', PORT: '' })).toEqual(DEFAULTS)
    expect(resolve({ PORT: '7' }).PLACE).toBe('port 7')
    expect(resolve({ PLACE: 'here' }).PLACE).toBe('here')
  })

  test('of a secret may be in a file, of anything else it may not', () => {
    expect(resolve({ TOKEN_FILE: '/run/token', NAME_FILE: '/run/name' })).toMatchObject({
      TOKEN: 'of /run/token',
      NAME: null,
    })
    expect(resolve({ TOKEN: 'mine', TOKEN_FILE: '/nowhere' }).TOKEN).toBe('mine')
    expect(resolve({ TOKEN_FILE: '' }).TOKEN).toBeNull()
    expect(() => resolve({ TOKEN_FILE: '/nowhere' })).toThrow(
      new SettingsError('TOKEN_FILE: cannot read /nowhere: there is no such file'),
    )
  })
})

test('a flag is the name in small letters with dashes', () => {
  expect(flagOf('RTE_MAX_JOBS')).toBe('rte-max-jobs')
})
