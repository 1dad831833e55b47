import { describe, expect, test } from 'vitest'
import { check, formOf } from './check.js'
import { covers } from '../../interface/covers.js'

const DISK = [
  { name: 'label', required: true, maxLength: 5 },
  { name: 'gb', type: 'number', minValue: 1, model: 'size.gb' },
  { name: 'path', type: 'expression', runLocal: true, expression: "'/' + '$(__parent__.host)' + '/' + '$(label)'" },
  { name: 'note', output: false },
]
const form = (list: object = {}, more: object[] = []) =>
  formOf([{ name: 'host', default: 'h' }, { name: 'disks', type: 'list', subform: 'disk', ...list }, ...more], {
    disk: DISK,
  })
const row = { label: 'a', gb: 1 }
const sentRow = { label: 'a', size: { gb: 1 }, path: '/h/a' }

describe('rows of a list', () => {
  test('are checked with their subform: rules, computed fields with __parent__, model and output', async () => {
    covers('field.list')
    const { details, extravars } = await check(form(), {
      disks: [{ ...row, note: 'n', undeclared: 1, path: 'forged' }],
    })
    expect(details.invalid).toEqual([])
    expect(extravars.disks).toEqual([sentRow])
  })

  test('a bad row makes its list invalid, with index, fields and rules', async () => {
    const { details } = await check(form(), { disks: [row, { gb: 0 }, { label: 'toolong' }, 'no row'] })
    expect(details).toMatchObject({ missing: [], invalid: ['disks'], waiting: ['disks'] })
    expect(details.rowErrors.disks).toMatchObject([
      { index: 1, missing: ['label'], invalid: ['gb'], validationErrors: { gb: [{ type: 'minValue' }] } },
      { index: 2, invalid: ['label'], validationErrors: { label: [{ type: 'maxLength' }] } },
      { index: 3, invalid: ['disks'] },
    ])
  })

  test('a row that came with the list is accepted unchanged and unchecked', async () => {
    const own = { id: 7, label: 'much too long' }
    for (const source of [{ default: [own] }, { expression: JSON.stringify([own]), runLocal: true }]) {
      expect((await check(form(source), {})).extravars.disks).toEqual([own])
      const { details, extravars } = await check(form(source), { disks: [own, row] })
      expect(details.invalid).toEqual([])
      expect(extravars.disks).toEqual([own, sentRow])
      expect((await check(form(source), { disks: [{ ...own, label: 'also too long' }] })).details.invalid).toEqual([
        'disks',
      ])
    }
  })

  test('an edited row keeps the columns that no field shows, and only as the list had them', async () => {
    const source = { default: [{ id: 7, label: 'x' }] }
    const rows = async (sent: object) => (await check(form(source), { disks: [sent] })).extravars.disks
    expect(await rows({ id: 7, ...row })).toEqual([{ id: 7, ...sentRow }])
    expect(await rows({ id: 8, ...row })).toEqual([sentRow])
  })

  test('markers reach the playbook', async () => {
    const markers = { insertMarker: 'new', updateMarker: 'changed', deleteMarker: 'gone', default: [{ label: 'x' }] }
    const sent = ['new', 'changed', 'gone'].map((marker) => ({ ...row, [marker]: true }))
    const { details, extravars } = await check(form(markers), { disks: sent })
    expect(details.invalid).toEqual([])
    expect(extravars.disks).toEqual([
      { ...sentRow, new: true },
      { ...sentRow, changed: true },
      { ...sentRow, gone: true },
    ])
  })

  test('a row with the delete marker is checked, but may have gaps', async () => {
    const list = { deleteMarker: 'gone', default: [{ id: 7, label: 'too long for a label' }] }
    const rows = async (...sent: object[]) => check(form(list), { disks: sent })
    const { details } = await rows({ label: 'too long', gone: true }, { gb: 0, gone: true })
    expect(details.rowErrors.disks).toMatchObject([
      { index: 0, invalid: ['label'] },
      { index: 1, invalid: ['gb'] },
    ])
    expect(details.rowErrors.disks?.[1]).not.toHaveProperty('missing')
    expect(details.rowErrors.disks?.[1]).not.toHaveProperty('waiting')
    const good = await rows({ gb: 1, gone: true }, { ...list.default[0], gone: true })
    expect(good.details).toMatchObject({ missing: [], invalid: [], waiting: [] })
    expect(good.extravars.disks).toEqual([
      { size: { gb: 1 }, gone: true },
      { ...list.default[0], gone: true },
    ])
    expect((await rows({ gb: 1 })).details).toMatchObject({ invalid: ['disks'], waiting: ['disks'] })
  })

  test('if no row came with the list, each one is new; the marker is __inserted__ if the list has other markers', async () => {
    expect((await check(form({ insertMarker: 'new' }), { disks: [row] })).extravars.disks).toEqual([
      { ...sentRow, new: true },
    ])
    for (const list of [{ updateMarker: 'u' }, { deleteMarker: 'd' }, { allowDelete: false }]) {
      expect((await check(form(list), { disks: [row] })).extravars.disks).toEqual([{ ...sentRow, __inserted__: true }])
    }
    expect((await check(form(), { disks: [row] })).extravars.disks).toEqual([sentRow])
    const deleted = { ...row, d: true }
    expect((await check(form({ deleteMarker: 'd' }), { disks: [deleted] })).extravars.disks).toEqual([
      { ...sentRow, d: true },
    ])
  })

  test('lists in lists, with __parent__.__parent__ and errors in their places', async () => {
    const nested = formOf([{ name: 'site' }, { name: 'hosts', type: 'list', subform: 'host' }], {
      host: [{ name: 'name' }, { name: 'disks', type: 'list', subform: 'disk' }],
      disk: [
        { name: 'gb', type: 'number', maxValue: 9 },
        {
          name: 'id',
          type: 'expression',
          runLocal: true,
          expression: '__parent__.__parent__.site + "-" + __parent__.name + "-" + $(gb)',
        },
      ],
    })
    const values = { site: 'eu', hosts: [{ name: 'a', disks: [{ gb: 1 }] }] }
    expect((await check(nested, values)).extravars.hosts).toEqual([{ name: 'a', disks: [{ gb: 1, id: 'eu-a-1' }] }])
    const { details } = await check(nested, { site: 'eu', hosts: [{ name: 'a', disks: [{ gb: 1 }, { gb: 10 }] }] })
    expect(details.rowErrors.hosts).toMatchObject([
      { index: 0, invalid: ['disks'], rowErrors: { disks: [{ index: 1, invalid: ['gb'] }] } },
    ])
  })

  test('at most 500 rows a launch, all levels together', async () => {
    covers('field.list')
    const nested = formOf(
      [
        { name: 'l', type: 'list', subform: 's' },
        { name: 'm', type: 'list', subform: 't' },
      ],
      {
        s: [{ name: 'k', type: 'list', subform: 't' }],
        t: [{ name: 'v' }],
      },
    )
    const rows = (count: number) => Array.from({ length: count }, () => ({ v: 'x' }))
    expect((await check(nested, { l: [{ k: rows(300) }], m: rows(199) })).details.invalid).toEqual([])
    const { details } = await check(nested, { l: [{ k: rows(300) }], m: rows(200) })
    expect(details.invalid).toEqual(['m'])
    expect(details.validationErrors.m).toMatchObject([{ type: 'maxRows' }])
  })

  test('a row may have a field with the name of an outer field that sums up the rows', async () => {
    const total = { name: 'total', type: 'expression', runLocal: true, expression: '$(rows).length' }
    const own = { name: 'total', type: 'expression', runLocal: true, expression: '__parent__.host + "/total"' }
    const both = formOf([{ name: 'rows', type: 'list', subform: 's' }, { name: 'host' }, total], { s: [own] })
    const { details, extravars } = await check(both, { host: 'h', rows: [{}, {}] })
    expect(details.waiting).toEqual([])
    expect(extravars).toEqual({ host: 'h', rows: [{ total: 'h/total' }, { total: 'h/total' }], total: 2 })
  })

  test('a required list needs a row', async () => {
    expect((await check(form({ required: true }), { disks: [] })).details.missing).toEqual(['disks'])
  })
})

