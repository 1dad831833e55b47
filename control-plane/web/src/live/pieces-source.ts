import type { OutputSource } from './output-source.js'

/** Sets colours and the like. People do not search for it. */
const ESCAPES = /\u001b\[[\d;]*m/g

/** Output that was read already, as a source for the view of outputs. It has no outline of its own. */
export function sourceOfBytes(bytes: Uint8Array): OutputSource {
  const generation = 0
  return {
    index: () => Promise.resolve(null),
    part: (offset, length) => Promise.resolve({ bytes: bytes.subarray(offset, offset + length), generation }),
    follow: (offset) =>
      Promise.resolve({
        length: bytes.length,
        isOpen: false,
        generation,
        pieces: onePiece(bytes.subarray(offset)),
        cancel: () => Promise.resolve(),
      }),
    outline: () => Promise.resolve({ count: 0, records: [], last: 0, complete: true, recap: null }),
    search: (word, { matchCase, limit }) => {
      const small = (text: string) => (matchCase ? text : text.toLowerCase())
      const lines = new TextDecoder().decode(bytes).split('\n')
      const hits = [...lines.entries()]
        .filter(([, text]) => small(text.replace(ESCAPES, '')).includes(small(word)))
        .map(([line]) => [line, 0] as const)
      return Promise.resolve({ hits: hits.slice(0, limit), next: null })
    },
  }
}

async function* onePiece(piece: Uint8Array): AsyncGenerator<Uint8Array> {
  if (piece.length > 0) yield await Promise.resolve(piece)
}
