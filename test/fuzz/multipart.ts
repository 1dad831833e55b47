import type { Chance } from '../chaos/kit/seed.js'
import { type Draft, setBody, setHeader } from './draft.js'

const BOUNDARY = '----holdfast-fuzz'

interface Part {
  readonly disposition: string
  readonly type?: string
  readonly content: Buffer
}

/** A multipart form with one file, as a client should send it. */
export function setUpload(draft: Draft, chance: Chance): void {
  const name = chance.pick(['a.txt', 'site.iso', 'größe.txt', 'with blank.bin', 'x'.repeat(200)])
  const content = Buffer.alloc(chance.pick([0, 1, 100, 5000, 70_000]), chance.between(0, 255))
  setParts(draft, [filePart(name, content, chance.pick(['text/plain', 'application/octet-stream', 'a/b; c=d']))])
}

function setParts(draft: Draft, parts: readonly Part[]): void {
  setBody(draft, bytesOf(parts), `multipart/form-data; boundary=${BOUNDARY}`)
}

function filePart(name: string, content: Buffer, type = 'text/plain', field = 'file'): Part {
  return { disposition: `form-data; name="${field}"; filename="${name}"`, type, content }
}

function bytesOf(parts: readonly Part[], end = `--${BOUNDARY}--\r\n`): Buffer {
  const pieces = parts.flatMap(({ disposition, type, content }) => [
    Buffer.from(`--${BOUNDARY}\r\ncontent-disposition: ${disposition}\r\n`),
    Buffer.from(type === undefined ? '\r\n' : `content-type: ${type}\r\n\r\n`),
    content,
    Buffer.from('\r\n'),
  ])
  return Buffer.concat([...pieces, Buffer.from(end)])
}

const CONTENT = Buffer.from('content')
/** Above UPLOAD_MAX_GB=1. */
const TOO_LARGE_BYTES = 2 * 1024 ** 3

const FILE_NAMES = [
  '',
  '.',
  '..',
  '../../../etc/passwd',
  'C:\\\\windows\\\\x.ini',
  '/etc/shadow',
  'a\0b',
  'x'.repeat(4097),
  'x'.repeat(30_000),
  '\u202egpj.exe',
  'a%00b%2f..%2f',
  "a'; rm -rf /",
  '\r\n\r\nx',
  '\ud83e',
]

/** What is answered with 413. */
export const TOO_LONG = 'a length above the limit'

const MALFORMED: Readonly<Record<string, (draft: Draft, chance: Chance) => void>> = {
  'no part': (draft) => setParts(draft, []),
  'two parts': (draft) => setParts(draft, [filePart('a', CONTENT), filePart('b', CONTENT)]),
  'a part of another name': (draft, chance) =>
    setParts(draft, [filePart('a', CONTENT, 'text/plain', chance.pick(['files', '', '__proto__', 'FILE', 'file\0']))]),
  'a field, not a file': (draft) => setParts(draft, [{ disposition: 'form-data; name="file"', content: CONTENT }]),
  'a strange file name': (draft, chance) => setParts(draft, [filePart(chance.pick(FILE_NAMES), CONTENT)]),
  'a file name in other words': (draft, chance) =>
    setParts(draft, [
      {
        disposition: `form-data; name="file"; filename*=${chance.pick(["UTF-8''a%20b", "x''%ff", "'''", 'UTF-16'])}`,
        content: CONTENT,
      },
    ]),
  'a strange disposition': (draft, chance) =>
    setParts(draft, [
      {
        disposition: chance.pick(['', 'attachment', 'form-data', 'form-data; name', 'form-data; name="file', ';;;=']),
        content: CONTENT,
      },
    ]),
  'a huge header': (draft, chance) =>
    setParts(draft, [filePart('a', CONTENT, `text/${'x'.repeat(chance.pick([10_000, 40_000, 200_000]))}`)]),
  'many headers': (draft) =>
    setParts(draft, [filePart('a', CONTENT, `text/plain\r\n${'x-header: 1\r\n'.repeat(500)}x: y`)]),
  'another boundary in the header': (draft, chance) =>
    setHeader(
      draft,
      'content-type',
      `multipart/form-data${chance.pick(['', '; boundary=', '; boundary=other', '; boundary=""', `; boundary=${'b'.repeat(5000)}`, '; boundary=a; boundary=b', '; charset=x', ';boundary=\u00e9'])}`,
    ),
  'no end': (draft) => {
    draft.body = bytesOf([filePart('a', CONTENT)], '')
  },
  'cut off': (draft, chance) => {
    draft.body = (draft.body ?? CONTENT).subarray(0, chance.between(0, Math.min(200, draft.body?.length ?? 0)))
  },
  'bytes after the end': (draft) => {
    draft.body = Buffer.concat([bytesOf([filePart('a', CONTENT)]), Buffer.from('more\r\n'.repeat(100))])
  },
  'bare line feeds': (draft) => {
    draft.body = Buffer.from((draft.body ?? CONTENT).toString('latin1').replaceAll('\r\n', '\n'), 'latin1')
  },
  'random bytes': (draft, chance) => {
    draft.body = Buffer.from(Array.from({ length: 300 }, () => chance.between(0, 255)))
  },
  'an empty body': (draft) => {
    draft.body = Buffer.alloc(0)
  },
  'JSON in its place': (draft) => setBody(draft, Buffer.from('{"file":"x"}'), 'application/json'),
  [TOO_LONG]: (draft) => {
    draft.framing = 'none'
    setHeader(draft, 'content-length', String(TOO_LARGE_BYTES))
    draft.ending = 'half-close'
  },
  'broken off': (draft) => {
    draft.framing = 'none'
    setHeader(draft, 'content-length', String((draft.body?.length ?? 0) + 1000))
    draft.ending = 'half-close'
  },
  'left alone': (draft) => {
    draft.framing = 'none'
    setHeader(draft, 'content-length', String((draft.body?.length ?? 0) + 1000))
    draft.ending = 'drop'
  },
}

/** A multipart form with one thing wrong. @returns what is wrong */
export function setMalformedUpload(draft: Draft, chance: Chance, wanted?: string): string {
  setUpload(draft, chance)
  const name = wanted ?? chance.pick(Object.keys(MALFORMED))
  MALFORMED[name]?.(draft, chance)
  return name
}
