import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestServer, startServer } from '../api/server.js'

/** A user sends to the playbook, in a row or a date field, what the form does not let anybody type. */

const SUBFORM = [
  { name: 'label', required: true, regex: { expression: '^[a-z]+$', description: 'letters' } },
  { name: 'gb', type: 'number', maxValue: 9 },
  { name: 'kind', type: 'enum', values: ['ssd', 'disk'] },
  { name: 'path', type: 'expression', runLocal: true, expression: "'/' + '$(label)'" },
  { name: 'parts', type: 'list', subform: 'part' },
]
const LIST = { name: 'disks', type: 'list', subform: 'disk', deleteMarker: 'gone' }
const form = (name: string, fields: object[]) => ({
  name,
  type: 'ansible',
  playbook: 'site.yml',
  roles: ['default'],
  fields,
})
const FORMS = [
  form('rows', [{ ...LIST, default: [{ id: 7, label: 'Too long', note: 'x' }] }]),
  form('empty', [LIST]),
  form(
    'dates',
    ['date', 'datetime', 'time', 'month', 'year', 'week'].map((dateType) => ({
      name: dateType,
      type: 'datetime',
      dateType,
    })),
  ),
  { name: 'disk', type: 'subform', fields: SUBFORM },
  { name: 'part', type: 'subform', fields: [{ name: 'nr', type: 'number', required: true }] },
]

let server: TestServer
let user: string

beforeAll(async () => {
  server = await startServer({
    forms: { 'forms.yml': JSON.stringify(FORMS) },
    settings: { LAUNCH_VALIDATION: 'enforce' },
  })
  user = (await server.addUser('mallory')).token
})

afterAll(() => server?.close())

interface Refused {
  readonly details: {
    readonly missing: readonly string[]
    readonly invalid: readonly string[]
    readonly rowErrors: Readonly<Record<string, readonly object[]>>
  }
}

const launch = (formName: string, rawFormData: object) =>
  server.call('POST', '/job', { token: user, json: { formName, rawFormData, extravars: {} } })

async function refused(formName: string, values: object): Promise<Refused['details']> {
  const answer = await launch(formName, values)
  expect(answer.status, JSON.stringify([values, answer.body])).toBe(422)
  return (answer.body as unknown as Refused).details
}

/** The extra variables of a job that is launched with these values. */
async function extravars(formName: string, values: object): Promise<Record<string, unknown>> {
  const answer = await launch(formName, values)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  const job = await server.call('GET', `/job/${(answer.body as unknown as { id: number }).id}`, { token: user })
  return (job.body as unknown as { extravars: Record<string, unknown> }).extravars
}

describe('a row that is marked as deleted', () => {
  test.each<[string, object, string]>([
    ['a text that breaks its pattern', { label: '$(id)' }, 'label'],
    ['an object for a text', { label: { a: 1 } }, 'label'],
    ['a number over its bound', { label: 'a', gb: 99 }, 'gb'],
    ['a word for a number', { label: 'a', gb: 'many' }, 'gb'],
    ['a choice that is none', { label: 'a', kind: 'tape' }, 'kind'],
    ['a bad row in a list of its own', { label: 'a', parts: [{ nr: 'x' }] }, 'parts'],
    ['a change of a row of the list', { id: 7, label: 'Too short', note: 'x' }, 'label'],
  ])('is checked: %s', async (_what, row, field) => {
    for (const name of ['rows', 'empty']) {
      const details = await refused(name, { disks: [{ ...row, gone: true }] })
      expect(details.invalid).toEqual(['disks'])
      expect(details.rowErrors.disks).toMatchObject([{ index: 0, invalid: [field] }])
    }
  })

  test('brings nothing that no field asks for, and no computed value of its own', async () => {
    const row = { label: 'a', path: '/etc', extra: 'x', id: 8, gone: true }
    for (const name of ['rows', 'empty']) {
      expect((await extravars(name, { disks: [row] })).disks).toEqual([{ label: 'a', path: '/a', gone: true }])
    }
  })

  test('may have gaps: what is required, and what is computed from it', async () => {
    const rows = [{ gone: true }, { label: '', gb: null, gone: true }, { gb: 5, parts: [{}], gone: true }]
    expect((await extravars('empty', { disks: rows })).disks).toEqual([
      { gone: true },
      { label: '', path: '/', gone: true },
      { gb: 5, parts: [{}], gone: true },
    ])
  })

  test('is as it came when it came with the list', async () => {
    const row = { id: 7, label: 'Too long', note: 'x', gone: true }
    expect((await extravars('rows', { disks: [row] })).disks).toEqual([row])
  })

  test('has gaps only when it really has the mark', async () => {
    for (const row of [{ gone: 'true' }, { gone: 1 }, { gone: false }, { deleted: true }]) {
      expect((await refused('empty', { disks: [row] })).rowErrors.disks).toMatchObject([{ missing: ['label'] }])
    }
  })
})

describe('a date field', () => {
  const ATTACKS: readonly unknown[] = [
    'now',
    '{{ 1 }}',
    '2026-02-30',
    '2026-03-01; id',
    '2026-03-01\n',
    '2026-03-01T10:00:00Z # x',
    -1,
    true,
    { a: 1 },
    { month: 1, year: 2026, hours: 1, minutes: 1 },
    ['2026-03-01'],
    ['2026-03-02T00:00:00Z', 'x'],
    [],
  ]

  test.each(['date', 'datetime', 'time', 'month', 'year', 'week'])('of a %s takes nothing else', async (dateType) => {
    for (const value of ATTACKS) {
      expect((await refused('dates', { [dateType]: value })).invalid).toEqual([dateType])
    }
  })

  test('takes what a page sends, and the playbook gets that', async () => {
    const sent = {
      date: '2026-03-09',
      datetime: '2026-03-09T12:00:00.000Z',
      time: { hours: 14, minutes: 5, seconds: 0 },
      month: { month: 0, year: 2026 },
      year: '2026',
      week: ['2026-03-09T00:00:00.000Z', '2026-03-15T23:59:59.999Z'],
    }
    expect(await extravars('dates', sent)).toMatchObject({ ...sent, month: { month: 1, year: 2026 } })
  })
})
