import { isExactNumeral } from '@holdfast/protocol'
import { YamlProblem, readYaml } from '../../texts/yaml-text.js'
import type { Field } from '../fields/field.js'
import { dateExpected, isDateValue } from './read-datetime.js'

/** A sent value in the shape of the field, or why it is not allowed. Undefined: no value was sent. */
export type ReadValue =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly type: string; readonly description: string }

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/

/**
 * Reads the value that a client sent for a field that people fill in. Text from a terminal is accepted if it can mean
 * only one thing (`"5"` in a number, `"true"` in a checkbox, 5 in a text). Choices, lists and files have their own
 * readers.
 */
export function readValue(field: Field, sent: unknown): ReadValue {
  if (sent === undefined || sent === null) return good(field.type === 'checkbox' ? false : undefined)
  switch (field.type) {
    case 'text':
    case 'textarea':
    case 'password':
      if (typeof sent === 'string') return good(sent)
      return typeof sent === 'object' ? bad(field, 'text') : good(String(sent))
    case 'number':
      return readNumber(field, sent)
    case 'checkbox':
      if (typeof sent === 'boolean') return good(sent)
      if (sent === '') return good(false)
      return sent === 'true' || sent === 'false' ? good(sent === 'true') : bad(field, 'true or false')
    case 'yaml':
      return readYamlValue(field, sent)
    case 'datetime':
      // An empty text is kept, because scripts send it for no value.
      return sent === '' || isDateValue(field.dateType, sent) ? good(sent) : bad(field, dateExpected(field.dateType))
    case 'html':
      return good(undefined)
    default:
      return good(sent)
  }
}

function readNumber(field: Field, sent: unknown): ReadValue {
  if (typeof sent === 'number') return Number.isFinite(sent) ? good(sent) : bad(field, 'a number')
  if (typeof sent !== 'string') return bad(field, 'a number')
  const text = sent.trim()
  if (text === '') return good(undefined)
  const value = Number(text)
  if (!NUMBER.test(text)) return bad(field, 'a number')
  return isExactNumeral(text.replace(/^\+/, '')) ? good(value) : bad(field, 'a number that can be kept digit by digit')
}

/** A text is read as ansible would read it, and a playbook gets its content. Other values count as read already. */
function readYamlValue(field: Field, sent: unknown): ReadValue {
  if (typeof sent !== 'string') return good(sent)
  if (sent.trim() === '') return good(undefined)
  try {
    const value: unknown = JSON.parse(JSON.stringify(readYaml(sent, 'ansible').value) ?? 'null')
    return good(value ?? undefined)
  } catch (problem) {
    const { kind = 'syntax', message = '' } = problem instanceof YamlProblem ? problem : {}
    if (kind === 'number') return { ok: false, type: 'type', description: `${field.label}: ${message}` }
    // The words of the library quote the text, and are left out.
    const limit = kind === 'limit' ? `: ${message}` : ''
    const expected = field.yamlError ?? `${field.label} must be valid YAML`
    return { ok: false, type: 'validYaml', description: expected + limit }
  }
}

function good(value: unknown): ReadValue {
  return { ok: true, value }
}

function bad(field: Field, expected: string): ReadValue {
  return { ok: false, type: 'type', description: `${field.label} must be ${expected}` }
}
