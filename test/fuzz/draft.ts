import type { ActorName } from './world.js'

/** How a connection goes on after the bytes of a request were sent. */
export type Ending =
  /** Its answer is waited for; the connection may be used again. */
  | 'answer'
  /** Nothing more will come from here; whatever is answered is read to the end. */
  | 'half-close'
  /** The connection is torn down at once. */
  | 'drop'

export type Kind = 'valid' | 'near-valid' | 'wild' | 'largest'

/** A request before it becomes bytes: each part of it can be made wrong by itself. */
export interface Draft {
  kind: Kind
  /** The operation that it is meant for; null: none in particular. */
  operation: string | null
  /** What is wrong or special about it, in a word or two. */
  twist: string
  actor: ActorName
  method: string
  /** The path as it is sent. */
  path: string
  /** The query as it is sent, without `?`; null: none. */
  query: string | null
  version: string
  headers: (readonly [string, string])[]
  body: Buffer | null
  framing: 'length' | 'chunked' | 'none'
  ending: Ending
  /** Sent in the place of everything above when set. */
  raw: Buffer | null
  /** Bytes after which a short break is made when sending: a request does not arrive in one piece. */
  breakAfter: number | null
}

export function emptyDraft(method: string, path: string, actor: ActorName): Draft {
  return {
    kind: 'valid',
    operation: null,
    twist: '',
    actor,
    method,
    path,
    query: null,
    version: 'HTTP/1.1',
    headers: [],
    body: null,
    framing: 'length',
    ending: 'answer',
    raw: null,
    breakAfter: null,
  }
}

/** Puts a header in the place of all of its name; null removes it. */
export function setHeader(draft: Draft, name: string, value: string | null): void {
  draft.headers = draft.headers.filter(([other]) => other.toLowerCase() !== name.toLowerCase())
  if (value !== null) draft.headers.push([name, value])
}

export function headerOf(draft: Draft, name: string): string | undefined {
  return draft.headers.find(([other]) => other.toLowerCase() === name.toLowerCase())?.[1]
}

/** The body as JSON. */
export function setJson(draft: Draft, value: unknown): void {
  setBody(draft, Buffer.from(JSON.stringify(value) ?? 'null'), 'application/json')
}

export function setBody(draft: Draft, body: Buffer, contentType: string): void {
  draft.body = body
  setHeader(draft, 'content-type', contentType)
}

/** The bytes of a request. */
export function render(draft: Draft): Buffer {
  if (draft.raw) return draft.raw
  const target = draft.query === null ? draft.path : `${draft.path}?${draft.query}`
  const headers = [...draft.headers]
  if (draft.framing === 'length' && draft.body) headers.push(['content-length', String(draft.body.length)])
  if (draft.framing === 'chunked') headers.push(['transfer-encoding', 'chunked'])
  const lines = [`${draft.method} ${target} ${draft.version}`, ...headers.map(([name, value]) => `${name}: ${value}`)]
  const body = draft.body ?? Buffer.alloc(0)
  return Buffer.concat([
    Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'utf8'),
    draft.framing === 'chunked' ? chunked(body) : body,
  ])
}

/** A body in chunks of a few sizes. */
function chunked(body: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let at = 0, size = 1; at < body.length; at += size, size = (size * 7) % 4096 || 1) {
    const piece = body.subarray(at, at + size)
    parts.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'))
    size = piece.length
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')])
}
