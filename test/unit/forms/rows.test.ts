import { describe, expect, test } from 'vitest'
import { covers } from '../../interface/covers.js'
import { check, formOf } from './check.js'

const DISK = [
  { name: 'label', required: true, maxLength: 5 },
  { name: 'gb', type: 'number', minValue: 1, model: 'size.gb' },
  { name: 'path', type: 'expression', runLocal: true, expression: "'/' + '$(__parent__.host)' + '/' + '$(label)'" },
  { name: 'note', output: false },
]
const HOST = { name: 'host', default: 'h' }
const form = (list: object = {}) =>
  formOf([HOST, { name: 'disks', type: 'list', subform: 'disk', ...list }], { disk: DISK })
const row = { label: 'a', gb: 1 }
const sentRow = { label: 'a', size: { gb: 1 }, path: '/h/a' }

describe('rows of a list', () => {
  test('are checked with their subform: rules, computed fields with __parent__, model and output', async () => {
    covers('field.list')
    const sent = { ...row, note: 'n', undeclared: 1, path: 'forged' }
    expect((await check(form(), { disks: [sent] })).extravars.disks).toEqual([sentRow])
    const { details } = await check(form(), { disks: [row, { gb: 0 }, { label: 'toolong' }, 'no row'] })
    expect(details).toMatchObject({ missing: [], invalid: ['disks'], waiting: ['disks'] })
    expect(details.rowErrors.disks).toMatchObject([
      { index: 1, missing: ['label'], invalid: ['gb'], validationErrors: { gb: [{ type: 'minValue' }] } },
      { index: 2, invalid: ['label'], validationErrors: { label: [{ type: 'maxLength' }] } },
      { index: 3, invalid: ['disks'] },
    ])
    expect((await check(form({ required: true }), { disks: [] })).details.missing).toEqual(['disks'])
  })

  test.each<[what: string, list: object, sent: object, received: object | null]>([
    [
      'one that came with the list is taken unchecked',
      {},
      { id: 7, label: 'much too long' },
      { id: 7, label: 'much too long' },
    ],
    ['a changed one is checked', {}, { id: 7, label: 'also too long' }, null],
    ['it keeps columns that no field shows', {}, { id: 7, ...row }, { id: 7, ...sentRow }],
    ['but only as they were', {}, { id: 8, ...row }, sentRow],
    ['an inserted one', { insertMarker: 'new' }, { ...row, new: true }, { ...sentRow, new: true }],
    ['an updated one', { updateMarker: 'changed' }, { ...row, changed: true }, { ...sentRow, changed: true }],
    ['of a list without rows it is new', { insertMarker: 'new', default: [] }, row, { ...sentRow, new: true }],
    ['also without a mark for that', { updateMarker: 'u', default: [] }, row, { ...sentRow, __inserted__: true }],
    ['where rows stay', { allowDelete: false, default: [] }, row, { ...sentRow, __inserted__: true }],
  ])('%s', async (_what, list, sent, received) => {
    const source = { default: [{ id: 7, label: 'much too long' }], ...list }
    const { details, extravars } = await check(form(source), { disks: [sent] })
    expect(details.invalid).toEqual(received ? [] : ['disks'])
    if (received) expect(extravars.disks).toEqual([received])
  })

  test('lists in lists have __parent__.__parent__, errors in their places, and 500 rows together', async () => {
    const id = '__parent__.__parent__.site + "-" + __parent__.name + "-" + $(gb)'
    const nested = formOf([{ name: 'site' }, { name: 'hosts', type: 'list', subform: 'host' }], {
      host: [{ name: 'name' }, { name: 'disks', type: 'list', subform: 'disk' }],
      disk: [
        { name: 'gb', type: 'number', maxValue: 9 },
        { name: 'id', type: 'expression', runLocal: true, expression: id },
      ],
    })
    const hosts = (...disks: object[]) => ({ site: 'eu', hosts: [{ name: 'a', disks }] })
    expect((await check(nested, hosts({ gb: 1 }))).extravars.hosts).toEqual([
      { name: 'a', disks: [{ gb: 1, id: 'eu-a-1' }] },
    ])
    expect((await check(nested, hosts({ gb: 1 }, { gb: 10 }))).details.rowErrors.hosts).toMatchObject([
      { index: 0, invalid: ['disks'], rowErrors: { disks: [{ index: 1, invalid: ['gb'] }] } },
    ])
    const { details } = await check(nested, hosts(...Array.from({ length: 500 }, () => ({ gb: 1 }))))
    expect(JSON.stringify(details.rowErrors)).toContain('maxRows')
  })

  test('a field of a row may have the name of an outer field that sums up the rows', async () => {
    const total = { name: 'total', type: 'expression', runLocal: true, expression: '$(rows).length' }
    const own = { ...total, expression: '__parent__.host + "/total"' }
    const both = formOf([{ name: 'rows', type: 'list', subform: 's' }, { name: 'host' }, total], { s: [own] })
    const { extravars } = await check(both, { host: 'h', rows: [{}, {}] })
    expect(extravars).toEqual({ host: 'h', rows: [{ total: 'h/total' }, { total: 'h/total' }], total: 2 })
  })
})

