import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SettingsError } from '@holdfast/protocol'
import { describe, expect, onTestFinished, test } from 'vitest'
import { releaseUser } from '../../../runner-agent/src/isolation/isolation.js'
import { readUserList } from '../../../runner-agent/src/isolation/user-list.js'
import { readSettings } from '../../../runner-agent/src/settings.js'

describe('RTE_ISOLATION_USERS', () => {
  test.each([
    ['job-a, job-b', ['job-a', 'job-b']],
    ['holdfast-job-1..3', ['holdfast-job-1', 'holdfast-job-2', 'holdfast-job-3']],
    ['60600..60601,job-9..10', ['60600', '60601', 'job-9', 'job-10']],
    ['job2..2', ['job2']],
  ])('%s', (text, users) => {
    expect(readUserList(text)).toEqual(users)
  })

  test.each([
    ['1..1000', 1000],
    ['1..500,501..1000', 1000],
    ['1..1001', null],
    ['1..500,501..1000,job', null],
    ['1..999,job', 1000],
    ['7..7', 1],
    ['8..7', null],
    ['job,8..7', null],
  ])('may name a thousand users, and at least one: %s', (text, count) => {
    const read = () => readUserList(text)
    if (count === null) expect(read).toThrow(SettingsError)
    else expect(read()).toHaveLength(count)
  })

  test.each(['', ' , ', '1..5000', '../etc', 'a b', 'Job', '-1', 'job..x', 'a/b', 'a\nb'])('not %j', (text) => {
    expect(() => readUserList(text)).toThrow(SettingsError)
  })
})

describe('RTE_ISOLATION', () => {
  const read = (environment: Record<string, string>) =>
    readSettings({ environment: { APP_URL: 'http://a', ...environment }, flags: {}, readFile: () => '' }, '/srv')
      .isolation

  test('is off by default', () => {
    expect(read({ RTE_ISOLATION_USERS: 'job-1..4' })).toBeNull()
  })

  test('has users, sudo and home', () => {
    const asked = {
      RTE_ISOLATION: 'user',
      RTE_ISOLATION_USERS: 'job-1..2',
      RTE_ISOLATION_SUDO: '1',
      RTE_ISOLATION_HOME: 'home',
    }
    expect(read(asked)).toEqual({ users: ['job-1', 'job-2'], sudo: true, home: '/srv/home' })
    expect(() => read({ RTE_ISOLATION: 'user' })).toThrow('RTE_ISOLATION_USERS: is required with RTE_ISOLATION=user')
  })
})

test('what acts for the users of jobs gets nothing of the environment of the agent', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-helper-'))
  process.env['HOLDFAST_CANARY'] = 'a secret of the agent'
  onTestFinished(() => {
    delete process.env['HOLDFAST_CANARY']
    rmSync(folder, { recursive: true })
  })
  writeFileSync(join(folder, 'isolation.json'), '{}')
  const script = join(folder, 'helper.py')
  writeFileSync(script, 'import json, os\nprint(json.dumps({"left": list(os.environ)}))\n')
  const left = await releaseUser(folder, { python: '/usr/bin/python3', script, statePath: folder })
  // Python itself may say how it reads text.
  expect(left.filter((name) => name !== 'LC_CTYPE')).toEqual([])
})
