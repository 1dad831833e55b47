import { randomBytes } from 'node:crypto'
import { chmodSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { waitFor } from '../../support/wait.js'
import { heldTimers } from '../held-timers.js'
import { type ServerOptions, type TestServer, startServer } from '../server.js'
import { beginning, filePart, formOf, open, send, stored, upload } from '../upload-client.js'
import { covers } from '../../interface/covers.js'

const MIB = 1024 * 1024
const ROOM = 1024 * MIB

/** Uploads are for who may use a form that takes files. */
const forms = {
  'file.yaml': `
name: Takes a file
type: ansible
playbook: hello.yml
roles: [public]
fields: [{name: it, type: file, label: It}]
`,
}

let shared: TestServer
/** The shared one, or one of the test's own. */
let server: TestServer
async function startOwn(options: ServerOptions): Promise<void> {
  server = await startServer({ forms, ...options })
}
beforeAll(async () => {
  shared = server = await startServer({ forms })
})
afterEach(async () => {
  if (server === shared) {
    for (const name of stored(shared)) rmSync(join(shared.folder, 'uploads', name))
    await shared.store.write('test', (queries) => queries.deleteFrom('upload').execute())
    return
  }
  await server.close()
  server = shared
})
afterAll(() => shared.close())

const rows = () => server.store.read.selectFrom('upload').selectAll().execute()
const nothingIsLeft = () =>
  waitFor('nothing to be left', async () => stored(server).length === 0 && (await rows()).length === 0)

describe('POST /job/upload', () => {
  test('answers the upload description: fieldname, originalname, encoding, mimetype, destination, filename, path, size', async () => {
    covers(
      'endpoint.upload',
      'upload.fieldname',
      'upload.originalname',
      'upload.encoding',
      'upload.mimetype',
      'upload.destination',
      'upload.filename',
      'upload.path',
      'upload.size',
    )
    const content = randomBytes(100_000)
    const answer = await send(server, formOf(filePart('site.pem', content, ['Content-Type: application/x-pem-file'])))
    expect(answer.status).toBe(200)
    const filename = String(answer.body.filename)
    const destination = join(server.folder, 'uploads')
    expect(answer.body).toEqual({
      fieldname: 'file',
      originalname: 'site.pem',
      encoding: '7bit',
      mimetype: 'application/x-pem-file',
      destination,
      filename,
      path: join(destination, filename),
      size: content.length,
    })
    expect(readFileSync(String(answer.body.path)).equals(content)).toBe(true)
  })

  test('only users who may use a form with a file field may upload', async () => {
    const { token } = await server.addUser('nobody-special')
    expect((await send(server, formOf(filePart('a', 'x')), token)).status).toBe(200)
    const answer = await server.call('POST', '/job/upload', {
      body: formOf(filePart('a', 'x')),
      headers: { 'content-type': 'multipart/form-data; boundary=the-boundary-of-a-test' },
    })
    expect(answer.status).toBe(401)
    expect(stored(server)).toHaveLength(1)
  })

  test('stored names are random, and only their owner may use the files', async () => {
    const [one, other] = [await upload(server, 'same', 'same'), await upload(server, 'same', 'same')]
    expect(one.filename).toMatch(/^[0-9a-f]{32}$/)
    expect(one.filename).not.toBe(other.filename)
    expect(statSync(String(one.path)).mode & 0o777).toBe(0o600)
    expect(statSync(String(one.destination)).mode & 0o777).toBe(0o700)
  })

  test('an empty file is a file', async () => {
    expect(await upload(server, 'empty', '')).toMatchObject({ size: 0 })
  })

  test('the limit of JSON bodies does not apply to uploads', async () => {
    await startOwn({ sizes: { bodyLimitBytes: 10_000 } })
    expect(await upload(server, 'large', randomBytes(100_000))).toMatchObject({ size: 100_000 })
  })

  test('bytes that look like the boundary are content', async () => {
    const content = '\r\n--the-boundary-of-a-tes\r\n--\r\n\r\n--the'
    expect(readFileSync(String((await upload(server, 'tricky', content)).path), 'utf8')).toBe(content)
  })
})

describe('original names are only data', () => {
  test.each([
    ['../../../etc/passwd', 'passwd'],
    ['/etc/shadow', 'shadow'],
    ['C:\\Users\\ann\\report.doc', 'report.doc'],
    ['nu\0ll\u0007.txt', 'null.txt'],
    ['grüße 世界 🎉.yml', 'grüße 世界 🎉.yml'],
    ['{{ lookup("pipe", "id") }}'.replaceAll('"', "'"), "{{ lookup('pipe', 'id') }}"],
    [`${'x'.repeat(3000)}.zip`, `${'x'.repeat(3000)}.zip`],
    ['-rf', '-rf'],
    ['.htaccess', '.htaccess'],
  ])('%j', async (name, kept) => {
    const answer = await upload(server, name, 'x')
    expect(answer.originalname).toBe(kept)
    expect(stored(server)).toEqual([answer.filename])
  })

  test('a name in the form of RFC 5987 is accepted, too', async () => {
    const part = { disposition: 'name="file"; filename*=UTF-8\'\'gr%C3%BC%C3%9Fe.txt', content: 'x' }
    expect((await send(server, formOf(part))).body).toMatchObject({ originalname: 'grüße.txt' })
  })

  test.each([
    ['a name that is longer than any name', 'x'.repeat(5000), 'file_name_too_long'],
    ['no name but a path', 'folder/', 'file_name_missing'],
    ['two dots', '..', 'file_name_missing'],
  ])('%s is refused', async (_what, name, code) => {
    expect(await send(server, formOf(filePart(name, 'x')))).toMatchObject({ status: 400, body: { code } })
    await nothingIsLeft()
  })
})

describe('400 for a body that is not a form with exactly one file, and no file stays', () => {
  const text = (name: string) => ({ disposition: `name="${name}"`, content: 'words' })
  test.each<[string, Buffer, string, string?]>([
    ['no part', formOf(), 'no_file'],
    ['a text instead of a file', formOf(text('file')), 'no_file'],
    ['a file without a name, as browsers send when nothing was chosen', formOf(filePart('', '')), 'no_file'],
    ['another part than file', formOf({ disposition: 'name="upload"; filename="a"', content: 'x' }), 'wrong_part'],
    ['another text', formOf(text('comment')), 'wrong_part'],
    ['two files', formOf(filePart('a', 'x'), filePart('b', 'y')), 'several_parts'],
    ['a file and a text', formOf(filePart('a', 'x'), text('comment')), 'several_parts'],
    [
      'a part without a disposition',
      Buffer.from('--the-boundary-of-a-test\r\n\r\nx\r\n--the-boundary-of-a-test--\r\n'),
      'no_file',
    ],
    ['a form that ends in the middle', beginning(randomBytes(200_000)), 'broken_multipart'],
    ['bytes that are no form', randomBytes(5000), 'broken_multipart'],
    ['an empty body', Buffer.alloc(0), 'broken_multipart'],
    ['no boundary', formOf(filePart('a', 'x')), 'broken_multipart', 'multipart/form-data'],
    ['JSON', Buffer.from('{"file": "x"}'), 'no_file', 'application/json'],
  ])('%s', async (_what, body, code, type) => {
    const answer = await send(server, body, server.admin, type)
    expect(answer).toMatchObject({ status: 400, body: { code } })
    expect(String(answer.body.error)).toMatch(/\w+/)
    await nothingIsLeft()
    // The service is none the worse.
    expect(await upload(server, 'next', 'x')).toMatchObject({ size: 1 })
  })

  test('another kind of body is 415, and no body is 400', async () => {
    covers('answer.400', 'answer.415')
    expect((await send(server, Buffer.from('x'), server.admin, 'text/plain')).status).toBe(415)
    const answer = await server.call('POST', '/job/upload', { token: server.admin })
    expect(answer).toMatchObject({ status: 400, body: { code: 'no_file' } })
  })
})

describe('413 over UPLOAD_MAX_GB', () => {
  test('a body that says that it is too large is refused before it is read', async () => {
    covers('answer.413')
    await startOwn({ sizes: { uploadMaxBytes: MIB } })
    const answer = await send(server, formOf(filePart('a', randomBytes(3 * MIB))))
    expect(answer).toMatchObject({ status: 413, body: { code: 'upload_too_large' } })
    await nothingIsLeft()
  })

  test('a body that does not say its size is refused when it is too large, and the partial file is removed', async () => {
    await startOwn({ sizes: { uploadMaxBytes: MIB } })
    const { request, answer } = open(server)
    request.write(beginning(randomBytes(MIB - 1)))
    await waitFor('the partial file', () => stored(server).length === 1)
    expect(stored(server)[0]).toMatch(/\.part$/)
    request.write(randomBytes(5000))
    expect((await answer).statusCode).toBe(413)
    await nothingIsLeft()
    request.destroy()
  })
})

describe('a failed upload leaves no file', () => {
  test('a client that goes away in the middle: the partial file is removed', async () => {
    const { request } = open(server)
    request.write(beginning(randomBytes(300_000)))
    await waitFor('the partial file', () => stored(server).length === 1)
    request.destroy()
    await nothingIsLeft()
  })

  test('a client that goes away before its file begins: no partial file stays', async () => {
    let isAsked = false
    let goOn = (): void => undefined
    const gate = new Promise<void>((resolve) => (goOn = resolve))
    const freeBytes = async () => {
      isAsked = true
      await gate
      return ROOM
    }
    await startOwn({ freeBytes })
    const connectionEnded = new Promise((resolve) => {
      server.parts.app.server.once('request', ({ socket }) => socket.once('close', resolve))
    })
    const { request } = open(server)
    request.write(beginning('x'))
    await waitFor('the upload to be begun', () => isAsked)
    request.destroy()
    await connectionEnded
    goOn()
    // One that was begun later is whole by now: the partial file of the first one was made before.
    const { filename } = await upload(server, 'other', 'x')
    await waitFor('only the other one to be left', () => stored(server).join() === filename)
  })

  test('a client that sends next to nothing in two minutes is disconnected', async () => {
    const held = heldTimers()
    await startOwn({ timers: held.timers })
    const { request, answer } = open(server)
    const storedBytes = () => stored(server).map((name) => statSync(join(server.folder, 'uploads', name)).size)[0] ?? 0
    request.write(beginning(randomBytes(200_000)))
    await waitFor('the first bytes', () => storedBytes() > 199_000)
    const before = storedBytes()
    held.move(120_000)
    request.write(randomBytes(1000))
    await waitFor('a little more', () => storedBytes() > before)
    held.move(120_000)
    expect((await answer).statusCode).toBe(400)
    await nothingIsLeft()
    // Who goes on sending after the answer is cut off.
    request.write('more')
    held.move(10_000)
    await waitFor('the end of the connection', () => request.socket?.destroyed)
  })

  test('a service that stops ends uploads with 503', async () => {
    const held = heldTimers()
    await startOwn({ timers: held.timers })
    const { request, answer } = open(server)
    request.write(beginning('x'))
    await waitFor('the partial file', () => stored(server).length === 1)
    const closing = server.parts.app.close()
    expect((await answer).statusCode).toBe(503)
    await nothingIsLeft()
    held.move(10_000)
    await closing
  })

  test('a full disk is 503 with a clear error, before and while the file comes', async () => {
    let free = 0
    await startOwn({ freeBytes: () => Promise.resolve(free) })
    const refused = {
      status: 503,
      body: { code: 'upload_disk_full', error: expect.stringMatching(/no room/) as string },
    }
    expect(await send(server, formOf(filePart('a', 'x')))).toMatchObject(refused)
    free = 100 * MIB
    expect(await send(server, formOf(filePart('a', randomBytes(40 * MIB))))).toMatchObject(refused)
    free = ROOM
    const { request, answer } = open(server)
    request.write(beginning('x'))
    await waitFor('the partial file', () => stored(server).length === 1)
    free = 0
    request.end(randomBytes(20 * MIB))
    expect((await answer).statusCode).toBe(503)
    await nothingIsLeft()
  })

  test('a folder that cannot be written is 503, and the log has the reason', async () => {
    const log: string[] = []
    await startOwn({ log })
    const folder = join(server.folder, 'uploads')
    rmSync(folder, { recursive: true })
    writeFileSync(folder, 'a file')
    const answer = await send(server, formOf(filePart('a', 'x')))
    expect(answer).toMatchObject({ status: 503, body: { code: 'upload_not_stored' } })
    expect(answer.text).not.toContain(server.folder)
    await waitFor('the log', () => log.some((line) => line.includes('ENOTDIR')))
    chmodSync(folder, 0o600)
  })
})

test('several uploads at once are not mixed up', async () => {
  const contents = Array.from({ length: 8 }, () => randomBytes(700_000))
  const answers = await Promise.all(contents.map((content, index) => upload(server, `f${index}`, content)))
  answers.forEach((answer, index) => {
    expect(answer.originalname).toBe(`f${index}`)
    expect(readFileSync(String(answer.path)).equals(contents[index] ?? Buffer.alloc(0))).toBe(true)
  })
})

test('the documentation describes the request and the answer', async () => {
  const { body } = await server.call('GET', '/docs/json')
  const paths = body.paths as Record<string, { post: { requestBody: { content: object } } }>
  expect(Object.keys(paths['/api/v2/job/upload']?.post.requestBody.content ?? {})).toEqual(['multipart/form-data'])
  // For readers of YAML, too.
  const yaml = await server.call('GET', '/docs/yaml')
  expect(parse(yaml.text)).toEqual(body)
})
