import type { Field } from '../fields/field.js'
import { fileKeyAt } from '../fields/file-keys.js'
import { type PlainObject, isPlainObject, isSame } from '../values/plain.js'
import { NO_SUCH_FUNCTION, isComputed, runSource } from './computed.js'
import { MAX_ROWS, placeKeyOf } from './context.js'
import { type FieldValue, refusedAs, valueIs, waitingFor } from './field-value.js'
import { sentOrDefault, valueWithoutSource } from './fallback.js'
import { type FieldFinding, type RowError, type ValidationError, detailsOf, rowErrorOf } from './report.js'
import type { Scope } from './scope-type.js'
import { shownFields } from './shown-fields.js'

/** A row after its check: in the shape for the form, and in the shape for the playbook. */
interface CheckedRow {
  readonly value: unknown
  readonly output: unknown
  readonly error: RowError | null
}

/**
 * Reads the rows of a list. A row that came with the list is accepted unchanged, also when it is marked as deleted.
 * Every other row is checked against the subform. A row that is marked as deleted may have missing values.
 */
export function readList(field: Field, scope: Scope): FieldValue {
  const own = ownRows(field, scope)
  if ('waiting' in own) return waitingFor(own.waiting, own.isAsking)
  const isSent = Object.hasOwn(scope.sent, field.name)
  const given = isSent ? scope.sent[field.name] : own.value
  const files = scope.context.rowsWithFiles.get(fileKeyAt([...scope.context.place, field.name]))
  if (given === undefined || given === null || given === '') {
    return valueIs(undefined, { errors: filesWithoutRow(files, 0) })
  }
  if (!Array.isArray(given)) return refusedAs('type', `${field.label} must be a list of rows`)
  const source: unknown[] = Array.isArray(own.value) ? own.value : []
  const { rows } = scope.context
  if (rows.left < given.length) {
    rows.left = 0
    return refusedAs('maxRows', `A launch may have ${MAX_ROWS} rows in all its lists`)
  }
  rows.left -= given.length
  const checked = given.map((row: unknown, index) =>
    checkRow(field, row, index, { source, hasFile: files?.has(index) ?? false }, scope),
  )
  return valueIs(
    checked.map((row) => row.value),
    {
      output: checked.map((row) => row.output),
      rowErrors: checked.flatMap((row) => row.error ?? []),
      errors: filesWithoutRow(files, given.length),
    },
  )
}

/** Files of rows that the list does not have. Without this error nobody would notice that they are not used. */
function filesWithoutRow(files: ReadonlyMap<number, string> | undefined, rows: number): ValidationError[] {
  const without = [...(files ?? [])].filter(([index]) => index >= rows)
  return without.map(([index, key]) => ({ type: 'no_row', description: `${key}: the list has no row [${index}]` }))
}

function hasFilesBelow({ name }: Field, { context: { uploads, place } }: Scope): boolean {
  const start = `${fileKeyAt([...place, name])}.`
  return Object.keys(uploads).some((key) => key.startsWith(start))
}

/** The object of a yaml field is checked against its subform like a row. */
export function readObject(field: Field, sent: unknown, scope: Scope): FieldValue {
  // A file alone makes the object, as it fills in a step.
  const given = sent === undefined && hasFilesBelow(field, scope) ? {} : sent
  if (given === undefined) return valueIs(undefined)
  if (!isPlainObject(given)) return refusedAs('type', `${field.label} must be an object`)
  // The depth of sent values and of files is finite. The default of a subform that contains itself has no end.
  const isSent = Object.hasOwn(scope.sent, field.name) || given !== sent
  if (!isSent && scope.context.openDefaults.has(field)) return waitingFor('its default hangs on itself')
  const openDefaults = isSent ? scope.context.openDefaults : new Set([...scope.context.openDefaults, field])
  const place = [...scope.context.place, field.name]
  const row = throughSubform(field, given, { ...scope, context: { ...scope.context, openDefaults, place } })
  const error = errorOf(row, null)
  return valueIs(row.values(), { output: row.extravars(), rowErrors: error ? [error] : [] })
}

/** The first rows of a list: its default, or else the result of its expression. One object is one row. */
function ownRows(
  field: Field,
  scope: Scope,
): { readonly value: unknown } | { readonly waiting: string; readonly isAsking?: boolean } {
  if (field.default !== undefined) {
    const withoutSent = { ...scope, sent: {} }
    return sentOrDefault(field, withoutSent)
  }
  if (field.source.kind === 'remote' && !field.editable) return { waiting: NO_SUCH_FUNCTION }
  if (!isComputed(field.source)) return { value: undefined }
  const computed = runSource(field, field.source, scope)
  const alone = valueWithoutSource(field, computed, scope)
  if (alone !== null) return { value: alone.value }
  if (computed.waiting === null) return { value: isPlainObject(computed.value) ? [computed.value] : computed.value }
  if (field.editable && !computed.isAsking) return { value: undefined }
  return { waiting: computed.waiting, isAsking: computed.isAsking ?? false }
}

