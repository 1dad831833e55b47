import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy'
import { InvalidInputError, messageOf } from '../../errors.js'
import { FILE_PART } from '../../uploads/description.js'
import type { FileNames } from '../../uploads/uploads.js'

const EXPECTED = `Send a multipart form with one part named '${FILE_PART}' that holds the file`

/** Most bytes of the headers of a part. Only the file name can be long. */
const MAX_HEADER_BYTES = 32 * 1024

/**
 * Reads a multipart body that must contain exactly one part, the file. It passes on the bytes as they arrive, and reads
 * the next ones when `write` has taken the last. When it fails, it reads no more of the body and writes no more of the
 * file.
 * @param signal ends the reading, with its reason
 * @throws InvalidInputError when the body is not such a form, is incomplete, or has other parts; the errors of `write`
 */
export async function readFilePart(
  request: { readonly headers: IncomingHttpHeaders; readonly body: Readable; readonly signal: AbortSignal },
  write: (bytes: Buffer) => Promise<void>,
): Promise<FileNames> {
  const { body, signal } = request
  const parser = parserOf(request.headers)
  const streams: BusboyFileStream[] = []
  const found: FileNames[] = []
  let writing: Promise<void> = Promise.resolve()

  const parsed = new Promise<void>((resolve, reject) => {
    const stop = () => reject(signal.reason as Error)
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    parser
      .on('file', (field, stream, originalname, encoding, mimetype) => {
        streams.push(stream)
        // The parser reports the same error, so it is not reported here.
        stream.on('error', () => undefined)
        if (field !== FILE_PART) return reject(wrongPart(field))
        if (originalname === '') return reject(noFile('the part has no file name'))
        found.push({ originalname, encoding, mimetype })
        writing = writeAll(stream, write)
        writing.catch(reject)
      })
      .on('field', (field) => reject(field === FILE_PART ? noFile('the part has no file name') : wrongPart(field)))
      .on('partsLimit', () =>
        reject(new InvalidInputError('several_parts', `There is more than one part. ${EXPECTED}`)),
      )
      .on('error', (error) => reject(broken(messageOf(error))))
      .on('finish', () => resolve())
    body
      .on('error', () => reject(broken('it broke off')))
      .on('close', () => {
        if (!body.readableEnded) reject(broken('it broke off'))
      })
      .pipe(parser)
    // The body may have ended before the listener was attached.
    if (body.destroyed) reject(broken('it broke off'))
  })

  try {
    await parsed
    await writing
  } finally {
    body.unpipe(parser)
    // When this fails, nothing more may be written.
    streams.forEach((stream) => stream.destroy())
    await writing.catch(() => undefined)
  }
  const [names] = found
  if (!names) throw noFile('there is no part')
  return names
}

function parserOf(headers: IncomingHttpHeaders): BusboyInstance {
  const contentType = headers['content-type'] ?? ''
  try {
    return new Busboy({
      headers: { ...headers, 'content-type': contentType },
      preservePath: true,
      limits: { parts: 1, headerPairs: 50, headerSize: MAX_HEADER_BYTES, fieldSize: 1024 },
      isPartAFile: (_field, _type, name) => name !== undefined,
    })
  } catch (error) {
    throw broken(messageOf(error))
  }
}

async function writeAll(stream: BusboyFileStream, write: (bytes: Buffer) => Promise<void>): Promise<void> {
  for await (const bytes of stream) await write(bytes as Buffer)
}

function noFile(why: string): InvalidInputError {
  return new InvalidInputError('no_file', `There is no file: ${why}. ${EXPECTED}`)
}

function wrongPart(name: string | undefined): InvalidInputError {
  return new InvalidInputError('wrong_part', `A part is named ${JSON.stringify(name ?? '')}. ${EXPECTED}`)
}

function broken(why: string): InvalidInputError {
  return new InvalidInputError('broken_multipart', `The multipart form cannot be read: ${why}`)
}
