import type { FormField } from '@holdfast/client'
import type { Place } from './place.js'

/** What a field is shown with. */
export interface FieldProps {
  readonly field: FormField
  readonly place: Place
  readonly value: unknown
  /** What the job that is run again had here, as text; null or left out: the same. */
  readonly before?: string | null
  /** What is wrong with the value at a place: of the field, or in one of its rows. */
  readonly problemsAt: (place: Place) => readonly string[]
  /**
   * @param value undefined: as if nothing had been typed, so the default counts
   * @param at where in the rows of the field it was changed; left out: the field itself
   */
  readonly change: (value: unknown, at?: Place) => void
  /** Fields of the rows of a list, by the name of their form. */
  readonly subforms: ReadonlyMap<string, readonly FormField[]>
}