describe('a yaml field with a subform', () => {
  const yaml = formOf(
    [
      { name: 'host', default: 'h' },
      { name: 'disk', type: 'yaml', subform: 'disk' },
    ],
    { disk: DISK },
  )

  test('is one object that is checked with it, sent as an object or as YAML', async () => {
    for (const disk of [row, 'label: a\ngb: 1\n']) {
      expect((await check(yaml, { disk })).extravars.disk).toEqual(sentRow)
    }
  })

  test('has errors without an index', async () => {
    const { details } = await check(yaml, { disk: { gb: 0, label: 'x' } })
    expect(details.invalid).toEqual(['disk'])
    expect(details.rowErrors.disk).toMatchObject([{ invalid: ['gb'] }])
    expect(details.rowErrors.disk?.[0]).not.toHaveProperty('index')
    expect((await check(yaml, { disk: 'just words' })).details.invalid).toEqual(['disk'])
  })
})

describe('a wizard', () => {
  const wizard = formOf(
    undefined,
    {
      network: [
        { name: 'vlan', type: 'number', required: true },
        { name: 'kind', default: 'lan' },
      ],
      storage: [
        { name: 'gb', type: 'number', maxValue: 9 },
        { name: 'at', type: 'expression', runLocal: true, expression: "'vlan ' + $(__parent__.net.vlan)" },
      ],
      extra: [{ name: 'note', required: true }],
    },
    {
      fields: undefined,
      wizard: [
        { subform: 'network', name: 'net' },
        {
          subform: 'storage',
          defaultModel: 'vm.storage',
          when: "'$(__parent__.net.kind)' === 'san' || __parent__.net.vlan > 5",
        },
        { subform: 'extra', optional: true },
        { subform: 'extra', name: 'last', when: '__parent__.storage.gb > 1', defaultModel: 'last' },
      ],
    },
  )

  test('values of its steps merge, or go under defaultModel', async () => {
    covers('field.wizard')
    const { details, extravars } = await check(wizard, { net: { vlan: 6 }, storage: { gb: 1 } })
    expect(details).toMatchObject({ missing: [], invalid: [], waiting: [] })
    expect(extravars).toEqual({ vlan: 6, kind: 'lan', vm: { storage: { gb: 1, at: 'vlan 6' } } })
  })

  test('a step whose when is false is neither checked nor sent', async () => {
    covers('field.wizard')
    const { details, extravars } = await check(wizard, { net: { vlan: 1 }, storage: { gb: 99 } })
    expect(details.invalid).toEqual([])
    expect(extravars).toEqual({ vlan: 1, kind: 'lan' })
    expect((await check(wizard, { net: { vlan: 1, kind: 'san' }, storage: { gb: 99 } })).details.invalid).toEqual([
      'storage.gb',
    ])
  })

  test('each step is checked against its subform, and errors name it', async () => {
    covers('field.wizard')
    expect((await check(wizard, {})).details.missing).toEqual(['net.vlan'])
    expect((await check(wizard, { net: [], storage: {} })).details.invalid).toEqual(['net'])
    expect((await check(wizard, { net: { vlan: 6 }, storage: { gb: 2 } })).details.missing).toEqual(['last.note'])
  })

  test('an optional step may be left out; one that is filled in is checked', async () => {
    covers('field.wizard')
    expect((await check(wizard, { net: { vlan: 1 }, extra: { note: '' } })).details.missing).toEqual(['extra.note'])
    expect((await check(wizard, { net: { vlan: 1 }, extra: { note: 'x' } })).extravars).toMatchObject({ note: 'x' })
  })
})

test('a yaml field whose default contains itself through its subform waits, and its check ends', async () => {
  const again = { name: 'again', type: 'yaml', subform: 'sub', default: {} }
  const text = formOf([again], { sub: [again, { ...again, name: 'other' }] })
  expect((await check(text, {})).details.waiting).toEqual(['again'])
  const { details, extravars } = await check(text, { again: { again: { again: null, other: null }, other: null } })
  expect(details).toMatchObject({ waiting: [], invalid: [] })
  expect(extravars).toEqual({ again: { again: {} } })
})
