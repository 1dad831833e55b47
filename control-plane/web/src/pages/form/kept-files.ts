import { type Place, keyOf } from '../../fields/place.js'
import type { Typed } from './sent-values.js'
import type { Values } from './form-parts.js'

/** The paths of the uploads in the rows of the job that is run again. */
export type KeptFiles = ReadonlySet<string>

/** What an upload was answered with. */
interface UploadValue {
  readonly originalname: string
  readonly path: string
}

function isUpload(value: unknown): value is UploadValue {
  return typeof value === 'object' && value !== null && 'originalname' in value && 'path' in value
}

/** The uploads that are among the values of a job. */
export function keptFilesOf(values: Values): KeptFiles {
  const kept = new Set<string>()
  walk(values, [], ({ path }) => kept.add(path))
  return kept
}

/** The keys of the places where uploads of the earlier job still are. Only the relaunch can say what is wrong with them. */
export function placesOfKept(kept: KeptFiles, typed: Typed): ReadonlySet<string> {
  const places = new Set<string>()
  if (kept.size === 0) return places
  for (const [step, values] of Object.entries(typed)) {
    walk(values, step === '' ? [] : [step], ({ path }, place) => {
      if (kept.has(path)) places.add(keyOf(place))
    })
  }
  return places
}

function walk(value: unknown, place: Place, found: (upload: UploadValue, place: Place) => void): void {
  if (isUpload(value)) found(value, place)
  else if (typeof value === 'object' && value !== null) {
    for (const [key, entry] of Object.entries(value)) walk(entry, [...place, key], found)
  }
}

/** A value as text. A file in it is its name. */
export function textOfValue(value: unknown): string {
  return JSON.stringify(value, (_key, entry: unknown) => (isUpload(entry) ? entry.originalname : entry))
}
