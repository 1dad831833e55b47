import { api } from './api.js'
import { type OutputSource, createGenerations } from './output-source.js'

/** The output of a job, from the control plane that serves these pages. */
export function outputOf(id: number): OutputSource {
  const generations = createGenerations()
  const stateOf = ({ headers }: Response) => ({
    length: Number(headers.get('x-output-length')),
    isOpen: headers.get('x-output-open') !== 'false',
    generation: generations.of(Number(headers.get('x-output-generation')), headers.get('x-run-id') ?? ''),
  })
  return {
    async index(signal) {
      const {
        bytes,
        lines,
        generation: own,
        run_id: run = '',
        points,
      } = await api.getJobOutputIndex({ id }, { signal })
      const generation = generations.of(own, run)
      return { bytes, lines, generation, points: points.map(([byte = 0, line = 0]) => [byte, line] as const) }
    },
    async part(offset, limit, signal) {
      const response = await api.getJobOutput({ id, offset, limit }, { signal })
      return { ...stateOf(response), bytes: new Uint8Array(await response.arrayBuffer()) }
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
      return { ...stateOf(response), pieces: piecesOf(response), cancel: async () => response.body?.cancel() }
    },
  }
}

/** The bytes as they come. Safari cannot iterate over a body. */
async function* piecesOf({ body }: Response): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader()
  try {
    for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) yield read.value
  } finally {
    await reader?.cancel()
  }
}
