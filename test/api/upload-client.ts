import { readdirSync } from 'node:fs'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import type { Answer, TestServer } from './server.js'

const BOUNDARY = 'the-boundary-of-a-test'
const TYPE = `multipart/form-data; boundary=${BOUNDARY}`

export interface Part {
  /** Parameters of the part's Content-Disposition, as they are sent. */
  readonly disposition: string
  readonly headers?: readonly string[]
  readonly content: Buffer | string
}

/** The part that a client sends for a file. */
export function filePart(name: string, content: Buffer | string, headers: readonly string[] = []): Part {
  return { disposition: `name="file"; filename="${name}"`, headers, content }
}

export function formOf(...parts: readonly Part[]): Buffer {
  const bytes = parts.flatMap(({ disposition, headers = [], content }) => [
    Buffer.from(
      [`--${BOUNDARY}`, `Content-Disposition: form-data; ${disposition}`, ...headers, '', ''].join('\r\n'),
      'utf8',
    ),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ])
  return Buffer.concat([...bytes, Buffer.from(`--${BOUNDARY}--\r\n`)])
}

/** Sends a form to the upload endpoint. */
export function send(server: TestServer, body: Buffer, token = server.admin, type = TYPE): Promise<Answer> {
  return server.call('POST', '/job/upload', { token, body, headers: { 'content-type': type } })
}

export async function upload(
  server: TestServer,
  name: string,
  content: Buffer | string,
  token?: string,
): Promise<Record<string, unknown>> {
  const answer = await send(server, formOf(filePart(name, content)), token)
  if (answer.status !== 200) throw new Error(`upload of ${name}: ${answer.status} ${answer.text}`)
  return answer.body
}

/** An upload whose body comes as the test says it. */
export function open(server: TestServer): {
  readonly request: ClientRequest
  readonly answer: Promise<IncomingMessage>
} {
  const headers = { authorization: `Bearer ${server.admin}`, 'content-type': TYPE, 'transfer-encoding': 'chunked' }
  const sending = request(`${server.url}/api/v2/job/upload`, { method: 'POST', headers })
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    sending.on('response', resolve).on('error', reject)
  })
  answer.catch(() => undefined)
  return { request: sending, answer }
}

/** The beginning of a form with one file, up to its first bytes. */
export function beginning(content: Buffer | string): Buffer {
  const whole = formOf(filePart('part.bin', content))
  return whole.subarray(0, whole.length - `\r\n--${BOUNDARY}--\r\n`.length)
}

/** What lies in the upload folder. */
export function stored(server: TestServer): string[] {
  return readdirSync(join(server.folder, 'uploads')).sort()
}
