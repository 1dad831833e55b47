/** How the body of a request is sent. */
export type BodyKind = { readonly chunked: true } | { readonly chunked: false; readonly bytes: number }

/**
 * Finds where the requests on a connection end. Only Node.js judges them. A request that this takes for another one than
 * Node.js does is cut at other places, and Node.js refuses it or reads it as before.
 */
export type MessageCutter = ReturnType<typeof createMessageCutter>

/** No request is shorter. So empty lines before a request do not become pieces of their own. */
const SHORTEST_HEAD = 16
/** Most characters of a line with the size of a chunk that are looked at. */
const MAX_SIZE_LENGTH = 64
const LF = 0x0a
const CR = 0x0d

/** What comes next. `left`: bytes until it ends. A head or trailer ends with an empty line. */
type Expected =
  | { readonly kind: 'lines'; readonly isTrailer: boolean; bytes: number; line: 'begun' | 'empty' | 'empty, CR' }
  | { readonly kind: 'body'; left: number }
  | { readonly kind: 'size'; text: string }
  | { readonly kind: 'chunk'; left: number }

const head = (): Expected => ({ kind: 'lines', isTrailer: false, bytes: 0, line: 'begun' })

/** Makes a {@link MessageCutter} for one connection. */
export function createMessageCutter() {
  let expected: Expected = head()

  /** @returns how many bytes were used, and whether the head or the body has ended with them */
  function step(data: Buffer): { readonly used: number; readonly isEnd: boolean } {
    switch (expected.kind) {
      case 'lines': {
        const used = untilEmptyLine(data, expected)
        const isEnd = used !== null
        if (isEnd) expected = head()
        return { used: used ?? data.length, isEnd }
      }
      case 'body': {
        const used = Math.min(expected.left, data.length)
        expected.left -= used
        const isEnd = expected.left === 0
        if (isEnd) expected = head()
        return { used, isEnd }
      }
      case 'size': {
        const end = data.indexOf(LF)
        const used = end === -1 ? data.length : end + 1
        if (expected.text.length < MAX_SIZE_LENGTH)
          expected.text += data.toString('latin1', 0, Math.min(used, MAX_SIZE_LENGTH))
        if (end !== -1) expected = afterSize(expected.text)
        return { used, isEnd: false }
      }
      case 'chunk': {
        const used = Math.min(expected.left, data.length)
        expected.left -= used
        if (expected.left === 0) expected = { kind: 'size', text: '' }
        return { used, isEnd: false }
      }
    }
  }

  return {
    /**
     * @returns how many of these bytes belong to the head or the body that is being sent now. With the last of these
     * bytes the head or the body ends, or they are all bytes
     */
    cut(data: Buffer): number {
      let length = 0
      while (length < data.length) {
        const { used, isEnd } = step(data.subarray(length))
        length += used
        if (isEnd) break
      }
      return length
    },
    /** The head has ended, and such a body follows. */
    bodyFollows(kind: BodyKind): void {
      if (kind.chunked) expected = { kind: 'size', text: '' }
      else if (kind.bytes > 0) expected = { kind: 'body', left: kind.bytes }
    },
    /** Whether the next byte begins a head. */
    isAtHead: (): boolean => expected.kind === 'lines' && !expected.isTrailer && expected.bytes === 0,
  }
}

function afterSize(text: string): Expected {
  const size = Number.parseInt(text, 16)
  if (size === 0) return { kind: 'lines', isTrailer: true, bytes: 0, line: 'empty' }
  // A line end follows the bytes of a chunk. Without a size, Node.js refuses the request.
  return { kind: 'chunk', left: (Number.isNaN(size) ? 0 : size) + 2 }
}

/** @returns the index after the empty line; null: it does not come in these bytes */
function untilEmptyLine(data: Buffer, lines: Extract<Expected, { kind: 'lines' }>): number | null {
  const shortest = lines.isTrailer ? 0 : SHORTEST_HEAD
  let { line } = lines
  for (let at = 0; at < data.length; at += 1) {
    const byte = data[at]
    if (byte === LF) {
      if (line !== 'begun' && lines.bytes + at + 1 >= shortest) return at + 1
      line = 'empty'
    } else line = byte === CR && line === 'empty' ? 'empty, CR' : 'begun'
  }
  lines.bytes += data.length
  lines.line = line
  return null
}
