import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { type ClientRequest, request } from 'node:http'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { type ServerOptions, type TestServer, startServer } from '../api/server.js'
import { filePart, formOf, send, stored } from '../api/upload-client.js'
import { waitFor } from '../support/wait.js'

/** Users who upload more than there is room for, at the same time, or without any use for it. */

const MIB = 1024 * 1024
/** What the service leaves free for its database. */
const KEPT_FREE = 64 * MIB

const forms = {
  'file.yaml': `
name: Takes a file
type: ansible
playbook: hello.yml
roles: [uploaders]
fields: [{name: it, type: file, label: It}]
`,
  'text.yaml': `
name: Takes a text
type: ansible
playbook: hello.yml
roles: [public]
fields: [{name: it, type: text, label: It}]
`,
}
const config = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: uploaders, groups: [local/uploaders]}
`

let server: TestServer
afterEach(() => server.close())

async function start(options: ServerOptions = {}): Promise<string> {
  server = await startServer({ forms, config, ...options })
  return (await server.addUser('jane', ['uploaders'])).token
}

interface Sending {
  readonly request: ClientRequest
  status(): number | null
  text(): string
}

/** An upload that says its size, or does not, and whose end has not come. */
function begin(token: string, body: Buffer, { saysSize }: { readonly saysSize: boolean }): Sending {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'multipart/form-data; boundary=the-boundary-of-a-test',
    ...(saysSize ? { 'content-length': String(body.length) } : { 'transfer-encoding': 'chunked' }),
  }
  let status: number | null = null
  let text = ''
  const sending = request(`${server.url}/api/v2/job/upload`, { method: 'POST', headers }, (response) => {
    response.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
    })
    response.on('end', () => {
      status = response.statusCode ?? 0
    })
  })
  sending.on('error', () => undefined)
  sending.write(body.subarray(0, 600))
  return { request: sending, status: () => status, text: () => text }
}

const claims = () => server.store.read.selectFrom('upload_claim').selectAll().execute()
const bytesStored = () =>
  stored(server).reduce((sum, name) => {
    const stat = statSync(join(server.folder, 'uploads', name), { throwIfNoEntry: false })
    return sum + (stat?.size ?? 0)
  }, 0)
const body = (bytes: number) => formOf(filePart('a.bin', randomBytes(bytes)))

describe('the room on the disk', () => {
  test.each([
    ['say how much they bring', true],
    ['do not say how much they bring', false],
  ])('22 uploads at once that %s never eat what stays free', async (_what, saysSize) => {
    const room = KEPT_FREE + 10 * MIB
    let fewest = room
    const freeBytes = () => {
      const free = room - bytesStored()
      fewest = Math.min(fewest, free)
      return Promise.resolve(free)
    }
    const token = await start({ freeBytes })
    const content = body(3 * MIB - 1000)
    const sendings = Array.from({ length: 22 }, () => begin(token, content, { saysSize }))
    // All of them are under way or refused before any of them goes on.
    await waitFor('all to have begun', async () => {
      const refused = sendings.filter((sending) => sending.status() !== null).length
      return refused + (await claims()).length === 22
    })
    for (const sending of sendings) if (sending.status() === null) sending.request.end(content.subarray(600))
    await waitFor('all answers', () => sendings.every((sending) => sending.status() !== null))
    const good = sendings.filter((sending) => sending.status() === 200).length
    const full = sendings.filter((sending) => sending.text().includes('upload_disk_full'))
    expect([good + full.length, full.every((sending) => sending.status() === 503)]).toEqual([22, true])
    if (saysSize) expect(good).toBe(3)
    expect(good).toBeLessThanOrEqual(3)
    expect(room - bytesStored()).toBeGreaterThanOrEqual(KEPT_FREE)
    expect(fewest).toBeGreaterThanOrEqual(KEPT_FREE)
    expect(await claims()).toEqual([])
    expect(stored(server)).toHaveLength(good)
  })

  test('claims of a node that is gone are forgotten', async () => {
    const token = await start({ freeBytes: () => Promise.resolve(KEPT_FREE + 2 * MIB) })
    const claim = { owner_id: 1, bytes: 5 * MIB, written: 0, touched_at: server.clock.now() }
    await server.store.write('test', (queries) => queries.insertInto('upload_claim').values(claim).execute())
    expect((await send(server, body(MIB), token)).status).toBe(503)
    server.clock.move(11 * 60_000)
    expect((await send(server, body(MIB), token)).status).toBe(200)
  })
})

describe('quotas', () => {
  test('of a user: what is stored and what is under way counts together; others have their own', async () => {
    const token = await start({ sizes: { uploadQuotas: { ofUser: 5 * MIB, ofAll: 0 } } })
    expect((await send(server, body(2 * MIB), token)).status).toBe(200)
    const underWay = begin(token, body(2 * MIB), { saysSize: true })
    await waitFor('it to be claimed', async () => (await claims()).length === 1)
    const refused = await send(server, body(2 * MIB), token)
    expect([refused.status, refused.body.code]).toEqual([413, 'upload_quota'])
    expect((await send(server, body(4 * MIB), server.admin)).status).toBe(200)
    underWay.request.destroy()
    await waitFor('its room to be given back', async () => (await claims()).length === 0)
    expect((await send(server, body(2 * MIB), token)).status).toBe(200)
  })

  test('of a user also hold when the client does not say the size', async () => {
    const token = await start({ sizes: { uploadQuotas: { ofUser: 3 * MIB, ofAll: 0 } } })
    const content = body(8 * MIB)
    const sending = begin(token, content, { saysSize: false })
    sending.request.end(content.subarray(600))
    await waitFor('the refusal', () => sending.status() !== null)
    expect([sending.status(), sending.text()]).toEqual([413, expect.stringContaining('upload_quota')])
    expect([stored(server), await claims()]).toEqual([[], []])
  })

  test('of all users: 503, because the user who is refused did nothing wrong', async () => {
    const token = await start({ sizes: { uploadQuotas: { ofUser: 0, ofAll: 3 * MIB } } })
    expect((await send(server, body(2 * MIB), server.admin)).status).toBe(200)
    const refused = await send(server, body(2 * MIB), token)
    expect([refused.status, refused.body.code]).toEqual([503, 'upload_quota_of_all'])
  })
})
