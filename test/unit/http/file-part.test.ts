import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { readFilePart } from '../../../control-plane/src/http/forms/file-part.js'

const BOUNDARY = 'xyz'
const TYPE = `multipart/form-data; boundary=${BOUNDARY}`

const part = (disposition: string, content: string, more = '') =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; ${disposition}\r\n${more}\r\n${content}\r\n`
const file = (content: string, name = 'a.txt') =>
  part(`name="file"; filename="${name}"`, content, 'Content-Type: text/plain\r\n')
const END = `--${BOUNDARY}--\r\n`

interface Given {
  readonly type?: string
  readonly signal?: AbortSignal
  readonly write?: (bytes: Buffer) => Promise<void>
}

/** Reads a body that comes in small pieces. @returns the names of the file, and what was written of it */
async function read(body: string | Readable, { type = TYPE, signal, write }: Given = {}) {
  const written: Buffer[] = []
  const stream =
    typeof body === 'string' ? Readable.from(body.match(/[^]{1,7}/g)?.map((text) => Buffer.from(text)) ?? []) : body
  const names = await readFilePart(
    {
      headers: type === '' ? {} : { 'content-type': type },
      body: stream,
      signal: signal ?? new AbortController().signal,
    },
    write ?? (async (bytes) => void written.push(Buffer.from(bytes))),
  )
  return { names, text: Buffer.concat(written).toString() }
}

describe('a form with one file', () => {
  test('is read, with the name of the file as it was sent', async () => {
    expect(await read(file('some text', 'folder/ä b.txt') + END)).toEqual({
      names: { originalname: 'folder/ä b.txt', encoding: '7bit', mimetype: 'text/plain' },
      text: 'some text',
    })
    expect((await read(file('') + END)).text).toBe('')
  })

  test('is written piece by piece: the next is read when the last was taken', async () => {
    let [open, most] = [0, 0]
    const write = async () => {
      open += 1
      most = Math.max(most, open)
      await new Promise((resolve) => setImmediate(resolve))
      open -= 1
    }
    await read(file('x'.repeat(1000)) + END, { write })
    expect([open, most]).toEqual([0, 1])
  })
})

describe('another body is refused', () => {
  test.each([
    ['no part', END, 'no_file'],
    ['a file without a name', part('name="file"; filename=""', 'x') + END, 'no_file'],
    ['a value in place of a file', part('name="file"', 'x') + END, 'no_file'],
    ['a file of another name', part('name="other"; filename="a"', 'x') + END, 'wrong_part'],
    ['a value of another name', part('name="other"', 'x') + END, 'wrong_part'],
    ['two files', file('a') + file('b') + END, 'several_parts'],
    ['a file and a value', file('a') + part('name="b"', 'x') + END, 'several_parts'],
    ['no end', file('some text'), 'broken_multipart'],
  ])('%s', async (_what, body, code) => {
    await expect(read(body)).rejects.toMatchObject({ code })
  })

  test.each(['', 'text/plain', 'multipart/form-data'])('one of the type %j', async (type) => {
    await expect(read(file('a') + END, { type })).rejects.toMatchObject({ code: 'broken_multipart' })
  })
})

describe('the reading ends', () => {
  /** A body of which only the beginning comes. */
  const halfBody = () => {
    const body = new Readable({ read: () => undefined })
    body.push(file('x'.repeat(1000)).slice(0, 600))
    return body
  }
  const anError = new Error('no more')

  test('with the error of who writes, and nothing more is written', async () => {
    let writes = 0
    const write = async () => {
      writes += 1
      throw anError
    }
    await expect(read(file('x'.repeat(1000)) + END, { write })).rejects.toBe(anError)
    expect(writes).toBe(1)
  })

  test('when it is told to, before and while the body comes', async () => {
    await expect(read(halfBody(), { signal: AbortSignal.abort(anError) })).rejects.toBe(anError)
    const ending = new AbortController()
    const reading = read(halfBody(), { signal: ending.signal })
    setImmediate(() => ending.abort(anError))
    await expect(reading).rejects.toBe(anError)
  })

  test.each([
    ['that breaks', (body: Readable) => body.destroy(new Error('reset'))],
    ['that is closed', (body: Readable) => body.destroy()],
  ])('at a body %s', async (_what, end) => {
    const body = halfBody()
    const reading = read(body)
    setImmediate(() => end(body))
    await expect(reading).rejects.toMatchObject({
      code: 'broken_multipart',
      message: 'The multipart form cannot be read: it broke off',
    })
  })

  test('at a body that was closed before', async () => {
    const body = halfBody()
    body.destroy()
    await expect(read(body)).rejects.toMatchObject({ code: 'broken_multipart' })
  })
})
