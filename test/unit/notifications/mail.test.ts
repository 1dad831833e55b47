import { describe, expect, onTestFinished, test } from 'vitest'
import type { MailSettings } from '../../../control-plane/src/notifications/mail-settings.js'
import { createMails } from '../../../control-plane/src/notifications/mail.js'
import type { Delivery } from '../../../control-plane/src/store/service/notification-deliveries.js'
import { startMailServer } from '../../support/mail-server.js'
import { TEST_CERTIFICATE } from '../../support/test-certificate.js'

const DELIVERY: Delivery = {
  id: 1,
  uid: 'u1',
  lane: 'mail',
  targetId: null,
  recipient: 'ann@example.com',
  event: 'job.ended',
  eventAt: 1,
  jobId: 7,
  subject: 'A subject',
  body: 'A text\n',
  state: 'waiting',
  attempts: 1,
  nextAt: 1,
  problem: null,
  createdAt: 1,
  endedAt: null,
}
type Refuse = Parameters<typeof startMailServer>[1]

/** A mail server, and what sends to it. */
async function mails(settings: Partial<MailSettings> = {}, refuse?: Refuse, options: object = {}) {
  const server = await startMailServer({ ...TEST_CERTIFICATE, ...options }, refuse)
  onTestFinished(() => server.close())
  const send = createMails({
    host: '127.0.0.1',
    port: server.port,
    tls: 'none',
    login: null,
    from: 'jobs@holdfast.example',
    ...settings,
  })
  const attempt = (change: Partial<Delivery> = {}, signal = new AbortController().signal) =>
    send({ ...DELIVERY, ...change }, { now: 1, signal })
  return { attempt, received: server.mails }
}

test('a mail has its receiver, its subject, its text, and the id of its delivery', async () => {
  const { attempt, received } = await mails()
  await attempt()
  await attempt({ subject: null })
  expect(received).toMatchObject([
    { from: 'jobs@holdfast.example', to: ['ann@example.com'], isEncrypted: false, user: null },
    { to: ['ann@example.com'] },
  ])
  expect(received[0]?.text).toContain('Message-ID: <u1@holdfast.example>')
  expect(received[0]?.text).toContain('Subject: A subject')
  expect(received[0]?.text).toMatch(/\r\n\r\nA text\r\n/)
})

describe('a problem', () => {
  const refusal =
    (responseCode: number, text = 'we do not want it') =>
    () =>
      Object.assign(new Error(text), { responseCode })

  test.each([
    [550, true],
    [500, true],
    [499, false],
    [450, false],
  ])('with the answer %i to an address stays: %s', async (code, isFinal) => {
    const { attempt, received } = await mails({}, refusal(code))
    await expect(attempt()).rejects.toMatchObject({
      name: 'DeliveryProblem',
      isFinal,
      message: expect.stringContaining('we do not want it') as string,
    })
    expect(received).toEqual([])
  })

  test('is told in at most 300 characters', async () => {
    const { attempt } = await mails({}, refusal(550, 'y'.repeat(400)))
    const problem = await attempt().catch((error: unknown) => error as Error)
    expect(problem?.message).toHaveLength(300)
  })

  test.each([
    ['no address', { recipient: 'nobody' }, 'This is no mail address'],
    ['two addresses', { recipient: 'a@x.example, b@x.example' }, 'This is no mail address'],
  ])('is final for %s', async (_what, change, message) => {
    const { attempt } = await mails()
    await expect(attempt(change)).rejects.toMatchObject({ isFinal: true, message })
  })

  test('is final without a mail server', async () => {
    const { signal } = new AbortController()
    await expect(createMails(null)(DELIVERY, { now: 1, signal })).rejects.toMatchObject({
      isFinal: true,
      message: 'No mail server is set: SMTP_HOST is empty',
    })
  })

  test('may pass when the attempt was stopped, before it began or later', async () => {
    const { attempt } = await mails()
    const late = { isFinal: false, message: 'The mail server did not answer in time' }
    await expect(attempt({}, AbortSignal.abort())).rejects.toMatchObject(late)
    const stopping = new AbortController()
    const silent = await mails({}, () => {
      stopping.abort()
      return null
    })
    await expect(silent.attempt({}, stopping.signal)).rejects.toMatchObject(late)
  })
})

describe('encryption', () => {
  test('is not used where it is off, also if the server offers it', async () => {
    const { attempt, received } = await mails({ tls: 'none' })
    await attempt()
    expect(received).toMatchObject([{ isEncrypted: false }])
  })

  test.each(['starttls', 'tls'] as const)('with %s asks for a certificate that is trusted', async (tls) => {
    const { attempt, received } = await mails({ tls }, undefined, { secure: tls === 'tls' })
    await expect(attempt()).rejects.toMatchObject({ isFinal: false })
    expect(received).toEqual([])
  })
})
