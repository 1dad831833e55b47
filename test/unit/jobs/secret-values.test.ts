import { describe, expect, test } from 'vitest'
import { createSecretFinder } from '../../../control-plane/src/secrets/secret-finder.js'
import { maskSecrets, splitVariables } from '../../../control-plane/src/jobs/secrets/secret-values.js'

const MASK = '********'
const PASSWORD = 'a long password'

describe('the variables of a launch', () => {
  test('are shown as they are when it has no passwords', () => {
    const variables = { a: 'x', b: { c: [1, null] } }
    const { shown, secret } = splitVariables(variables, { values: [], keys: new Set() })
    expect([shown, secret]).toEqual([variables, null])
    expect(shown).not.toBe(variables)
  })

  test('are masked under the keys of password fields, also where no field put them, and kept complete', () => {
    const variables = { plain: 'x', deep: { pin: 7, rows: [{ pin: 'y' }, { pin: '' }] } }
    const { shown, secret } = splitVariables(variables, { values: [], keys: new Set(['pin']) })
    expect(shown).toEqual({ plain: 'x', deep: { pin: MASK, rows: [{ pin: MASK }, { pin: '' }] } })
    expect(secret).toEqual({ variables: { deep: variables.deep }, hidden: [] })
  })

  test('are masked where they hold a password, in texts, numbers and keys', () => {
    const variables = { said: `the ${PASSWORD}!`, number: 123456789, [PASSWORD]: 1, map: { [PASSWORD]: 'x' } }
    const secrets = { values: [PASSWORD, '123456789', PASSWORD], keys: new Set<string>() }
    const { shown, secret } = splitVariables(variables, secrets)
    expect(shown).toEqual({ said: MASK, number: MASK, [PASSWORD]: 1, map: { [MASK]: 'x' } })
    expect(secret?.variables).toEqual({ said: variables.said, number: 123456789, map: variables.map })
    expect(secret?.hidden).toEqual([PASSWORD, '123456789'])
  })

  test('of the launching user are no passwords by their names, and are masked if they hold one', () => {
    const ansibleforms_user = { pin: 'not secret', name: PASSWORD }
    const { shown } = splitVariables({ ansibleforms_user }, { values: [PASSWORD], keys: new Set(['pin']) })
    expect(shown).toEqual({ ansibleforms_user: { pin: 'not secret', name: MASK } })
  })
})

test('a value without a secret stays the same value, and only what is not empty is masked below a key', () => {
  const finder = createSecretFinder([PASSWORD])
  const value = { a: [1, 'x'], b: null, c: true }
  expect(maskSecrets(value, finder, new Set(), false)).toBe(value)
  expect(maskSecrets({ pin: ['', null, 'x', 0, true] }, finder, new Set(['pin']), false)).toEqual({
    pin: ['', null, MASK, MASK, true],
  })
})
