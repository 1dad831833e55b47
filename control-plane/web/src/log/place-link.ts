import { api } from '../live/api.js'
import type { LineRange } from './line-link.js'

/**
 * The lines of an event (`#E4711`), the heading of a task (`#T17`), or the first lines of a host (`#H=web1`).
 * @returns null: there are none yet
 */
export async function linesOfPlace(id: number, hash: string, signal: AbortSignal): Promise<LineRange | null> {
  const name = hash.slice(2)
  if (hash.startsWith('#H')) return linesOfHost(id, decodeURIComponent(name.slice(1)), signal)
  if (hash.startsWith('#E')) return linesOfEvent(id, Number(name), signal)
  const { records } = await api.getJobOutline({ id }, { signal })
  const task = records.find((record) => record.id === Number(name))
  return task ? linesOfEvent(id, task.order, signal) : null
}

async function linesOfEvent(id: number, order: number, signal: AbortSignal): Promise<LineRange | null> {
  const [event, next] = (await api.getJobEvents({ id, after: order - 1, limit: 2 }, { signal })).records
  if (event?.order !== order || typeof event.line !== 'number') return null
  const to = typeof next?.line === 'number' ? next.line - 1 : event.line
  return { from: event.line, to: Math.max(event.line, to) }
}

async function linesOfHost(id: number, host: string, signal: AbortSignal): Promise<LineRange | null> {
  const { records } = await api.getJobEvents({ id, host }, { signal })
  const found = records.find(({ from, to }) => (to ?? 0) > (from ?? 0))
  return found ? linesOfEvent(id, found.order, signal) : null
}
