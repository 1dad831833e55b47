import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type TestServer, startServer } from '../api/server.js'
import {
  type Asked,
  JO,
  type LyingDirectory,
  OP,
  TAG,
  control,
  entry,
  message,
  result,
  startLyingDirectory,
  tlv,
} from '../support/lying-directory.js'

/** A directory that was taken over, or somebody between, cannot stop the service, and lets nobody in whom it refuses. */

let directory: LyingDirectory
let server: TestServer
const log: string[] = []

beforeAll(async () => {
  directory = await startLyingDirectory()
  server = await startServer({
    log,
    config: `roles: [{name: admin, groups: [local/admins]}]
ldap: {url: "${directory.url}", searchBase: "dc=example,dc=com", bindCredential: reader}
`,
  })
  await server.writeCredentials(
    '- {name: reader, type: userpass, user: "cn=reader,dc=example,dc=com", password: reads-all}\n',
  )
})
afterAll(async () => {
  await server?.close()
  await directory?.close()
})
beforeEach(() => {
  log.length = 0
  // A directory that did not answer is left alone for a moment.
  server.clock.move(60 * 60_000)
  directory.lie(() => undefined)
})

const signIn = (username = 'jo', password = 'the canary') =>
  server.call('POST', '/auth/login', { json: { username, password } })
const lines = () =>
  log.map((line) => JSON.parse(line) as { level: number; msg: string; reason?: string; username?: string })
const isUser = ({ op, binds }: Asked) => op === OP.bind && binds === 1
const isService = ({ op, binds }: Asked) => op === OP.bind && binds === 0

test('an honest directory lets in its user', async () => {
  expect((await signIn()).status).toBe(200)
})

describe('bytes that are no answer end the connection, and the service goes on: ', () => {
  const id = Buffer.from([2])
  const broken: Record<string, (asked: Asked) => readonly Buffer[]> = {
    'a control without its end': () => [
      tlv(TAG.sequence, tlv(TAG.integer, id), result(OP.bindDone, 0), Buffer.from([0xa0, 0x02, 0x30, 0x84])),
    ],
    'nine thousand small messages at once': () => [
      Buffer.concat(Array.from({ length: 9000 }, () => message(99, tlv(OP.bindDone)))),
    ],
    'nine thousand right messages for somebody else': () => [
      Buffer.concat(Array.from({ length: 9000 }, () => message(99, result(OP.bindDone, 0)))),
      Buffer.from('x'),
    ],
    'a message of two gigabytes': () => [Buffer.from([0x30, 0x84, 0x7f, 0xff, 0xff, 0xff]), Buffer.alloc(65_536)],
    'a message of a negative length': () => [Buffer.from([0x30, 0x84, 0xff, 0xff, 0xff, 0xff, 1, 2, 3])],
    'a length without an end': () => [Buffer.from([0x30, 0x80, 0x02, 0x01, 0x02])],
    'a length of a hundred bytes': () => [Buffer.from([0x30, 0xe4, ...new Uint8Array(100)])],
    'a result without a code': ({ id: own }) => [message(own, tlv(OP.bindDone))],
    'a result with an empty code': ({ id: own }) => [
      message(own, tlv(OP.bindDone, tlv(TAG.enumerated), tlv(TAG.octets), tlv(TAG.octets))),
    ],
    'another protocol': () => [Buffer.from('HTTP/1.1 200 OK\r\n\r\n')],
    'an entry whose attributes are texts': ({ id: own }) => [
      message(own, tlv(OP.entry, tlv(TAG.octets, JO), tlv(TAG.sequence, tlv(TAG.octets, '\u0030\u0084')))),
    ],
    'an answer that no client knows': ({ id: own }) => [message(own, tlv(0x79))],
    'an empty policy': ({ id: own }) => [
      message(own, result(OP.bindDone, 0), [control('1.3.6.1.4.1.42.2.27.8.5.1', Buffer.alloc(0))]),
    ],
  }
  test.each(Object.entries(broken))('%s', async (_what, answer) => {
    directory.lie((asked) => (isService(asked) ? answer(asked) : undefined))
    const { status, body } = await signIn()
    expect([status, body.code]).toEqual([503, 'directory_unreachable'])
    expect((await server.call('GET', '/live')).status).toBe(200)
    expect(lines().find(({ msg }) => msg === 'the directory cannot be reached')?.reason).toMatch(/^the directory /)
  })

  test('a list of entries without an end', async () => {
    const many = { uid: ['jo'], mail: Array.from({ length: 1000 }, () => 'x'.repeat(60)) }
    directory.lie(({ op, id: own }) =>
      op === OP.search ? Array.from({ length: 200 }, () => message(own, entry(JO, many))) : undefined,
    )
    expect((await signIn()).body.code).toBe('directory_unreachable')
  })

  test('the end of the connection in the middle of an answer', async () => {
    directory.lie((asked) => {
      if (!isUser(asked)) return undefined
      asked.socket.end(message(asked.id, result(OP.bindDone, 0)).subarray(0, 6))
      return []
    })
    expect((await signIn()).body.code).toBe('directory_unreachable')
  })
})

describe('nobody gets in', () => {
  test.each([
    [
      'by the answer to another request',
      ({ id }: Asked) => [message(id + 1, result(OP.bindDone, 0)), message(id, result(OP.bindDone, 49))],
    ],
    ['by a referral', ({ id }: Asked) => [message(id, result(OP.bindDone, 10))]],
  ])('%s', async (_what, answer) => {
    directory.lie((asked) => (isUser(asked) ? answer(asked) : undefined))
    expect((await signIn()).status).not.toBe(200)
  })

  test.each([
    ['another user', entry('uid=boss,dc=example,dc=com', { uid: ['boss'] })],
    ['two names', entry(JO, { uid: ['jo', 'boss'] })],
    ['no name', entry(JO, {})],
    ['a distinguished name that means another way to sign in', entry('EXTERNAL', { uid: ['jo'] })],
    ['no distinguished name', entry('', { uid: ['jo'] })],
  ])('as %s that a search gives', async (_what, found) => {
    directory.lie(({ op, id }) =>
      op === OP.search ? [message(id, found), message(id, result(OP.searchDone, 0))] : undefined,
    )
    expect((await signIn()).status).not.toBe(200)
  })

  test('by a name that is a filter or a part of a distinguished name', async () => {
    const searched: string[] = []
    directory.lie(({ op, bytes, id }) => {
      if (op !== OP.search) return undefined
      searched.push(bytes.toString('latin1'))
      return [message(id, result(OP.searchDone, 0))]
    })
    for (const name of ['*', 'jo)(uid=*', 'jo,dc=example,dc=com', '\u0000jo', 'jo\\2a', 'uid=boss']) {
      expect([name, (await signIn(name)).status]).toEqual([name, expect.not.stringMatching('200')])
    }
    // As BER the value has its own length, so no sign in it means anything: 0xa3 is a filter for equality, 0xa4 one with `*`.
    for (const bytes of searched) expect(bytes).not.toMatch(/\u00a4/)
  })
})
