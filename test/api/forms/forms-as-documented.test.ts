import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestServer, startServer } from '../server.js'

/** What docs/forms.md tells authors of forms about fields, choices, lists and wizards: each sentence, tried. */
const head = (name: string) => `name: ${name}\ntype: ansible\nplaybook: x.yml\nroles: [default]\n`
const CHOICES = `${head('choices')}fields:
  - { name: site, type: text, default: ber }
  - { name: plain, type: radio, values: [a, b], default: b }
  - { name: first, type: enum, values: [{ id: 1, name: one }, { id: 2, name: two }], default: __auto__ }
  - { name: column, type: enum, values: [{ id: 1, name: one }, { id: 2, name: two }], valueColumn: name, default: two }
  - { name: whole, type: enum, values: [{ id: 1, name: one }], outputObject: true, default: __auto__ }
  - { name: all, type: enum, values: [a, b], multiple: true, default: __all__ }
  - { name: none, type: enum, values: [a, b], default: __none__ }
  - { name: shows, type: expression, runLocal: true, expression: "'$(column)/$(column.id)/$(pick)'" }
  - { name: pick, type: enum, values: [{ id: 1, name: one }], placeholderColumn: name, default: __auto__ }
  - { name: filled, type: text, default: "vm-$(site)" }
  - { name: computed, type: number, default: "2 * 21", evalDefault: true }
  - { name: hidden, type: text, default: x, dependencies: [{ name: site, values: [ams] }] }
  - { name: inverted, type: text, default: x, dependencies: [{ name: "!site", values: [ams] }] }
  - { name: either, type: text, default: x, dependencyFn: or, dependencies: [{ name: site, values: [ams] }, { name: plain, values: [b] }] }
  - { name: long, type: text, minLength: 3, default: ab, output: false }
  - { name: valid, type: text, default: x, dependencies: [{ name: long, isValid: true }] }
  - { name: cidr, type: expression, expression: "fn.fnSort([{ n: 2 }, { n: 10 }], { n: { direction: 'desc' } }).map((one) => one.n)" }
  - { name: size, type: expression, expression: "[{ size: 3221225472 }]", jq: ".[0].size | fn2GB | fnRound" }
  - { name: inner, type: expression, expression: "fn.fnJq(fn.fnJq([2, 1], 'sort'), '.[0]')" }
  - { name: awaited, type: expression, expression: "fn.fnSort(await fn.fnJq([2, 1], '.'), '').length" }
  - { name: then, type: expression, expression: "fn.fnJq([2, 1], '.').then((all) => all.length)" }
  - { name: not, type: expression, expression: "fn.fnSort(fn.fnJq([2, 1], '.'), '')" }
  - { name: modelled, type: text, default: 4, model: "vm.disk[0].size" }
`
const LIST = `${head('rows')}fields:
  - { name: top, type: text, default: t }
  - name: disks
    type: list
    subform: disk
    insertMarker: added
    updateMarker: changed
    deleteMarker: gone
    default: [{ id: 7, kind: wrong }]
`
const DISK = `name: disk
type: subform
fields:
  - { name: kind, type: radio, values: [ssd, tape], required: true }
  - { name: path, type: expression, runLocal: true, expression: "'$(__parent__.top)/$(kind)'" }
`
const WIZARD = `${head('steps')}fields: []
wizard:
  - { name: place, subform: disk, defaultModel: place.of }
  - { name: more, subform: disk, when: "'$(__parent__.place.kind)' === 'tape'" }
  - { name: extra, subform: disk, optional: true, defaultModel: extra }
`
const LIMITS = `${head('limits')}fields:
  - { name: memory, type: expression, runLocal: true, expression: "'x'.repeat(20 * 1024 * 1024).length" }
  - { name: large, type: expression, runLocal: true, expression: "'x'.repeat(1024 * 1024)" }
  - { name: deep, type: expression, runLocal: true, expression: "let all = []; for (let i = 0; i < 101; i++) all = [all]; all" }
  - { name: long, type: expression, runLocal: true, expression: "for (;;) {}" }
  - { name: last, type: expression, runLocal: true, expression: "'good'" }
`

