import type { PathStep } from '../fields/model-path.js'
import type { ValidationErrors } from './report.js'

/** A field as a page has to show it while people fill in the form. */
export interface ShownField {
  readonly shown: boolean
  readonly required: boolean
  /** The present value. A password has none here. */
  readonly value?: unknown
  /** The options of a field with choices, if they could be computed. */
  readonly choices?: readonly unknown[]
  /** Why it could not be evaluated. */
  readonly waiting?: string
  /** Its source, or that of a field that it needs, has not answered yet. So the page should ask again. */
  readonly asking?: boolean
}

/** The parts of a form that a page has to show: its fields, and the steps of a wizard with their fields. */
export interface ShownForm {
  readonly fields: Readonly<Record<string, ShownField>>
  readonly steps: Readonly<Record<string, ShownStep>>
  /** The rows that were asked for, as far as they are there. */
  readonly rows: readonly ShownRow[]
}

/** A row of a list. */
export interface ShownRow {
  /** What leads to it, such as `['disks', 0]`. */
  readonly row: readonly PathStep[]
  readonly fields: Readonly<Record<string, ShownField>>
  /** None for a row that came with the list. */
  readonly errors: ValidationErrors
}

/** A step of a wizard. */
export interface ShownStep {
  readonly shown: boolean
  /** Why that cannot be known. */
  readonly waiting?: string
  readonly fields: Readonly<Record<string, ShownField>>
}
