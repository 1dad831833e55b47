import type { Client, Job, JobRecord } from '@holdfast/client'
import type { Output } from '../../../control-plane/src/cli/terminal.js'

/** A control plane with one job, as a client sees it. The test changes the job and says when something changed. */
export function jobAtService(first: object = {}) {
  const streams = new Set<ReadableStreamDefaultController<Uint8Array>>()
  const bytes = (text: string) => new TextEncoder().encode(text)
  const service = {
    job: {
      id: 7,
      status: 'running',
      step: null,
      approval: null,
      status_reason: null,
      detail: null,
      start: '2026-01-01T00:00:00.000Z',
      end: '2026-01-01T00:00:05.000Z',
      ...first,
    } as unknown as Job,
    output: '',
    /** The run that a piece of output names. Null: it names none. */
    outputRun: null as string | null,
    /** Most bytes of one piece. */
    pieceBytes: 1000,
    /** What a request for the job fails with. */
    failure: null as Error | null,
    /** What a request for the live events fails with. */
    streamFailure: null as Error | null,
    /** The requests for the job, and for its output from a byte on. */
    asked: [] as unknown[],
    openStreams: () => streams.size,
    /** Changes the job, and sends a live event. */
    change(more: object = {}): void {
      Object.assign(service.job, more)
      service.send('event: changed\ndata: {"name":"jobs"}\n\n')
    },
    send(text: string): void {
      for (const stream of streams) stream.enqueue(bytes(text))
    },
  }
  const client = {
    server: 'http://a',
    async getJob(request: unknown, options?: { readonly signal?: AbortSignal | undefined }) {
      service.asked.push(request)
      // As over a network, others run meanwhile.
      await new Promise((resolve) => setImmediate(resolve))
      options?.signal?.throwIfAborted()
      if (service.failure) throw service.failure
      return { ...service.job } as Job
    },
    getJobOutput({ offset }: { readonly offset: number }) {
      service.asked.push(offset)
      const piece = bytes(service.output).subarray(offset, offset + service.pieceBytes)
      const headers = new Headers({ 'x-next-offset': String(offset + piece.length) })
      if (service.outputRun !== null) headers.set('x-run-id', service.outputRun)
      return Promise.resolve(new Response(piece, { headers }))
    },
    watchEvents(_request: unknown, { signal }: { readonly signal: AbortSignal }) {
      if (service.streamFailure) return Promise.reject(service.streamFailure)
      const body = new ReadableStream<Uint8Array>({
        start(stream) {
          streams.add(stream)
          signal.addEventListener('abort', () => {
            if (streams.delete(stream)) stream.error(signal.reason)
          })
        },
        cancel: () => streams.clear(),
      })
      return Promise.resolve(new Response(body))
    },
  } as unknown as Client
  return { service, client }
}

/** A terminal of which stdout and stderr are kept. */
export function keptTerminal(how: Partial<Pick<Output, 'isTerminal' | 'color'>> = {}) {
  const [shown, said] = [[] as Buffer[], [] as Buffer[]]
  const to = (pieces: Buffer[]): Output => ({
    isTerminal: false,
    color: false,
    columns: 80,
    ...how,
    write: (data) => Promise.resolve(void pieces.push(Buffer.from(data))),
  })
  return {
    terminal: { environment: {}, stdin: process.stdin, stdout: to(shown), stderr: to(said) },
    shown: () => Buffer.concat(shown).toString(),
    said: () => Buffer.concat(said).toString(),
  }
}

/** A sink that keeps what it is told, one text each. */
export function keptSink() {
  const told: string[] = []
  const tell = (text: string) => Promise.resolve(void told.push(text))
  return {
    told,
    sink: {
      status: ({ status, step }: JobRecord) => tell(step === null ? status : `${status} ${step}`),
      output: (piece: Uint8Array, offset: number) => tell(`${offset}: ${Buffer.from(piece).toString()}`),
      left: ({ left_seconds: left }: { readonly left_seconds: number }) => tell(`${left} s left`),
      connectionLost: ({ message }: Error) => tell(`lost: ${message}`),
      connectionBack: () => tell('back'),
    },
  }
}
