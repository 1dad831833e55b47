import { expect, test } from 'vitest'
import { createWords } from '../../control-plane/src/notifications/words.js'
import type { NotificationEvent } from '../../control-plane/src/store/service/notification-events.js'

const job = {
  id: 7,
  parent: null,
  form: 'Web server',
  target: 'site.yml',
  status: 'success',
  reason: null,
  user: 'jo',
  userType: 'local',
  runner: 'north',
  start: Date.UTC(2026, 0, 1),
  end: null,
}
const approval = {
  kind: 'approval' as const,
  job,
  title: null,
  message: '<b>markup</b>',
  messageText: null,
  roles: [],
  mails: [],
}
const runner = { id: 1, name: 'north', host: 'n.example', ip: '192.0.2.1', fingerprint: 'AB' }
const { mailOf } = createWords('https://holdfast.example')
const linesOf = (event: NotificationEvent) => mailOf(event).text.split('\n')

test('a message about an approval names who may give it', () => {
  expect(linesOf(approval)).toContain('May approve: an admin')
  expect(linesOf({ ...approval, roles: ['ops', 'dev'] })).toContain('May approve: ops, dev or an admin')
  expect(linesOf({ ...approval, title: 'Sure?', messageText: 'Two\nlines' })).toEqual(
    [
      'Job 7 (Web server) waits for an approval',
      '',
      'Sure?',
      'Two\nlines',
      '',
      'Form: Web server',
      'Status: success',
      'User: jo',
      'Runner: north',
      'Start: 2026-01-01T00:00:00.000Z',
      'May approve: an admin',
      '',
      'https://holdfast.example/jobs/7',
      '',
    ].flatMap((text) => text.split('\n')),
  )
})

test('a message about a child job names its step, and about an ended job its end and reason', () => {
  const child = { ...job, parent: 3, end: Date.UTC(2026, 0, 2), reason: 'ansible ended with 2', status: 'failed' }
  const event: NotificationEvent = { kind: 'job', what: 'ended', job: child, declared: null }
  expect(mailOf(event).subject).toBe('[Holdfast] Job 7 (Web server, site.yml): failed')
  expect(linesOf(event)).toEqual(
    expect.arrayContaining(['Step: site.yml', 'Reason: ansible ended with 2', 'End: 2026-01-02T00:00:00.000Z']),
  )
})

test('a message has a link if there is something to see', () => {
  const linkIn = (event: NotificationEvent) => linesOf(event).some((text) => text.startsWith('https:'))
  expect(linkIn({ kind: 'job', what: 'launch', job, declared: null })).toBe(true)
  expect(linkIn({ kind: 'job', what: 'delete', job, declared: null })).toBe(false)
  expect(linkIn({ kind: 'runner', what: 'lost', runner })).toBe(false)
  expect(createWords(null).mailOf(approval).text).not.toContain('http')
})

test('texts of people stay on their line and are cut', () => {
  const event: NotificationEvent = { kind: 'job', what: 'launch', job: { ...job, form: 'a\r\nBcc: x' }, declared: null }
  expect(mailOf(event).subject).toBe('[Holdfast] Job 7 (a Bcc: x) was launched')
  const long = mailOf({ ...event, job: { ...job, form: 'y'.repeat(1000) } }).subject
  expect([long.length, long.at(-1)]).toEqual([300, '…'])
  const exact = linesOf({ ...approval, messageText: 'z'.repeat(4000) })
  expect(exact).toContain('z'.repeat(4000))
})
