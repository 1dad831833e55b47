import { describe, expect, test } from 'vitest'
import { parseNotifications } from '../../../control-plane/src/forms/parse/notifications.js'
import { playbookSettingsOf, readApproval } from '../../../control-plane/src/forms/parse/playbook.js'

describe('a playbook', () => {
  const settings = (more: object) => playbookSettingsOf({ playbook: 'x.yml', ...more }, 'here')

  test.each([
    { playbook: 'a/../x.yml' },
    { playbook: '..x.yml' },
    { playbookSubPath: 'sub', playbook: '../x.yml' },
    { playbookSubPath: '.' },
    { executionImage: 'quay.io/a/b:1' },
    { executionImage: '' },
  ])('%j is taken', (more) => {
    expect(settings(more)).toMatchObject({ playbook: 'x.yml', ...more, executionImage: more.executionImage || null })
  })

  test.each([
    { playbook: '/x.yml' },
    { playbook: '..' },
    { playbook: '../x.yml' },
    { playbook: 'a\0.yml' },
    { playbookSubPath: '/sub' },
    { playbookSubPath: '..' },
    { playbookSubPath: '../sub' },
    { playbookSubPath: '../sub', playbook: '../sub/x.yml' },
    { playbookSubPath: 'sub', playbook: '../../x.yml' },
  ])('%j leaves its folder', (more) => {
    expect(() => settings(more)).toThrow('playbook must be a path inside the playbook folder')
  })

  test('may name the files that it needs, inside its folder', () => {
    expect(settings({ playbookFiles: ['roles/', 'a.yml'] }).playbookFiles).toEqual(['roles', 'a.yml'])
    expect(() => settings({ playbookFiles: ['/etc'] })).toThrow("'/etc' must be a path inside the playbook folder")
  })

  test('may wait for an approval, of others than who launches it when it does not say', () => {
    expect(readApproval(undefined)).toBeNull()
    const little = { title: null, message: null, roles: ['r'], notifications: [], allowSelf: false }
    expect(readApproval({ roles: ['r'] })).toEqual(little)
    const all = { title: 't', message: 'm', roles: ['r'], notifications: ['a@b.c'], allowSelf: true }
    expect(readApproval(all)).toEqual(all)
  })
})

describe('the notifications of a form', () => {
  test('without any word are for every end', () => {
    expect([undefined, null].map(parseNotifications)).toEqual([null, null])
    const every = { recipients: ['a@b.c'], channels: [], onStatus: ['any'], onEvent: [] }
    expect(parseNotifications({ recipients: ' a@b.c ' })).toEqual(every)
    expect(parseNotifications({ recipients: ['a@b.c'], channels: null, onStatus: [] })).toEqual(every)
    expect(parseNotifications({ channels: 'c', onEvent: 'launch' })).toEqual({
      recipients: [],
      channels: ['c'],
      onStatus: [],
      onEvent: ['launch'],
    })
  })

  test.each(['any', 'success', 'failed', 'aborted', 'warning', 'rejected', 'abandoned'])(
    'may be for the end %s',
    (end) => {
      expect(parseNotifications({ channels: 'c', onStatus: end })).toMatchObject({ onStatus: [end], onEvent: [] })
    },
  )

  test.each(['any', 'launch', 'relaunch', 'delete', 'approve', 'reject'])('may be for the event %s', (event) => {
    expect(parseNotifications({ channels: 'c', onEvent: [event] })).toMatchObject({ onStatus: [], onEvent: [event] })
  })

  test('may have 50 receivers of 320 characters and no more', () => {
    const long = 'a'.repeat(320)
    expect(parseNotifications({ channels: Array(50).fill(long) })?.channels).toHaveLength(50)
    expect(() => parseNotifications({ channels: Array(51).fill('a') })).toThrow('may have 50 entries, not 51')
    expect(() => parseNotifications({ channels: [`${long}a`] })).toThrow('must be texts of at most 320 characters')
  })

  test.each<[unknown, string]>([
    [[], 'notifications must be an object with recipients or channels, not []'],
    ['a@b.c', 'notifications must be an object with recipients or channels, not "a@b.c"'],
    [{}, 'notifications needs recipients or channels, not {}'],
    [{ onStatus: 'any' }, 'notifications needs recipients or channels'],
    [{ channels: 'c', on: 'any' }, 'notifications.on is unknown: there are recipients, channels, onStatus and onEvent'],
    [{ channels: 'c', onStatus: 'launch' }, 'notifications.onStatus may have any, success'],
    [{ channels: 'c', onEvent: 'success' }, 'notifications.onEvent may have any, launch'],
    [{ channels: [' '] }, 'notifications.channels must be texts of at most 320 characters, not " "'],
    [{ recipients: [5] }, 'notifications.recipients must be texts of at most 320 characters, not 5'],
  ])('%j are refused', (given, reason) => {
    expect(() => parseNotifications(given)).toThrow(reason)
  })
})
