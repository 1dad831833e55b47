import { definedOnly } from '../../defined-only.js'

/** A rule that a value breaks. */
export interface ValidationError {
  readonly type: string
  readonly description: string
}

/** The errors of values, by field. */
export type ValidationErrors = Readonly<Record<string, readonly ValidationError[]>>

/** The errors of one row of a list, or (without an index) of the object of a yaml field. */
export interface RowError {
  readonly index?: number
  readonly missing?: readonly string[]
  readonly invalid?: readonly string[]
  readonly waiting?: readonly string[]
  readonly validationErrors: ValidationErrors
  readonly rowErrors?: RowErrors
}

/** The errors of rows, by field. */
export type RowErrors = Readonly<Record<string, readonly RowError[]>>

/** Why the values of a launch are refused: the `details` of the answer. */
export interface CheckDetails {
  /** Required fields without a value. */
  readonly missing: readonly string[]
  /** Fields that break a rule. */
  readonly invalid: readonly string[]
  /** Fields that could not be evaluated. */
  readonly waiting: readonly string[]
  readonly validationErrors: ValidationErrors
  readonly rowErrors: RowErrors
  /** Files that are not uploads of this service. */
  readonly uploads: readonly string[]
}

/** The details of a check without any error. */
export const NOTHING_WRONG: CheckDetails = {
  missing: [],
  invalid: [],
  waiting: [],
  validationErrors: {},
  rowErrors: {},
  uploads: [],
}

/** Whether a check found no error. */
export function isGood(details: CheckDetails): boolean {
  return [details.missing, details.invalid, details.waiting, details.uploads].every((names) => names.length === 0)
}

/** The findings of one field. */
export interface FieldFinding {
  readonly name: string
  readonly errors: readonly ValidationError[]
  /** Why it could not be evaluated; null: it could. */
  readonly waiting: string | null
  readonly rowErrors: readonly RowError[]
  /** Why its upload cannot be used; null: it can, or there is none. */
  readonly uploadProblem: ValidationError | null
}

/** Collects findings under the names that the answer has for them. @param prefix such as `step.` */
export function detailsOf(findings: readonly FieldFinding[], prefix = ''): CheckDetails {
  const missing: string[] = []
  const invalid: string[] = []
  const waiting: string[] = []
  const uploads: string[] = []
  const validationErrors: [string, readonly ValidationError[]][] = []
  const rowErrors: [string, readonly RowError[]][] = []
  for (const finding of findings) {
    const name = prefix + finding.name
    const isWaiting = finding.waiting !== null || finding.rowErrors.some((row) => row.waiting !== undefined)
    const isMissing = finding.errors.some((error) => error.type === 'required')
    const hasBadRow = finding.rowErrors.some((row) => row.missing !== undefined || row.invalid !== undefined)
    const errors = [
      ...finding.errors,
      ...(finding.waiting === null ? [] : [{ type: 'waiting', description: finding.waiting }]),
      ...(finding.uploadProblem === null ? [] : [finding.uploadProblem]),
    ]
    if (isWaiting) waiting.push(name)
    if (isMissing) missing.push(name)
    if (hasBadRow || finding.errors.some((error) => error.type !== 'required')) invalid.push(name)
    if (finding.uploadProblem !== null) uploads.push(name)
    if (errors.length > 0) validationErrors.push([name, errors])
    if (finding.rowErrors.length > 0) rowErrors.push([name, finding.rowErrors])
  }
  return {
    missing,
    invalid,
    waiting,
    uploads,
    validationErrors: Object.fromEntries(validationErrors),
    rowErrors: Object.fromEntries(rowErrors),
  }
}

/** Puts the details of several parts of a form together. */
export function together(parts: readonly CheckDetails[]): CheckDetails {
  return {
    missing: parts.flatMap((part) => part.missing),
    invalid: parts.flatMap((part) => part.invalid),
    waiting: parts.flatMap((part) => part.waiting),
    uploads: parts.flatMap((part) => part.uploads),
    validationErrors: Object.assign({}, ...parts.map((part) => part.validationErrors)) as ValidationErrors,
    rowErrors: Object.assign({}, ...parts.map((part) => part.rowErrors)) as RowErrors,
  }
}

/** The errors of a row, or null. */
export function rowErrorOf(details: CheckDetails, index: number | null): RowError | null {
  if (isGood(details)) return null
  const some = (names: readonly string[]) => (names.length === 0 ? undefined : names)
  return definedOnly({
    index: index ?? undefined,
    missing: some(details.missing),
    invalid: some([...details.invalid, ...details.uploads]),
    waiting: some(details.waiting),
    validationErrors: details.validationErrors,
    rowErrors: Object.keys(details.rowErrors).length === 0 ? undefined : details.rowErrors,
  })
}

/** The findings for the log: fields and rules, never a value. `field (rule)`, `list[2].field (rule)`. */
export function findingsSummary(details: CheckDetails): string[] {
  const own = Object.entries(details.validationErrors).flatMap(([name, errors]) =>
    errors.map((error) => `${name} (${error.type})`),
  )
  const inRows = Object.entries(details.rowErrors).flatMap(([name, rows]) =>
    rows.flatMap((row) => {
      const place = row.index === undefined ? name : `${name}[${row.index}]`
      const below = { ...NOTHING_WRONG, validationErrors: row.validationErrors, rowErrors: row.rowErrors ?? {} }
      return findingsSummary(below).map((line) => `${place}.${line}`)
    }),
  )
  return [...own, ...inRows]
}