function checkRow(
  field: Field,
  row: unknown,
  index: number,
  { source, hasFile }: { readonly source: readonly unknown[]; readonly hasFile: boolean },
  outer: Scope,
): CheckedRow {
  const { markers } = field
  const place = [...outer.context.place, field.name, index]
  const scope: Scope = { ...outer, context: { ...outer.context, place } }
  const acceptAsItCame = (): CheckedRow => {
    // Nobody has to compute its fields, but for a page that shows them.
    if (isToShow(scope) && isPlainObject(row)) showRow(throughSubform(field, row, scope), null)
    return { value: row, output: row, error: null }
  }
  // A row that came with the list and got a file was edited.
  if (!hasFile && source.some((known) => isSame(known, row))) return acceptAsItCame()
  if (!isPlainObject(row)) {
    const error = { type: 'type', description: 'a row must be an object' }
    return {
      value: row,
      output: row,
      error: { index, invalid: [field.name], validationErrors: { [field.name]: [error] } },
    }
  }
  const isMarked = markers.delete !== null && row[markers.delete] === true
  if (isMarked && !hasFile && source.some((known) => isSameButMarkers(field, known, row))) return acceptAsItCame()
  const inDeletedRow = isMarked || scope.context.inDeletedRow
  const checked = throughSubform(field, row, { ...scope, context: { ...scope.context, inDeletedRow } })
  const error = errorOf(checked, index)
  if (isToShow(scope)) showRow(checked, error)
  const kept = {
    ...columnsOfSource(row, checked, field, source),
    ...markersOf(field, row, !isMarked && source.length === 0),
  }
  return {
    value: { ...checked.values(), ...kept },
    output: { ...checked.extravars(), ...kept },
    error,
  }
}

function isToShow({ context: { rowsToShow, place } }: Scope): boolean {
  return rowsToShow.size > 0 && rowsToShow.has(placeKeyOf(place))
}

function showRow(row: Scope, error: RowError | null): void {
  const { place, shownRows } = row.context
  shownRows.push({ row: place, fields: shownFields(row), errors: error?.validationErrors ?? {} })
}

function throughSubform(field: Field, values: PlainObject, scope: Scope): Scope {
  const fields = scope.context.subforms[field.subform ?? ''] ?? []
  return scope.open(fields, values, scope.context, scope)
}

/** @param index null: the object of a yaml field */
function errorOf(row: Scope, index: number | null): RowError | null {
  const findings = row.findings()
  return rowErrorOf(detailsOf(row.context.inDeletedRow ? findings.map(withoutGaps) : findings), index)
}

/** Removes findings about values that are missing or cannot be computed, because a deleted row is sent without them. */
function withoutGaps(finding: FieldFinding): FieldFinding {
  return { ...finding, waiting: null, errors: finding.errors.filter((error) => error.type !== 'required') }
}

/** Whether a row came with the list. The marks that the page adds do not count. */
function isSameButMarkers({ markers }: Field, known: unknown, row: PlainObject): boolean {
  const names = new Set<string | null>([markers.insert, markers.update, markers.delete])
  const isMarker = ([key, value]: [string, unknown]) => names.has(key) && typeof value === 'boolean'
  const without = (one: PlainObject) => Object.fromEntries(Object.entries(one).filter((entry) => !isMarker(entry)))
  return isPlainObject(known) && isSame(without(known), without(row))
}

/**
 * The marks that say what the page did with a row.
 * @param isNew no row came with the list, so each row that is not deleted is new
 */
function markersOf({ markers }: Field, row: PlainObject, isNew: boolean): Record<string, boolean> {
  const names = [markers.insert, markers.update, markers.delete].filter((name) => name !== null)
  const marks = names.filter((name) => typeof row[name] === 'boolean').map((name) => [name, row[name]] as const)
  const isInserted = isNew && markers.insert !== null ? { [markers.insert]: true } : {}
  return { ...(Object.fromEntries(marks) as Record<string, boolean>), ...isInserted }
}

/**
 * Columns that no field of the subform shows, such as the id of an edited row. They are kept if a row that came with
 * the list has exactly the same ones. Other columns of a client are dropped.
 */
function columnsOfSource(row: PlainObject, checked: Scope, field: Field, source: readonly unknown[]): PlainObject {
  const { insert, update, delete: deleted } = field.markers
  const named = new Set<string | null>([...checked.fields.map((one) => one.name), insert, update, deleted])
  const others = Object.entries(row).filter(([key]) => !named.has(key))
  const cameWithList = source.some(
    (known) =>
      isPlainObject(known) && others.every(([key, value]) => Object.hasOwn(known, key) && isSame(known[key], value)),
  )
  return cameWithList ? Object.fromEntries(others) : {}
}
