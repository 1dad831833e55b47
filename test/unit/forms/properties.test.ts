import { findInexactNumber } from '@holdfast/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parsePath } from '../../../control-plane/src/forms/fields/model-path.js'
import { loadQuickJs } from '../../../control-plane/src/forms/sandbox/quickjs.js'
import { fillScript } from '../../../control-plane/src/forms/values/fill-script.js'
import { putAt } from '../../../control-plane/src/forms/values/extravars.js'
import { partOf } from '../../../control-plane/src/forms/values/plain.js'
import { NOW, check, formOf } from './check.js'

/** JSON without numbers that JavaScript would change: a form file with one is refused as a whole. */
const exactJson = (maxDepth: number): fc.Arbitrary<unknown> =>
  fc.jsonValue({ maxDepth }).filter((value) => findInexactNumber(JSON.stringify(value)) === null)

/** What a client may send: anything that JSON can say, and often something that fits. */
const anything = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('a', 'b', 'yes', '', '5', '__all__', '{', 'a: [1', '$(f1)', '__proto__') },
  { weight: 2, arbitrary: fc.integer({ min: -3, max: 12 }) },
  fc.boolean(),
  fc.string({ maxLength: 12, unit: 'binary' }),
  exactJson(3),
  fc.array(
    fc.dictionary(fc.constantFrom('f0', 'f1', 'toString', 'valueOf', '__proto__'), fc.constantFrom('a', 5, null)),
    {
      maxLength: 3,
    },
  ),
)

const NAMES = ['f0', 'f1', 'f2', 'f3', 'f4', 'f5']
const aName = fc.constantFrom(...NAMES)
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 })

const types = fc.oneof(
  fc.record({
    type: fc.constantFrom('text', 'textarea', 'password', 'number', 'checkbox', 'datetime', 'yaml', 'file', 'html'),
  }),
  fc.record({
    type: fc.constantFrom('enum', 'radio'),
    values: fc.array(
      fc.oneof(fc.constantFrom('a', 'b', 5), fc.record({ id: fc.integer({ max: 9 }), n: fc.constant('x') })),
    ),
    multiple: fc.boolean(),
    valueColumn: maybe(fc.constantFrom('id', 'n', '*', 'none')),
  }),
  fc.record({
    type: fc.constantFrom('expression', 'local', 'local_out'),
    runLocal: fc.constant(true),
    editable: fc.boolean(),
    expression: fc.constantFrom("'$(f1)' + 1", '$(f2) * 2', '$(f3).x', '[$(f4)]', 'nope', '__user__', '({a: "$(f0)"})'),
    ignoreIncomplete: fc.boolean(),
  }),
  fc.record({ type: fc.constant('expression'), value: anything }),
  fc.record({ type: fc.constant('list'), subform: fc.constant('sub'), deleteMarker: maybe(fc.constant('gone')) }),
  fc.record({ type: fc.constant('yaml'), subform: fc.constant('sub') }),
)

const rules = fc.record({
  required: fc.boolean(),
  default: maybe(anything),
  output: maybe(fc.boolean()),
  minLength: maybe(fc.integer({ max: 4 })),
  maxLength: maybe(fc.oneof(fc.integer({ max: 9 }), fc.constant('$(f5)'))),
  minValue: maybe(fc.integer({ min: -2, max: 3 })),
  maxValue: maybe(fc.integer({ min: 2, max: 9 })),
  regex: maybe(fc.constant({ expression: '^[a-y5]', description: 'not with $(f1)' })),
  sameAs: maybe(aName),
  in: maybe(fc.record({ field: aName, description: fc.constant('in') })),
  validIf: maybe(fc.record({ field: aName, description: fc.constant('if') })),
  dependencies: maybe(
    fc.array(
      fc.oneof(
        fc.record({
          name: fc.oneof(
            aName,
            aName.map((name) => `!${name}`),
          ),
          values: fc.array(fc.constantFrom('a', 5, true)),
        }),
        fc.record({ name: aName, isValid: fc.boolean() }),
      ),
      { maxLength: 2 },
    ),
  ),
  dependencyFn: maybe(fc.constantFrom('and', 'or', 'nand', 'nor')),
})

const fields = (most: number) =>
  fc
    .array(fc.tuple(types, rules), { minLength: 1, maxLength: most })
    .map((parts) =>
      parts.map(([type, more], index) => JSON.parse(JSON.stringify({ name: `f${index}`, ...type, ...more })) as Field),
    )

interface Field {
  readonly name: string
  readonly type: string
  readonly [key: string]: unknown
}

const launches = fc.record({
  main: fields(6),
  sub: fields(3),
  values: fc.dictionary(fc.oneof({ weight: 5, arbitrary: aName }, fc.constantFrom('x', '__proto__')), anything),
})

test('any form with any values gets an answer, and hidden fields never reach the extra variables', async () => {
  await fc.assert(
    fc.asyncProperty(launches, async ({ main, sub, values }) => {
      const never = {
        ...main[0],
        name: 'hidden',
        dependencyFn: 'and',
        dependencies: [{ name: 'nobody', values: ['x'] }],
      }
      const { details, extravars } = await check(formOf([...main, never], { sub }), { ...values, hidden: 'sent' })
      expect('hidden' in extravars).toBe(false)
      expect([...details.missing, ...details.invalid, ...details.waiting]).not.toContain('hidden')
      const known = new Set(main.map((field) => field.name))
      expect(Object.keys(extravars).filter((key) => !known.has(key))).toEqual([])
      expect(() => JSON.stringify(extravars)).not.toThrow()
    }),
    { numRuns: 300 },
  )
})

