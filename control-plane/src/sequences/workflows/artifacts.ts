import { holdsKept, parseKept } from '@holdfast/protocol'
import { type PlainObject, isPlainObject } from '../../forms/values/plain.js'
import { MAX_LEVELS, isDeeperThan } from '../../texts/value-levels.js'
import { RESERVED } from './node-data.js'

/** What a playbook published with `set_stats`. */
export interface Published {
  readonly artifacts: PlainObject
  /** A text about the values that the playbook also published and that cannot be passed on. */
  readonly lost: readonly string[]
}

/** Most characters of the artifacts of one node as JSON. They are passed on to every node behind it. */
const MAX_CHARACTERS = 1024 * 1024

/** The types of events that can contain artifacts. */
export const EVENTS_OF_ARTIFACTS = ['runner_on_ok', 'runner_item_on_ok']
/** The reason for leaving out a value with a number that JavaScript would change. */
const INEXACT = 'a number that cannot be kept digit by digit (publish it as a text)'
const TOO_DEEP = `nested deeper than ${MAX_LEVELS} levels`
const DATA_PATH = 'ansible_stats.data'
/** The event callback cuts the paths of cut values at this length (`_MAX_PATH` there). */
const MAX_PATH_LENGTH = 200

/**
 * Collects the artifacts of a run from its events, line by line, as ansible's own summary does. Values of several hosts
 * are put together, unless the task says `aggregate: false`. Values that are `per_host` do not count. A value that was
 * cut to fit into an event is left out, and its name is reported.
 */
export function createArtifacts(): { add(line: Buffer): void; published(): Published } {
  const values = new Map<string, unknown>()
  const lost = new Set<string>()
  /** Keys whose value is incomplete, and why. */
  const torn = new Map<string, string>()
  const tear = (key: string, why: string) => {
    values.delete(key)
    torn.set(key, why)
  }

  return {
    add(line) {
      if (!line.includes('"ansible_stats"') && !line.includes('set_stats"')) return
      const { event, mark } = readEvent(line)
      if (!event || !EVENTS_OF_ARTIFACTS.includes(String(event.type))) return
      const result = isPlainObject(event.result) ? event.result : {}
      if (result.censored !== undefined && /(^|\.)set_stats$/.test(String(event.action))) {
        lost.add('what was published under no_log')
      }
      const stats = result.ansible_stats
      const cuts = cutsIn(result)
      if (cuts === null) lost.add('values that were too large for an event')
      if (!isPlainObject(stats) || stats.per_host !== false || !isPlainObject(stats.data)) return
      if (cuts?.includes(DATA_PATH)) lost.add('some values: there were too many for an event')
      for (const [key, value] of Object.entries(stats.data)) {
        // A playbook must not choose the service's own variables for the next playbook.
        if (RESERVED.test(key)) continue
        if (isDeeperThan(value, MAX_LEVELS)) {
          tear(key, TOO_DEEP)
          continue
        }
        const before = stats.aggregate === true ? values.get(key) : undefined
        const isCut = cuts === null || cuts.some((path) => isWithin(path, `${DATA_PATH}.${key}`))
        const lostBefore = stats.aggregate === true ? torn.get(key) : undefined
        const whole = before === undefined ? value : together(before, value)
        if (lostBefore !== undefined) tear(key, lostBefore)
        else if (isCut) tear(key, 'too large for an event')
        else if ((mark !== null && holdsKept(value, mark)) || isTooLargeSum(whole, before)) tear(key, INEXACT)
        else {
          values.set(key, whole)
          torn.delete(key)
        }
      }
    },
    published() {
      const sizes = [...values].map(([key, value]) => ({ key, size: key.length + JSON.stringify(value).length + 4 }))
      let total = sizes.reduce((sum, { size }) => sum + size, 2)
      for (const { key, size } of sizes.sort((one, other) => other.size - one.size)) {
        if (total <= MAX_CHARACTERS) break
        total -= size
        tear(key, 'too large')
      }
      return {
        artifacts: Object.fromEntries(values),
        lost: [...lost, ...[...torn].map(([key, why]) => `'${key.slice(0, 100)}', which was ${why}`)],
      }
    },
  }
}

/** @returns the values. A number that JavaScript would change is a text here, which begins with `mark` */
function readEvent(line: Buffer): { readonly event: PlainObject | null; readonly mark: string | null } {
  try {
    const { value: event, mark } = parseKept(line.toString('utf8'))
    return { event: isPlainObject(event) ? event : null, mark }
  } catch {
    // The line is cut, or a playbook wrote it. It was stored unchanged, and is ignored here.
    return { event: null, mark: null }
  }
}

/** Python adds whole numbers of any length. */
function isTooLargeSum(sum: unknown, before: unknown): boolean {
  return Number.isInteger(sum) && Number.isInteger(before) && !Number.isSafeInteger(sum)
}

/** The paths at which the result of an event was cut; null when they are not known. */
function cutsIn(result: PlainObject): readonly string[] | null {
  const notes = result._cut
  if (notes === undefined) return []
  if (!Array.isArray(notes)) return null
  const paths = (notes as unknown[]).map((note) => (isPlainObject(note) ? note.path : undefined))
  return paths.every((path) => typeof path === 'string' && path !== '' && path !== 'ansible_stats')
    ? (paths as string[])
    : null
}

/** Whether something was cut in the value at `place`. */
function isWithin(path: string, place: string): boolean {
  if (path === place || path.startsWith(`${place}.`)) return true
  return path.length >= MAX_PATH_LENGTH && place.startsWith(path)
}

/** Puts two values of one key together as ansible does. A later value of another type does not count. */
function together(before: unknown, later: unknown): unknown {
  if (isPlainObject(before)) return isPlainObject(later) ? mergeHash(before, later) : before
  if (Array.isArray(before)) return Array.isArray(later) ? [...(before as unknown[]), ...(later as unknown[])] : before
  if (typeof before === 'string') return typeof later === 'string' ? before + later : before
  const isNumber = typeof later === 'boolean' || (typeof before === 'number' && typeof later === 'number')
  return isNumber && before !== null ? Number(before) + Number(later) : before
}

function mergeHash(before: PlainObject, later: PlainObject): PlainObject {
  const merged = new Map(Object.entries(before))
  for (const [key, value] of Object.entries(later)) {
    const known = merged.get(key)
    merged.set(key, isPlainObject(known) && isPlainObject(value) ? mergeHash(known, value) : value)
  }
  return Object.fromEntries(merged)
}
