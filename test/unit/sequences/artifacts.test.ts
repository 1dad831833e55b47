import { describe, expect, it } from 'vitest'
import { createArtifacts } from '../../../control-plane/src/sequences/workflows/artifacts.js'
import {
  isConditionMet,
  receivedBy,
  nodeVariables,
  variablesUnderKey,
} from '../../../control-plane/src/sequences/workflows/node-data.js'
import { playbook } from './graph.js'

function gathered(...events: unknown[]) {
  const artifacts = createArtifacts()
  for (const event of events) artifacts.add(Buffer.from(typeof event === 'string' ? event : JSON.stringify(event)))
  return artifacts.published()
}

function stats(data: unknown, more: Record<string, unknown> = {}, beside: Record<string, unknown> = {}) {
  const ansible_stats = { data, per_host: false, aggregate: true, ...more }
  return { type: 'runner_on_ok', action: 'set_stats', result: { changed: false, ansible_stats, ...beside } }
}

describe('artifacts', () => {
  it('are combined as ansible combines its own statistics', () => {
    const values = { text: 'a', number: 1, list: [1], map: { one: { x: 1, y: [1] } }, flag: true, kept: 1 }
    const later = { text: 'b', number: 2, list: [2], map: { one: { y: [2], z: 3 } }, flag: true, kept: 'text' }
    expect(gathered(stats(values), stats(later))).toEqual({
      artifacts: { text: 'ab', number: 3, list: [1, 2], map: { one: { x: 1, y: [2], z: 3 } }, flag: 2, kept: 1 },
      lost: [],
    })
    expect(gathered(stats(values), stats({ text: 'b' }, { aggregate: false })).artifacts).toMatchObject({ text: 'b' })
  })

  it('that are nested deeper than values may be are left out and named', () => {
    const levels = (count: number) =>
      JSON.stringify(stats({ deep: 'DEEP', kept: 1 })).replace('"DEEP"', `${'['.repeat(count)}${']'.repeat(count)}`)
    expect(gathered(levels(100)).lost).toEqual([])
    for (const count of [101, 200_000]) {
      expect(gathered(levels(count), stats({ deep: [1] }))).toEqual({
        artifacts: { kept: 1 },
        lost: ["'deep', which was nested deeper than 100 levels"],
      })
    }
  })

  it('with numbers that JavaScript would change are left out and named', () => {
    const large = JSON.stringify(stats({ wwn: 'NUMBER', sum: 9007199254740991, text: 'kept' }))
    const lost = ['wwn', 'sum'].map(
      (key) => `'${key}', which was a number that cannot be kept digit by digit (publish it as a text)`,
    )
    expect(gathered(large.replace('"NUMBER"', '1152921504606846977'), stats({ sum: 9 }))).toEqual({
      artifacts: { text: 'kept' },
      lost,
    })
  })

  it('come from successful tasks and items, not from values per host', () => {
    const item = { ...stats({ item: 1 }), type: 'runner_item_on_ok' }
    const failed = { ...stats({ failed: 1 }), type: 'runner_on_failed' }
    const foreign = '{"type":"runner_on_ok","result":{"ansible_stats'
    const hosts = stats({ hosts: 1 }, { per_host: true })
    expect(gathered(item, failed, foreign, hosts, stats('none'), stats({ __inventory__: 'x' }))).toEqual({
      artifacts: { item: 1 },
      lost: [],
    })
  })

  it('that were cut are left out and named', () => {
    const cut = (...paths: (string | undefined)[]) => ({ _cut: paths.map((path) => ({ path, bytes: 1 })) })
    const data = { small: 1, big: 'abc…', deep: { part: 'abc…' }, 'a.b': 'abc…' }
    expect(
      gathered(
        stats(data, {}, cut('ansible_stats.data.big', 'ansible_stats.data.deep.part', 'ansible_stats.data.a.b')),
      ),
    ).toEqual({
      artifacts: { small: 1 },
      lost: ['big', 'deep', 'a.b'].map((key) => `'${key}', which was too large for an event`),
    })
    expect(gathered(stats(data, {}, cut('ansible_stats.data'))).lost).toEqual([
      'some values: there were too many for an event',
    ])
    for (const unknown of [cut(undefined), cut(''), cut('ansible_stats')]) {
      expect(gathered(stats(data, {}, unknown))).toEqual({
        artifacts: {},
        lost: expect.arrayContaining(['values that were too large for an event']),
      })
    }
    const whole = stats({ big: 'b' })
    const torn = gathered(stats({ big: 'a' }), stats(data, {}, cut('ansible_stats.data.big')), whole)
    expect(torn.artifacts).not.toHaveProperty('big')
    expect(torn.lost).toContain("'big', which was too large for an event")
    const anew = gathered(
      stats(data, {}, cut('ansible_stats.data.big')),
      stats({ big: 'b' }, { aggregate: false }),
      whole,
    )
    expect(anew).toEqual({ artifacts: { small: 1, big: 'bb', deep: data.deep, 'a.b': 'abc…' }, lost: [] })
    const key = 'k'.repeat(300)
    const path = `ansible_stats.data.${key}`.slice(0, 200)
    expect(gathered(stats({ [key]: 'abc…', other: 1 }, {}, cut(path))).artifacts).toEqual({ other: 1 })
  })

  it('a set_stats under no_log passes on nothing and says so', () => {
    const event = { type: 'runner_on_ok', action: 'ansible.builtin.set_stats', result: { censored: 'hidden' } }
    expect(gathered(event)).toEqual({ artifacts: {}, lost: ['what was published under no_log'] })
    expect(gathered({ ...event, action: 'command' }).lost).toEqual([])
  })

  it('of which one was cut stay left out when later ones are put to them', () => {
    const cut = stats({ big: 'abc…' }, {}, { _cut: [{ path: 'ansible_stats.data.big', bytes: 1 }] })
    const lost = ["'big', which was too large for an event"]
    expect(gathered(cut, stats({ big: 'b' }), stats({ big: 'c' }))).toEqual({ artifacts: {}, lost })
  })

  it('that are maps are put together only where both are maps', () => {
    const maps = (first: unknown, second: unknown) =>
      gathered(stats({ map: first }), stats({ map: second })).artifacts.map
    expect(maps({ a: { x: 1 } }, { a: 2 })).toEqual({ a: 2 })
    expect(maps({ a: 2 }, { a: { x: 1 } })).toEqual({ a: { x: 1 } })
    expect(maps({ a: [1] }, { a: { x: 1 } })).toEqual({ a: { x: 1 } })
  })

  it('have a limit of just 1 MiB as JSON', () => {
    // Braces around it, two quotes, a colon and a comma for each value.
    const value = (characters: number) => 'x'.repeat(characters - 'k'.length - 2 - 4 - 2)
    const limit = 1024 * 1024
    expect(gathered(stats({ k: value(limit) }))).toEqual({ artifacts: { k: value(limit) }, lost: [] })
    expect(gathered(stats({ k: value(limit + 1) }))).toEqual({
      artifacts: {},
      lost: ["'k', which was too large"],
    })
  })

  it('have a limit together: the largest values are left out', () => {
    const half = 'x'.repeat(200_000)
    const events = Array.from({ length: 8 }, (_, index) => stats({ [`k${String(index)}`]: half, small: 1 }))
    const { artifacts, lost } = gathered(...events)
    expect(artifacts).toMatchObject({ small: 8 })
    expect(Object.keys(artifacts)).toHaveLength(6)
    expect(lost).toHaveLength(3)
  })
})

