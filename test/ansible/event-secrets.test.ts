import { describe, expect, test } from 'vitest'
import { askPython } from './python-lines.js'

/** What the events' own list of secrets hides, and what it leaves as it is. */
const ask = askPython(`
import os, tempfile
from holdfast_job import event_secrets

def answer(question):
    event_secrets._hider = None
    if question["secrets"] is not None:
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"words": question["secrets"], "origins": ["a test"] * len(question["secrets"])}, file)
            file.flush()
            event_secrets.read_hidden_values(file.name)
    return [getattr(event_secrets, question["do"])(value) for value in question["values"]]
`)

const SECRETS = ['a-canary', 'say "it"', '4711471147', '12.5e1', '3.25', 'True', 'None']
const MASK = '********'

const done = (
  what: 'hide' | 'hide_scalar' | 'may_be_in',
  values: readonly unknown[],
  secrets: string[] | null = SECRETS,
) => ask({ do: what, values, secrets })

describe('a value', () => {
  test('that holds a secret is hidden, as a text or as a number', async () => {
    const values = ['it is a-canary.', 4711471147, 47114711470, 3.25, -3.25]
    expect(await done('hide_scalar', values)).toEqual([`it is ${MASK}.`, MASK, MASK, MASK, MASK])
  })

  test('that holds none is left as it is', async () => {
    const values = ['no secret', '', 7, 0, 4711, 1.5]
    expect(await done('hide_scalar', values)).toEqual(values)
  })

  test('that is a truth or nothing is left as it is, also when its word is a secret', async () => {
    expect(await done('hide_scalar', [true, false, null, 'True', 'None'])).toEqual([true, false, null, MASK, MASK])
  })
})

test('a text is shown without secrets', async () => {
  expect(await done('hide', ['a-canary and say "it"', 'none'])).toEqual([`${MASK} and ${MASK}`, 'none'])
})

test('JSON text may hold a secret as it is there', async () => {
  const texts = ['{"a":"a-canary"}', '{"a":"say \\"it\\""}', '{"a":4711471147}', '{"a":"say it"}', '{}']
  expect(await done('may_be_in', texts)).toEqual([true, true, true, false, false])
})

test.each([[null], [[]]])('without secrets (%j) everything is left as it is', async (secrets) => {
  const values = ['a-canary', 4711471147, 3.25, true, null]
  expect(await done('hide_scalar', values, secrets)).toEqual(values)
  expect(await done('hide', ['a-canary'], secrets)).toEqual(['a-canary'])
  expect(await done('may_be_in', ['"a-canary"'], secrets)).toEqual([false])
})
