import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type TestServer, startServer } from '../api/server.js'
import {
  type LyingDirectory,
  OP,
  TAG,
  control,
  message,
  result,
  startLyingDirectory,
  tlv,
} from '../support/lying-directory.js'

/** What a directory says about a password beside "it is right", and what the log says about a refusal. */

const POLICY = '1.3.6.1.4.1.42.2.27.8.5.1'
let directory: LyingDirectory
let server: TestServer
const log: string[] = []

beforeAll(async () => {
  directory = await startLyingDirectory()
  server = await startServer({
    log,
    config: `roles: [{name: admin, groups: [local/admins]}]
ldap: {url: "${directory.url}", searchBase: "dc=example,dc=com"}
`,
  })
})
afterAll(async () => {
  await server?.close()
  await directory?.close()
})
beforeEach(() => {
  log.length = 0
  server.clock.move(60 * 60_000)
})

const signIn = () => server.call('POST', '/auth/login', { json: { username: 'jo', password: 'the canary' } })
const linesWith = (text: string) =>
  log
    .filter((line) => line.includes(text))
    .map((line) => JSON.parse(line) as { level: number; reason: string; username: string })

/** The directory answers to the user's password with this code, these words and these controls. */
function answers(code: number, words = '', ...controls: Buffer[]): void {
  directory.lie(({ op, id }) =>
    op === OP.bind ? [message(id, result(OP.bindDone, code, words), controls)] : undefined,
  )
}
const policy = (...parts: Buffer[]) => control(POLICY, tlv(TAG.sequence, ...parts))
const policyError = (code: number) => policy(tlv(0x81, Buffer.from([code])))
const grace = (left: number) => policy(tlv(0xa0, tlv(0x81, Buffer.from([left]))))

test('the directory is asked how it stands with the password', async () => {
  const asked: string[] = []
  directory.lie(({ op, bytes }) => void (op === OP.bind && asked.push(bytes.toString('latin1'))))
  expect((await signIn()).status).toBe(200)
  expect(asked.join()).toContain(POLICY)
})

describe('a right password is refused like a wrong one when', () => {
  test.each([
    ['it has expired', [policyError(0)], /expired/],
    ['the account is locked', [policyError(1)], /locked/],
    ['it has to be changed first', [policyError(2)], /changed first/],
    ['the policy has another error', [policyError(7)], /error 7/],
    [
      'it has to be changed first, in the words of Netscape',
      [control('2.16.840.1.113730.3.4.4', Buffer.from('0'))],
      /changed first/,
    ],
    [
      'one of two controls says so',
      [control('2.16.840.1.113730.3.4.5', Buffer.from('86400')), policyError(2)],
      /changed first/,
    ],
    [
      'there is also a warning',
      [policy(tlv(0xa0, tlv(0x81, Buffer.from([3]))), tlv(0x81, Buffer.from([2])))],
      /changed first/,
    ],
  ])('%s', async (_when, controls, reason) => {
    answers(0, '', ...controls)
    const refused = await signIn()
    expect([refused.status, refused.body.code]).toEqual([401, 'wrong_credentials'])
    expect(linesWith('refused a sign-in')).toMatchObject([
      { level: 40, username: 'jo', reason: expect.stringMatching(reason) },
    ])
  })
})

describe('a right password is accepted when', () => {
  test.each([
    ['it will expire', [policy(tlv(0xa0, tlv(0x80, Buffer.from([0x0e, 0x10]))))], /expire soon/],
    ['it has expired, and sign-ins are left', [grace(2)], /2 more sign-ins/],
    [
      'it will expire, in the words of Netscape',
      [control('2.16.840.1.113730.3.4.5', Buffer.from('3600'))],
      /expire soon/,
    ],
    ['the policy says nothing', [policy()], null],
    ['there are controls of others', [control('1.2.3', Buffer.from('x'))], null],
  ])('%s', async (_when, controls, warning) => {
    answers(0, '', ...controls)
    expect((await signIn()).status).toBe(200)
    const said = linesWith('warns about a password').map(({ reason }) => reason)
    expect(said).toEqual(warning === null ? [] : [expect.stringMatching(warning)])
  })
})

const active = (data: string) =>
  `80090308: LdapErr: DSID-0C090439, comment: AcceptSecurityContext error, data ${data}, v4563`

describe('the log says in a sentence why a directory refuses', () => {
  test.each([
    [49, '', [], /password is wrong/],
    [49, active('532'), [], /password has expired/],
    [49, active('773'), [], /changed first/],
    [49, active('775'), [], /account is locked/],
    [49, '', [policyError(1)], /account is locked/],
    [49, 'the canary of the server \u001b[2J', [], /password is wrong/],
  ])('with code %i, words %j and %j', async (code, words, controls, reason) => {
    answers(code, words, ...controls)
    const refused = await signIn()
    expect([refused.status, refused.body.error]).toEqual([401, 'Wrong username or password'])
    expect(linesWith('refused a sign-in')).toMatchObject([{ username: 'jo', reason: expect.stringMatching(reason) }])
    expect(log.join('')).not.toContain('canary')
  })
})
