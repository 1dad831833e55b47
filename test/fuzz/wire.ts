import { type Socket, connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { AnswerReader, type WireAnswer } from './answers.js'
import { type Draft, render } from './draft.js'

/** How long nothing is thought of a missing answer, and what then tells a hang from a slow machine. */
export interface Patience {
  readonly quietMs: number
  /** So many requests for `/live` must be answered, one after the other, while this one is not: then it hangs. */
  readonly probes: number
  readonly everyMs: number
  /** Without an answer even to `/live` for so long, the service itself hangs. */
  readonly deadMs: number
}

/** Far beyond any machine's slowness. */
export const PATIENCE: Patience = { quietMs: 10_000, probes: 20, everyMs: 5000, deadMs: 300_000 }

/** What came of a request. */
export interface Exchange {
  readonly answers: readonly WireAnswer[]
  /** What came was no HTTP, or ended in the middle. */
  readonly problem: string | null
  readonly end: 'answered' | 'closed' | 'dropped' | 'hangs' | 'service hangs' | 'refused'
}

/** Sends requests to one address, over connections that it uses again. */
export interface Wire {
  exchange(draft: Draft): Promise<Exchange>
  /** Lets go of all connections. */
  close(): void
}

export function createWire(address: { readonly host: string; readonly port: number }, patience: Patience): Wire {
  const idle: Socket[] = []
  const open = new Set<Socket>()

  const dial = (): Socket => {
    const socket = connect({ ...address, allowHalfOpen: true })
    open.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => open.delete(socket))
    return socket
  }

  /** Once; `null`: the used connection was closed before anything of an answer came, as a server may do. */
  async function attempt(draft: Draft, socket: Socket, wasUsed: boolean): Promise<Exchange | null> {
    const bytes = render(draft)
    const reader = new AnswerReader((index) => draft.method === 'HEAD' && draft.raw === null && index === 0)
    const expected = draft.ending === 'answer' ? 1 : Infinity
    let heard = 0
    let fate = null as Exchange['end'] | null
    const over = new Promise<void>((resolve) => {
      const finish = (end: Exchange['end']): void => {
        fate ??= end
        resolve()
      }
      socket.on('data', (data) => {
        heard += data.length
        reader.push(data)
        if (reader.answers.length >= expected || reader.isEndless || reader.problem !== null) finish('answered')
      })
      socket.on('end', () => {
        reader.end()
        finish('closed')
      })
      socket.on('close', () => {
        if (fate === null) reader.end()
        finish(heard === 0 && socket.connecting ? 'refused' : 'closed')
      })
    })
    await send(socket, bytes, draft)
    if (draft.ending === 'drop') {
      release(socket, false)
      return { answers: [], problem: null, end: 'dropped' }
    }
    const watching = new AbortController()
    const hung = watchFor(patience, address, watching.signal)
    const verdict = await Promise.race([over.then(() => null), hung])
    watching.abort()
    const end: Exchange['end'] = verdict ?? fate ?? 'closed'
    if (wasUsed && heard === 0 && end === 'closed') return null
    const answers = reader.isEndless && reader.begun ? [...reader.answers, reader.begun] : reader.answers
    const last = answers.at(-1)
    const goesOn = end === 'answered' && draft.ending === 'answer' && !reader.isEndless && reader.problem === null
    release(socket, goesOn && last?.headers.get('connection')?.toLowerCase() === 'keep-alive')
    return { answers, problem: reader.problem, end }
  }

  function release(socket: Socket, isGood: boolean): void {
    for (const event of ['data', 'end', 'close'] as const) socket.removeAllListeners(event)
    socket.on('close', () => open.delete(socket))
    if (!isGood || socket.destroyed) {
      socket.destroy()
      return
    }
    // Whatever comes now was asked for by nobody.
    socket.once('data', () => socket.destroy())
    socket.once('end', () => socket.destroy())
    idle.push(socket)
  }

  return {
    async exchange(draft) {
      const isTidy = draft.ending === 'answer'
      let used = isTidy ? idle.pop() : undefined
      while (used?.destroyed) used = idle.pop()
      if (used) {
        used.removeAllListeners('data')
        used.removeAllListeners('end')
        const answered = await attempt(draft, used, true)
        if (answered) return answered
      }
      return (await attempt(draft, dial(), false)) as Exchange
    },
    close() {
      idle.length = 0
      for (const socket of open) socket.destroy()
    },
  }
}

async function send(socket: Socket, bytes: Buffer, draft: Draft): Promise<void> {
  const at = draft.breakAfter
  if (at === null || at >= bytes.length) socket.write(bytes)
  else {
    socket.write(bytes.subarray(0, at))
    await pause(2)
    socket.write(bytes.subarray(at))
  }
  if (draft.ending === 'half-close') socket.end()
  if (draft.ending === 'drop') await new Promise((resolve) => socket.write('', resolve))
}

/** Resolves when something hangs; never, once it is called off. */
async function watchFor(
  patience: Patience,
  address: { readonly host: string; readonly port: number },
  calledOff: AbortSignal,
): Promise<'hangs' | 'service hangs'> {
  const never = new Promise<never>(() => undefined)
  try {
    await pause(patience.quietMs, undefined, { signal: calledOff })
    for (let answered = 0; answered < patience.probes; answered += 1) {
      if (!(await isLive(address, AbortSignal.any([calledOff, AbortSignal.timeout(patience.deadMs)])))) {
        return calledOff.aborted ? await never : 'service hangs'
      }
      await pause(patience.everyMs, undefined, { signal: calledOff })
    }
    return 'hangs'
  } catch {
    return never
  }
}

async function isLive(
  address: { readonly host: string; readonly port: number },
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const answer = await fetch(`http://${address.host}:${address.port}/api/v2/live`, { signal })
    await answer.arrayBuffer()
    return true
  } catch {
    return false
  }
}
