import { putNewest } from '@holdfast/host/newest'
import { type Callers, createCallers } from './callers.js'

/** Lets only so many in at a time under one name. Callers take turns, so that nobody keeps another one waiting. */
export type Turns = ReturnType<typeof createTurns>

/** How turns are given. */
export interface TurnOptions {
  /** How many are inside at a time under one name. */
  readonly most: number
  /**
   * True: all work is short, so one caller may have every place. False, or left out: a caller gets a further place only
   * while more places are free than it has. So slow work of one caller takes half of the places at most, and a caller
   * who has none finds one.
   */
  readonly isShort?: boolean
  /** Most that wait under one name, of one caller and of all. Left out: something else limits them. */
  readonly waiting?: { readonly ofOne: number; readonly ofAll: number; readonly tooMany: () => Error }
}

/** Callers whose last turn is known, while a place is in use. */
const MAX_KNOWN = 10_000

interface Entry {
  readonly callers: Callers
  readonly enter: (leave: () => void) => void
  readonly refuse: (error: Error) => void
  /** Ends the listeners. */
  forget: () => void
}

/** What is inside and what waits under one name. */
interface Place {
  inside: number
  /** How many of the places each caller has. */
  readonly held: Map<string, number>
  /** The number of the last turn of each caller. The caller whose last turn was the longest time ago comes first. */
  readonly lastTurns: Map<string, number>
  /** What waits, by caller. Shared work waits under each of its callers. */
  readonly queues: Map<string, Set<Entry>>
  readonly waiting: Set<Entry>
}

/**
 * The next turn is for the caller who has the fewest places. Among these it is for the caller whose last turn was the
 * longest time ago. What one caller asks keeps its order. Everything that is taken either enters, or is refused, and
 * each that entered leaves once.
 */
export function createTurns(options: TurnOptions) {
  const places = new Map<string, Place>()
  let turnsSoFar = 0

  function placeOf(name: string): Place {
    const known = places.get(name)
    if (known) return known
    const made = { inside: 0, held: new Map(), lastTurns: new Map(), queues: new Map(), waiting: new Set<Entry>() }
    places.set(name, made)
    return made
  }

  function goOn(name: string, place: Place): void {
    for (let caller = nextCaller(place, options); caller !== null; caller = nextCaller(place, options)) {
      const [entry] = place.queues.get(caller) ?? []
      if (!entry) return
      removeEntry(place, entry)
      noteTurn(place, caller, (turnsSoFar += 1))
      enter(name, place, entry, caller)
    }
    if (place.inside === 0 && place.waiting.size === 0) places.delete(name)
  }

  function enter(name: string, place: Place, entry: Entry, caller: string): void {
    let isInside = true
    place.inside += 1
    place.held.set(caller, heldBy(place, caller) + 1)
    entry.enter(() => {
      if (!isInside) return
      isInside = false
      place.inside -= 1
      const left = heldBy(place, caller) - 1
      if (left > 0) place.held.set(caller, left)
      else place.held.delete(caller)
      goOn(name, place)
    })
  }

  return {
    /**
     * Waits for a turn.
     * @param callers for whom: the key of one caller, or those who share the work
     * @returns how to leave again; a second call does nothing
     * @throws Error when the signal is aborted before the turn comes; what `tooMany` makes, when too many wait
     */
    take(name: string, callers: string | Callers, signal?: AbortSignal): Promise<() => void> {
      return new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(notInTime())
        const place = placeOf(name)
        const shared = typeof callers === 'string' ? createCallers(callers) : callers
        const entry: Entry = { callers: shared, enter: resolve, refuse: reject, forget: () => undefined }
        const stop = () => {
          removeEntry(place, entry)
          reject(notInTime())
          goOn(name, place)
        }
        const changed = () => {
          queueEntry(place, entry)
          goOn(name, place)
        }
        const unwatch = shared.watch(changed)
        signal?.addEventListener('abort', stop, { once: true })
        entry.forget = () => {
          unwatch()
          signal?.removeEventListener('abort', stop)
        }
        place.waiting.add(entry)
        changed()
        refuseTooMany(place, entry, options)
      })
    },
  }
}

function heldBy({ held }: Place, caller: string): number {
  return held.get(caller) ?? 0
}

/** Whose turn it is; null: nobody who waits may have a place now. */
function nextCaller(place: Place, { most, isShort = false }: TurnOptions): string | null {
  const free = most - place.inside
  if (free <= 0) return null
  let next: string | null = null
  for (const caller of place.queues.keys()) {
    const held = heldBy(place, caller)
    if (!isShort && held >= free) continue
    if (next === null || isBefore(place, caller, next)) next = caller
  }
  return next
}

function isBefore(place: Place, one: string, other: string): boolean {
  const more = heldBy(place, one) - heldBy(place, other)
  return more === 0 ? (place.lastTurns.get(one) ?? 0) < (place.lastTurns.get(other) ?? 0) : more < 0
}

function noteTurn({ lastTurns }: Place, caller: string, turn: number): void {
  putNewest(lastTurns, caller, turn, MAX_KNOWN)
}

/** Puts what waits under exactly those callers that it has now. */
function queueEntry({ queues }: Place, entry: Entry): void {
  for (const [caller, queue] of queues) {
    if (entry.callers.keys.has(caller) || !queue.delete(entry)) continue
    if (queue.size === 0) queues.delete(caller)
  }
  for (const caller of entry.callers.keys) {
    const queue = queues.get(caller)
    if (queue) queue.add(entry)
    else queues.set(caller, new Set([entry]))
  }
}

function removeEntry({ queues, waiting }: Place, entry: Entry): void {
  entry.forget()
  waiting.delete(entry)
  for (const caller of entry.callers.keys) {
    const queue = queues.get(caller)
    queue?.delete(entry)
    if (queue?.size === 0) queues.delete(caller)
  }
}

/**
 * Refuses what came last of a caller who has too many waiting. When all callers together have too many, this is the
 * caller who has most.
 */
function refuseTooMany(place: Place, newest: Entry, { waiting: limits }: TurnOptions): void {
  if (!limits || !place.waiting.has(newest)) return
  const [own = ''] = newest.callers.keys
  const sizeOf = (caller: string) => place.queues.get(caller)?.size ?? 0
  if (sizeOf(own) > limits.ofOne) refuseLast(place, own, limits.tooMany())
  else if (place.waiting.size > limits.ofAll) {
    let most = own
    for (const caller of place.queues.keys()) if (sizeOf(caller) > sizeOf(most)) most = caller
    refuseLast(place, most, limits.tooMany())
  }
}

function refuseLast(place: Place, caller: string, error: Error): void {
  const last = [...(place.queues.get(caller) ?? [])].at(-1)
  if (!last) return
  removeEntry(place, last)
  last.refuse(error)
}

function notInTime(): Error {
  return new Error('the turn did not come in time')
}
