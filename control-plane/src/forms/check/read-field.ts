import type { Field } from '../fields/field.js'
import { fileKeyAt } from '../fields/file-keys.js'
import { choose, isSpecialChoice, optionsOf } from '../values/choices.js'
import { readValue } from '../values/read-value.js'
import { isVerified } from '../values/uploads.js'
import { NO_SUCH_FUNCTION, isComputed, runSource } from './computed.js'
import { defaultOf, sentOrDefault, valueWithoutSource } from './fallback.js'
import { type FieldValue, refusedAs, valueIs, waitingFor } from './field-value.js'
import { readList, readObject } from './rows.js'
import type { Scope } from './scope-type.js'

/** Computes the value of a field that is shown. */
export function readField(field: Field, scope: Scope): FieldValue {
  switch (field.type) {
    case 'html':
      return valueIs(undefined)
    case 'file':
      return readFile(field, scope)
    case 'expression':
      return readExpression(field, scope)
    case 'radio':
    case 'enum':
      return readChoice(field, scope)
    case 'list':
      return readList(field, scope)
    default:
      return readTyped(field, scope)
  }
}

function readTyped(field: Field, scope: Scope): FieldValue {
  const sent = sentOrDefault(field, scope)
  if ('waiting' in sent) return waitingFor(sent.waiting)
  const read = readValue(field, sent.value)
  if (!read.ok) return refusedAs(read.type, read.description)
  return field.type === 'yaml' && field.subform !== null ? readObject(field, read.value, scope) : valueIs(read.value)
}

/** A path that the client wrote is not an upload. Only a file that was found on the disk counts. */
function readFile(field: Field, scope: Scope): FieldValue {
  const { uploads, place } = scope.context
  const key = fileKeyAt([...place, field.name])
  const upload = Object.hasOwn(uploads, key) ? uploads[key] : undefined
  if (upload === undefined) return valueIs(undefined)
  if (!isVerified(upload)) return valueIs(undefined, { uploadProblem: upload.problem })
  return valueIs(upload.description, { upload })
}

function readExpression(field: Field, scope: Scope): FieldValue {
  const isSent = field.editable && Object.hasOwn(scope.sent, field.name)
  if (isSent) return valueIs(scope.sent[field.name] ?? undefined)
  switch (field.source.kind) {
    case 'constant':
      return valueIs(field.source.value, { origin: 'author' })
    case 'local':
    case 'server':
    case 'query': {
      const computed = runSource(field, field.source, scope)
      const given = valueWithoutSource(field, computed, scope)
      if (given !== null) return given
      if (field.source.kind === 'server' && hasNoAnswer(computed) && field.default !== undefined) break
      // A person who fills in the form may enter a value that the source could not give.
      if (computed.waiting === null || computed.isAsking || !field.editable) return computed
      break
    }
    case 'remote':
      if (!field.editable) return waitingFor(NO_SUCH_FUNCTION)
      break
    case 'client':
      break
  }
  const fallback = defaultOf(field, scope)
  return 'waiting' in fallback ? waitingFor(fallback.waiting) : valueIs(fallback.value)
}

/** What a server gives may be nothing. A default takes its place then. */
function hasNoAnswer({ waiting, value }: FieldValue): boolean {
  return waiting === null && (value ?? undefined) === undefined
}

function readChoice(field: Field, scope: Scope): FieldValue {
  const given = sentOrDefault(field, scope)
  if ('waiting' in given) return waitingFor(given.waiting)
  const { source } = field
  if (source.kind === 'remote') {
    if (!field.editable) return waitingFor(NO_SUCH_FUNCTION)
    return valueIs(isSpecialChoice(given.value) ? undefined : (given.value ?? undefined))
  }
  let computed = isComputed(source) ? runSource(field, source, scope) : null
  if (computed?.waiting) {
    if (field.editable && !computed.isAsking) {
      return valueIs(isSpecialChoice(given.value) ? undefined : (given.value ?? undefined))
    }
    const alone = valueWithoutSource(field, computed, scope)
    if (alone === null) return computed
    // The default is the only option, also if it is one text.
    computed = { ...alone, value: alone.value === undefined ? [] : [alone.value].flat() }
  }
  const options = optionsOf(field, source.kind === 'constant' ? source.value : computed?.value)
  if (options === null) return waitingFor('its options are no list')
  const chosen = choose(field, options, given.value)
  const choices = { choices: options }
  // The chosen option is that of the list, whatever was sent.
  const origin = source.kind === 'constant' ? 'service' : computed?.origin
  if (chosen.ok) return valueIs(chosen.value, { ...choices, ...(origin === undefined ? {} : { origin }) })
  // A default that is not an option (any more) chooses nothing. Only a sent value can be an error.
  if (!Object.hasOwn(scope.sent, field.name)) return valueIs(undefined, choices)
  if (field.editable && source.kind === 'query') return valueIs(given.value ?? undefined, choices)
  const why = chosen.reason === 'takes one choice' ? 'one choice is expected' : 'this choice is not among the options'
  return { ...refusedAs('choice', `${field.label}: ${why}`), ...choices }
}