test('accepted values obey every rule, and are accepted again when they are sent back', async () => {
  await fc.assert(
    fc.asyncProperty(launches, async ({ main, sub, values }) => {
      const { details, extravars } = await check(formOf(main, { sub }), values)
      const names = [...details.missing, ...details.invalid, ...details.waiting]
      for (const field of main) {
        if (names.includes(field.name) || !Object.hasOwn(extravars, field.name)) continue
        expectObeyed(field, extravars[field.name])
      }
    }),
    { numRuns: 300 },
  )
})

/** The rules once more, as simply as they can be said. */
function expectObeyed(field: Field, value: unknown): void {
  const isEmpty = value === '' || value === null || (Array.isArray(value) && value.length === 0)
  const said = JSON.stringify({ field, value })
  if (field.required === true) expect(isEmpty && field.type !== 'yaml', said).toBe(false)
  if (field.required === true && field.type === 'checkbox') expect(value, said).toBe(true)
  if (field.type === 'number') expect(typeof value, said).toBe('number')
  if (field.type === 'checkbox') expect(typeof value, said).toBe('boolean')
  if (['text', 'textarea', 'password'].includes(field.type)) expect(typeof value, said).toBe('string')
  if (isEmpty || typeof value === 'object') return
  if (field.type === 'number' && typeof field.minValue === 'number')
    expect(value, said).toBeGreaterThanOrEqual(field.minValue)
  if (field.type === 'number' && typeof field.maxValue === 'number')
    expect(value, said).toBeLessThanOrEqual(field.maxValue)
  if (field.type !== 'text') return
  if (typeof field.minLength === 'number') expect(String(value).length, said).toBeGreaterThanOrEqual(field.minLength)
  if (typeof field.maxLength === 'number') expect(String(value).length, said).toBeLessThanOrEqual(field.maxLength)
  if (field.regex !== undefined) expect(String(value), said).toMatch(/^[a-y5]/)
}

test('a value that model puts at a path can be read there', () => {
  const key = fc.stringMatching(/^[a-z_][a-zA-Z0-9_-]{0,5}$/)
  const step = fc.tuple(key, fc.array(fc.nat({ max: 5 }), { maxLength: 2 }))
  const path = fc.array(step, { minLength: 1, maxLength: 4 })
  const text = (steps: [string, number[]][]) =>
    steps.map(([name, places]) => name + places.map((n) => `[${n}]`).join('')).join('.')
  fc.assert(
    fc.property(path, exactJson(2), path, exactJson(2), (one, value, other, second) => {
      const into: Record<string, unknown> = {}
      const [first, last] = [parsePath(text(one)), parsePath(text(other))]
      if (first === null || last === null) throw new Error('a path was not read')
      putAt(into, first, value)
      expect(partOf(into, first)).toEqual(value)
      putAt(into, last, second)
      // Two paths that part from each other before either ends leave each other alone.
      const apart = first.findIndex((step, index) => step !== last[index])
      const areApart = apart >= 0 && apart < last.length && typeof first[apart] === typeof last[apart]
      if (areApart) expect([partOf(into, first), partOf(into, last)]).toEqual([value, second])
    }),
    { numRuns: 1000 },
  )
})

test('a value in a placeholder never becomes code, wherever the placeholder is', async () => {
  const open = await loadQuickJs()
  const resolve = (value: unknown) => () => ({ known: true, value })
  const pieces = '\' " ` \\ ${ } / * // \n ) ( ; a throw_1 $(x) ] \u2028'.split(' ')
  const evil = fc.oneof(
    fc.string({ maxLength: 20, unit: 'binary' }),
    fc.array(fc.constantFrom(...pieces)).map((parts) => parts.join('')),
  )
  const evaluator = open(NOW)
  const run = (script: string, value: string) => {
    const filled = fillScript(script, resolve(value), false)
    return evaluator.evaluate(filled.text, {})
  }
  fc.assert(
    fc.property(evil, (value) => {
      const plain = value.replace(/[\r\n]/g, '')
      expect(run("'<$(x)>'", value)).toEqual({ ok: true, value: `<${plain}>` })
      expect(run('"<$(x)>"', value)).toEqual({ ok: true, value: `<${plain}>` })
      expect(run('`${1}<$(x)>${`{$(x)}`}`', value)).toEqual({ ok: true, value: `1<${plain}>{${plain}}` })
      expect(run('/* $(x) */ 7 // $(x)', value)).toEqual({ ok: true, value: 7 })
      expect(run('[8 / 2 / 1, /[\'"]$(x)/.source.length > 3][0]', value)).toEqual({ ok: true, value: 4 })
      expect(run('typeof ($(x))', `k${value}`)).toEqual({ ok: true, value: 'string' })
    }),
    { numRuns: 300 },
  )
  evaluator.close()
})
