import { resolveSettings, SettingsError, type SettingTable } from '@holdfast/protocol'
import { expect, test } from 'vitest'

const TABLE: SettingTable = {
  PORT: { kind: 'integer', meaning: 'a port', default: '1', minimum: 1, maximum: 65_535 },
  JOBS: { kind: 'integer', meaning: 'jobs at once', default: '1', minimum: 1 },
}

const resolve = (environment: Record<string, string>) =>
  resolveSettings(TABLE, { environment, flags: {}, readFile: () => '' })

test.each([
  ['PORT', '65536', 'from 1 to 65535'],
  ['PORT', 'x', 'from 1 to 65535'],
  ['JOBS', '0', 'from 1 up'],
  ['JOBS', '1.5', 'from 1 up'],
])('%s=%s is refused with the numbers that it may be', (name, text, range) => {
  const words = `${name}: must be a whole number ${range}, not "${text}"`
  expect(() => resolve({ [name]: text })).toThrow(new SettingsError(words))
})

test('the least and the greatest number are taken', () => {
  expect(resolve({ PORT: '65535' })).toEqual({ PORT: 65_535, JOBS: 1 })
})
