import WebSocket from 'ws'
import { waitFor } from '../support/wait.js'

/** What asks a program of Node.js to open its inspector, on a port of its own choice. */
export const INSPECTABLE = { NODE_OPTIONS: '--inspect-port=127.0.0.1:0' } as const

/**
 * Bytes that are alive in the main thread of a program of Node.js: after a full collection, so that neither the moment
 * nor the machine matters. The inspector is opened by a signal and serves this process only while it is asked.
 * @param said what the program has said so far: Node.js tells there where its inspector listens
 */
export async function liveHeapOf(pid: number, said: () => string): Promise<number> {
  process.kill(pid, 'SIGUSR1')
  const address = await waitFor(
    'the inspector to listen',
    () => [...said().matchAll(/Debugger listening on (ws:\/\/\S+)/g)].at(-1)?.[1],
  )
  const socket = new WebSocket(address, { perMessageDeflate: false })
  const answers = new Map<number, unknown>()
  let failed: Error | null = null
  socket.on('message', (data: Buffer) => {
    const { id, result } = JSON.parse(data.toString('utf8')) as { id?: number; result?: unknown }
    if (id !== undefined) answers.set(id, result)
  })
  socket.on('error', (error) => (failed = error))
  try {
    await waitFor('the inspector to take the connection', () => {
      if (failed) throw failed
      return socket.readyState === WebSocket.OPEN
    })
    const ask = async <T>(id: number, method: string): Promise<T> => {
      socket.send(JSON.stringify({ id, method }))
      return (await waitFor(`the inspector to answer ${method}`, () => answers.get(id))) as T
    }
    await ask(1, 'HeapProfiler.enable')
    await ask(2, 'HeapProfiler.collectGarbage')
    const { usedSize } = await ask<{ usedSize: number }>(3, 'Runtime.getHeapUsage')
    return usedSize
  } finally {
    socket.close()
    await waitFor('the inspector to let go', () => socket.readyState === WebSocket.CLOSED)
  }
}
