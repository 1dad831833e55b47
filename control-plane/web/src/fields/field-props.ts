import type { FormField } from '@holdfast/client'

/** What a field is shown with. */
export interface FieldProps {
  readonly field: FormField
  readonly value: unknown
  readonly errors: readonly string[]
  /** @param value undefined: as if nothing had been typed, so the default counts */
  readonly change: (value: unknown) => void
  /** Fields of the rows of a list, by the name of their form. */
  readonly subforms: ReadonlyMap<string, readonly FormField[]>
}
