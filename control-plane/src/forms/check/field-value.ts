import type { Origin } from '../../sources/origins.js'
import type { Missing } from '../values/placeholders.js'
import type { VerifiedUpload } from '../values/uploads.js'
import type { RowError, ValidationError } from './report.js'

/** A field with its value, before its rules are checked. */
export interface FieldValue {
  /** A hidden field has no value. It is not checked and not sent. */
  readonly isHidden: boolean
  readonly value: unknown
  /** The value for the playbook, if it differs; undefined: it follows from the value. */
  readonly output: unknown
  /** Why the value could not be computed; null: it could. */
  readonly waiting: string | null
  /** It waits for the answer of a source: its own, or that of a field that it needs. */
  readonly isAsking?: boolean
  /** Its source was not asked, because this placeholder has no value. Its default counts then. */
  readonly without?: Missing
  /** It has no value because its source needs a field that is hidden. */
  readonly isAbsent?: boolean
  /** Why the sent value is not allowed for this field. */
  readonly errors: readonly ValidationError[]
  readonly rowErrors: readonly RowError[]
  readonly upload: VerifiedUpload | null
  /** Why its upload cannot be used. */
  readonly uploadProblem: ValidationError | null
  /** The options of a field with choices. */
  readonly choices?: readonly unknown[]
  /** Who made the value; undefined: a person may have typed it. */
  readonly origin?: Origin
}

const NOTHING: FieldValue = {
  isHidden: false,
  value: undefined,
  output: undefined,
  waiting: null,
  errors: [],
  rowErrors: [],
  upload: null,
  uploadProblem: null,
}

/** The value of a field that is not shown. */
export const HIDDEN: FieldValue = { ...NOTHING, isHidden: true }

/** A field with a value. */
export function valueIs(value: unknown, more: Partial<FieldValue> = {}): FieldValue {
  return { ...NOTHING, value, ...more }
}

/** A field that has no value yet, and the reason. @param isAsking it waits for the answer of a source */
export function waitingFor(reason: string, isAsking = false): FieldValue {
  return { ...NOTHING, waiting: reason, isAsking }
}

/** A field that waits for the value of a placeholder. */
export function waitingForValue(missing: Missing): FieldValue {
  const waiting = waitingFor(`it waits for a value of ${missing.inside}`, missing.isAsking)
  return missing.isAsking ? waiting : { ...waiting, without: missing }
}

/** A field whose value was refused. */
export function refusedAs(type: string, description: string): FieldValue {
  return { ...NOTHING, errors: [{ type, description }] }
}