test('a yaml field with a subform is one object that is checked with it, sent as an object or as YAML', async () => {
  const yaml = formOf([HOST, { name: 'disk', type: 'yaml', subform: 'disk' }], { disk: DISK })
  for (const disk of [row, 'label: a\ngb: 1\n']) {
    expect((await check(yaml, { disk })).extravars.disk).toEqual(sentRow)
  }
  const { details } = await check(yaml, { disk: { gb: 0, label: 'x' } })
  expect(details.rowErrors.disk).toMatchObject([{ invalid: ['gb'] }])
  expect((await check(yaml, { disk: 'just words' })).details.invalid).toEqual(['disk'])
  const again = { name: 'again', type: 'yaml', subform: 'sub', default: {} }
  expect((await check(formOf([again], { sub: [again] }), {})).details.waiting).toEqual(['again'])
})

describe('a wizard', () => {
  const SUBFORMS = {
    network: [
      { name: 'vlan', type: 'number', required: true },
      { name: 'kind', default: 'lan' },
    ],
    storage: [
      { name: 'gb', type: 'number', maxValue: 9 },
      { name: 'at', type: 'expression', runLocal: true, expression: "'vlan ' + $(__parent__.net.vlan)" },
    ],
    extra: [{ name: 'note', required: true }],
    files: [{ name: 'doc', type: 'file' }],
  }
  const steps = (...wizard: object[]) => formOf([{ name: 'mode' }], SUBFORMS, { wizard })
  const when = "'$(__parent__.net.kind)' === 'san' || __parent__.net.vlan > 5"
  const wizard = steps(
    { subform: 'network', name: 'net' },
    { subform: 'storage', defaultModel: 'vm.storage', when },
    { subform: 'extra', optional: true },
    { subform: 'extra', name: 'last', when: '__parent__.storage.gb > 1', defaultModel: 'last' },
  )

  test('has values of its steps at the root or below defaultModel; a step that is not shown does not count', async () => {
    covers('field.wizard')
    const { details, extravars } = await check(wizard, { net: { vlan: 6 }, storage: { gb: 1 } })
    expect(details).toMatchObject({ missing: [], invalid: [], waiting: [] })
    expect(extravars).toEqual({ vlan: 6, kind: 'lan', vm: { storage: { gb: 1, at: 'vlan 6' } } })
    expect((await check(wizard, { net: { vlan: 1 }, storage: { gb: 99 } })).extravars).toEqual({ vlan: 1, kind: 'lan' })
  })

  test.each<[values: object, wrong: object]>([
    [{}, { missing: ['net.vlan'] }],
    [{ net: [], storage: {} }, { invalid: ['net'] }],
    [
      { net: { vlan: 1, kind: 'san' }, storage: { gb: 99 } },
      { missing: ['last.note'], invalid: ['storage.gb'] },
    ],
    [{ net: { vlan: 6 }, storage: { gb: 2 } }, { missing: ['last.note'] }],
    [{ net: { vlan: 1 }, extra: { note: '' } }, { missing: ['extra.note'] }],
    [{ net: { vlan: 1 }, extra: { note: 'x' } }, {}],
    [{ net: { vlan: 1 }, extra: {} }, {}],
  ])('with the values %j has %j wrong', async (values, wrong) => {
    covers('field.wizard')
    const nothing = { missing: [], invalid: [], waiting: [] }
    expect((await check(wizard, { ...values })).details).toMatchObject({ ...nothing, ...wrong })
  })

  test.each<[when: string, values: object, missing: string[], waiting: string[]]>([
    ["'$(__parent__.mode)' === 'on'", { mode: 'on' }, ['extra.note'], []],
    ["'$(__parent__.mode)' === 'on'", { mode: 'off' }, [], []],
    ["'$(__user__.username)' === 'ann'", {}, ['extra.note'], []],
    ["'$(PLACE.name)' === 'here'", {}, ['extra.note'], []],
    ['0', {}, [], []],
    ['gone.by', {}, [], ['extra']],
  ])('shows a step when %s with %j', async (shownWhen, values, missing, waiting) => {
    const constants = { PLACE: { name: 'here' } }
    const { details } = await check(steps({ subform: 'extra', when: shownWhen }), { ...values }, { constants })
    expect([details.missing, details.waiting]).toEqual([missing, waiting])
  })
})