describe('variables of a node', () => {
  const nodes = [
    playbook('b', { success: ['end'] }),
    playbook('a', { success: ['end'] }),
    playbook('c', { failure: ['end'] }),
    playbook('end'),
  ]

  it('come from fired parents in the order of the file; published values win over received ones', () => {
    const data = {
      a: { received: { from: 'root', x: 'old' }, own: { x: 'a' } },
      b: { received: {}, own: { x: 'b', y: 'b' } },
      c: { received: {}, own: { z: 'c' } },
      end: { received: {}, own: {} },
    }
    const received = receivedBy(nodes, 'end', (identifier) => ({
      status: 'success',
      data: data[identifier as keyof typeof data],
    }))
    expect(received).toEqual({ from: 'root', x: 'a', y: 'b' })
  })

  it('extra_data < received < extra_vars of the workflow < values of the form', () => {
    const one = { a: 1, b: 1, c: 1, d: 1 }
    expect(nodeVariables({ extraVars: { c: 3, d: 3 } }, { extraData: one }, { b: 2, c: 2, d: 2 }, { d: 4 })).toEqual({
      a: 1,
      b: 2,
      c: 3,
      d: 4,
    })
  })

  it('with a key: the values below it and the user, or all values if there is nothing below it', () => {
    const ofWhole = { __verbose__: true, ansibleforms_user: { username: 'eve' } }
    const part = { x: 1, __inventory__: 'evil,', ansibleforms_user: 'somebody else' }
    const variables = { part, text: 'a', ...ofWhole, __limit__: 'web' }
    expect(variablesUnderKey(variables, 'part')).toEqual({ x: 1, ...ofWhole })
    for (const key of [null, 'text', 'none', 'toString']) expect(variablesUnderKey(variables, key)).toBe(variables)
  })

  it('only true meets a condition', () => {
    expect(isConditionMet({ ifExtraVar: null }, {})).toBe(true)
    expect(isConditionMet({ ifExtraVar: 'go' }, { go: true })).toBe(true)
    for (const go of ['true', 1, false, undefined]) expect(isConditionMet({ ifExtraVar: 'go' }, { go })).toBe(false)
  })
})
