import { SettingsError } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import { readUserList } from '../../../runner-agent/src/isolation/user-list.js'

test.each([
  ['job-a, job-b', ['job-a', 'job-b']],
  ['holdfast-job-1..3', ['holdfast-job-1', 'holdfast-job-2', 'holdfast-job-3']],
  ['60600..60601,job-9..10', ['60600', '60601', 'job-9', 'job-10']],
  ['job2..2', ['job2']],
])('RTE_ISOLATION_USERS=%s names these users', (text, users) => {
  expect(readUserList(text)).toEqual(users)
})

test.each(['', ' , ', '1..500000', '8..7', '../etc', 'a b', 'Job', '-1', 'job..x', 'a/b', 'a\nb'])(
  'RTE_ISOLATION_USERS=%j is refused',
  (text) => {
    expect(() => readUserList(text)).toThrow(SettingsError)
  },
)
