import { describe, expect, test } from 'vitest'
import type { Caller } from '../../../control-plane/src/auth/sessions/caller.js'
import { HoldfastError } from '../../../control-plane/src/errors.js'
import type { Field } from '../../../control-plane/src/forms/fields/field.js'
import { type AskFieldRequest, askField } from '../../../control-plane/src/jobs/launch/ask-field.js'
import { caller, form } from './launch-parts.js'

/** What a check is asked to compute for one field: its bound text, and the values of the placeholders. */
interface Asked {
  readonly fields: readonly Field[]
  readonly wizard: readonly unknown[]
  readonly values: object
  readonly constants: Readonly<Record<string, unknown>>
  readonly sentValues: Readonly<Record<string, unknown>>
  readonly isShowing: boolean
}

const REQUEST: AskFieldRequest = {
  kind: 'server',
  formName: 'f',
  subformName: null,
  fieldName: 'a',
  values: {},
  signal: new AbortController().signal,
}
const field = (source: object, name = 'a'): Field =>
  ({
    name,
    label: 'A',
    type: 'text',
    source,
    rules: { required: true, regex: 'x' },
    editable: true,
  }) as unknown as Field
const server = (expression: string) => field({ kind: 'server', expression })

function made(
  fields: readonly Field[],
  given: { readonly constants?: object; readonly shown?: unknown; readonly roles?: string[] } = {},
) {
  const { constants = {}, shown = { value: 'the value' }, roles = ['default'] } = given
  const asked: Asked[] = []
  const options: unknown[] = []
  const dependencies = {
    clock: { now: () => 5 },
    forms: {
      find: () => Promise.resolve(form({ fields: [...fields], roles })),
      contextOf: () =>
        Promise.resolve({ subforms: { part: [field({ kind: 'server', expression: 'of part' })] }, constants }),
    },
    checks: {
      check(check: Asked, how: object) {
        asked.push(check)
        options.push(how)
        const name = check.fields[0]?.name ?? ''
        return Promise.resolve({ shown: shown === null ? undefined : { fields: { [name]: shown } } })
      },
    },
  } as unknown as Parameters<typeof askField>[0]
  /** The value, or the code of the refusal. */
  async function ask(request: Partial<AskFieldRequest> = {}, who: Caller = caller) {
    try {
      return await askField(dependencies, who, { ...REQUEST, ...request })
    } catch (error) {
      if (error instanceof HoldfastError) return error.code
      throw error
    }
  }
  /** The text that is computed, and the values that are bound. */
  async function bound(values: Record<string, unknown>) {
    await ask({ values })
    const [check] = asked
    const source = check?.fields[0]?.source as { expression: string } | undefined
    return { text: source?.expression, values: check?.sentValues, constants: check?.constants }
  }
  return { asked, options, ask, bound }
}

describe('a request for the value of a field', () => {
  test('computes the field alone, for the caller, and gives its value', async () => {
    const { ask, asked, options } = made([server('1 + 1'), field({ kind: 'server', expression: 'other' }, 'b')])
    expect(await ask()).toBe('the value')
    expect(asked).toMatchObject([{ wizard: [], values: {}, isShowing: true }])
    expect(asked[0]?.fields).toMatchObject([
      {
        name: 'a',
        type: 'expression',
        source: { expression: '1 + 1' },
        ignoreIncomplete: true,
        editable: false,
        dependencies: null,
        rules: { required: false, regex: null },
      },
    ])
    expect(options).toMatchObject([{ caller: 'local/ann', mayReuse: true, waitMs: 60_000 }])
  })

  test.each<[string, Partial<AskFieldRequest>, string]>([
    ['with a text of the caller’s own', { formName: null }, 'text_not_of_form'],
    ['for a field that is not there', { fieldName: 'b' }, 'field_not_found'],
    ['for a field of another kind', { kind: 'query' }, 'field_not_found'],
    ['for a field of a subform that is not there', { subformName: 'gone' }, 'field_not_found'],
  ])('%s is refused', async (_, request, code) => {
    const { ask, asked } = made([server('x')])
    expect(await ask(request)).toBe(code)
    expect(asked).toEqual([])
  })

  test('is for those who may use the form, with values that are not nested too deep', async () => {
    const { ask, asked } = made([server('x')], { roles: ['ops'] })
    expect(await ask()).toBe('form_not_allowed')
    let deep: object = {}
    for (let depth = 0; depth < 200; depth += 1) deep = { deep }
    expect(await ask({ values: { deep } })).toBe('too_deep')
    expect(asked).toEqual([])
  })

  test('finds the field of a subform', async () => {
    const { ask, asked } = made([server('x')])
    await ask({ subformName: 'part' })
    expect(asked[0]?.fields).toMatchObject([{ source: { expression: 'of part' } }])
  })

  test.each<[string, unknown, unknown]>([
    ['the value waits for another one', { waiting: 'b is missing' }, 'field_not_computed'],
    ['the check was given up', null, 'field_not_computed'],
    ['there is no value', {}, undefined],
  ])('has its answer when %s', async (_, shown, answer) => {
    expect(await made([server('x')], { shown }).ask()).toBe(answer)
  })
})

describe('the placeholders of a text', () => {
  test('get what the caller sent, each under a name of its own', async () => {
    const { bound } = made([server('a $(one) b $(two.deep) c $(one) d')])
    expect(await bound({ one: 1, 'two.deep': '$(three)', two: 'not meant' })).toEqual({
      text: 'a $(__sent_0__) b $(__sent_1__) c $(__sent_2__) d',
      values: { __sent_0__: 1, __sent_1__: '$(three)', __sent_2__: 1 },
      constants: {},
    })
  })

  test('are empty when nothing was sent, and null when null is meant', async () => {
    const { bound } = made([server('$(one) $(two) $(toString)')])
    expect((await bound({ two: '__null__' })).values).toEqual({
      __sent_0__: undefined,
      __sent_1__: null,
      __sent_2__: undefined,
    })
  })

  test('of constants and of the user stay, whatever the caller sent', async () => {
    const { bound } = made([server('$(base.url) $(list[0]) $(__user__.username) $(other)')], {
      constants: { base: { url: 'x' }, list: [1] },
    })
    expect(await bound({ 'base.url': 'mine', 'list[0]': 2, '__user__.username': 'root', base: 'mine' })).toEqual({
      text: '$(base.url) $(list[0]) $(__user__.username) $(__sent_0__)',
      constants: { base: { url: 'x' }, list: [1] },
      values: { __sent_0__: undefined },
    })
  })

  test('stand in a query and anywhere in its settings', async () => {
    const config = { host: '$(host)', ports: ['$(port)', 5, null], deep: { on: true, text: '$(text)' } }
    const { ask, asked } = made([field({ kind: 'query', query: 'select $(what)', config })])
    await ask({ kind: 'query', values: { what: 1, host: 'h', port: 2, text: 't' } })
    expect(asked[0]?.fields[0]?.source).toEqual({
      kind: 'query',
      query: 'select $(__sent_0__)',
      config: {
        host: '$(__sent_1__)',
        ports: ['$(__sent_2__)', 5, null],
        deep: { on: true, text: '$(__sent_3__)' },
      },
    })
    expect(asked[0]?.sentValues).toEqual({ __sent_0__: 1, __sent_1__: 'h', __sent_2__: 2, __sent_3__: 't' })
  })
})
