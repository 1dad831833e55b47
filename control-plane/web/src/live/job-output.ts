import { api } from './api.js'
import type { OutputSource } from './output-source.js'

/** The output of a job of the control plane that these pages are of. */
export function outputOf(id: number): OutputSource {
  return {
    async index(signal) {
      const { bytes, lines, generation, points } = await api.getJobOutputIndex({ id }, { signal })
      return { bytes, lines, generation, points: points.map(([byte = 0, line = 0]) => [byte, line] as const) }
    },
    async part(offset, limit, signal) {
      const response = await api.getJobOutput({ id, offset, limit }, { signal })
      return { bytes: new Uint8Array(await response.arrayBuffer()), generation: numberIn(response, 'generation') }
    },
    outline(after, signal) {
      return api.getJobOutline({ id, after }, { signal })
    },
    async search(q, { matchCase, from, limit }, signal) {
      const { hits, next } = await api.getJobOutputSearch({ id, q, case: matchCase, from, limit }, { signal })
      return { hits: hits.map(([line = 0, byte = 0]) => [line, byte] as const), next }
    },
    async follow(offset, signal) {
      const response = await api.getJobOutput({ id, offset, follow: true }, { signal })
      return {
        length: numberIn(response, 'length'),
        isOpen: response.headers.get('x-output-open') !== 'false',
        generation: numberIn(response, 'generation'),
        pieces: piecesOf(response),
        cancel: async () => response.body?.cancel(),
      }
    },
  }
}

function numberIn(response: Response, name: 'generation' | 'length'): number {
  return Number(response.headers.get(`x-output-${name}`) ?? 0)
}

/** Bytes as they come. Safari cannot go through a body by itself. */
async function* piecesOf({ body }: Response): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader()
  try {
    for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) yield read.value
  } finally {
    await reader?.cancel()
  }
}