let server: TestServer
beforeAll(async () => {
  server = await startServer({
    forms: { 'a.yml': CHOICES, 'b.yml': LIST, 'c.yml': DISK, 'd.yml': WIZARD, 'e.yml': LIMITS },
    settings: { LAUNCH_VALIDATION: 'enforce' },
  })
})
afterAll(() => server.close())

interface Evaluated {
  readonly fields: Readonly<Record<string, { shown: boolean; value?: unknown; waiting?: string }>>
  readonly rows: Readonly<Record<string, readonly object[]>>
  readonly steps: Readonly<Record<string, { shown: boolean }>>
  readonly runs: { readonly extravars: Readonly<Record<string, unknown>> }
}

async function evaluate(form: string, rawFormData: object = {}): Promise<Evaluated> {
  const json = { rawFormData, wait: 30 }
  const { status, body, text } = await server.call('POST', `/forms/${form}/evaluate`, { token: server.admin, json })
  expect(status, text).toBe(200)
  return body as unknown as Evaluated
}

test('choices, defaults, dependencies and models', async () => {
  const { fields, runs } = await evaluate('choices')
  expect(runs.extravars).toMatchObject({
    plain: 'b',
    first: 1,
    column: 'two',
    whole: { id: 1, name: 'one' },
    all: ['a', 'b'],
    inner: 1,
    awaited: 2,
    then: 2,
    shows: 'two/2/one',
    filled: 'vm-ber',
    computed: 42,
    cidr: [10, 2],
    size: 3,
    vm: { disk: [{ size: '4' }] },
  })
  for (const name of ['none', 'hidden', 'long', 'modelled']) expect(runs.extravars).not.toHaveProperty(name)
  expect(fields.not?.waiting).toMatch(/its expression failed/)
  const shown = Object.entries(fields).filter(([, field]) => field.shown)
  const hidden = Object.keys(fields).filter((name) => !shown.some(([other]) => other === name))
  expect(hidden).toEqual(['hidden', 'valid'])
})

test('rows: those that came with the list, marks, and rows that are checked', async () => {
  const { runs, rows } = await evaluate('rows')
  expect(runs.extravars.disks).toEqual([{ id: 7, kind: 'wrong' }])
  expect(rows).toEqual({})
  const disks = [
    { id: 7, kind: 'wrong', gone: true },
    { kind: 'ssd', added: true },
    { id: 7, kind: 'tape', changed: true, other: 1 },
  ]
  const edited = await evaluate('rows', { disks })
  expect(edited.runs.extravars.disks).toEqual([
    { id: 7, kind: 'wrong', gone: true },
    { kind: 'ssd', path: 't/ssd', added: true },
    expect.objectContaining({ kind: 'tape', path: 't/tape', changed: true }),
  ])
  expect((await evaluate('rows', { disks: [{ kind: 'paper' }] })).rows.disks).toHaveLength(1)
  const many = Array.from({ length: 501 }, () => ({ kind: 'ssd' }))
  const { status, text } = await server.call('POST', '/job', {
    token: server.admin,
    json: { formName: 'rows', rawFormData: { disks: many }, extravars: {} },
  })
  expect(status).toBe(422)
  expect(text).toContain('A launch may have 500 rows in all its lists')
})

test('steps of a wizard', async () => {
  const { runs, steps } = await evaluate('steps', { place: { kind: 'ssd' } })
  expect(runs.extravars).toMatchObject({ place: { of: { kind: 'ssd' } } })
  expect(runs.extravars).not.toHaveProperty('extra')
  expect(steps.more).toMatchObject({ shown: false })
  const tape = await evaluate('steps', { place: { kind: 'tape' }, more: { kind: 'ssd' }, extra: { kind: 'ssd' } })
  expect(tape.runs.extravars).toMatchObject({ place: { of: { kind: 'tape' } }, kind: 'ssd', extra: { kind: 'ssd' } })
})

test('limits of scripts', async () => {
  const { fields } = await evaluate('limits')
  expect(fields.memory?.waiting).toMatch(/out of memory/)
  expect(fields.large?.waiting).toMatch(/the result is too large/)
  expect(fields.deep?.waiting).toMatch(/nested too deep/)
  expect(fields.long?.waiting).toMatch(/takes too long/)
  expect(fields.last).toMatchObject({ value: 'good' })
})
