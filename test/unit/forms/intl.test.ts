import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Evaluator } from '../../../control-plane/src/forms/check/evaluator.js'
import { loadQuickJs } from '../../../control-plane/src/forms/sandbox/quickjs.js'
import { NOW } from './check.js'

/** Scripts of forms have the answers that Node.js gives, over calls that are drawn. */
let evaluator: Evaluator
beforeAll(async () => {
  evaluator = (await loadQuickJs())(NOW)
})

/** What Node.js makes of the same script. The scripts are of this file. */
const inNode = (script: string): { ok: boolean; value?: unknown } => {
  try {
    const value: unknown = (0, eval)(`JSON.stringify(${script})`)
    return { ok: true, value: typeof value === 'string' ? (JSON.parse(value) as unknown) : undefined }
  } catch {
    return { ok: false }
  }
}
const same = (script: string) => {
  const [here, there] = [evaluator.evaluate(script, {}), inNode(script)]
  // Both refuse; in which words does not matter.
  if (!there.ok) expect([script, here.ok]).toEqual([script, false])
  else expect([script, here]).toEqual([script, there])
}

const LOCALES = ['default', 'en-US', 'en-GB', 'de-DE', 'de-CH', 'fr-FR', 'ja-JP', 'ar-EG', 'pt-BR', 'sv', 'tr']
const locale = fc.oneof(
  fc.constant('undefined'),
  fc.constantFrom(...LOCALES).map((name) => JSON.stringify(name)),
  fc.constant('["zz", "nl"]'),
)
const pick = <T extends string>(...values: T[]) => fc.option(fc.constantFrom(...values), { nil: undefined })
const options = (shape: Record<string, fc.Arbitrary<unknown>>) =>
  fc.oneof(
    { arbitrary: fc.constant('undefined'), weight: 1 },
    { arbitrary: fc.record(shape).map((one) => JSON.stringify(one)), weight: 6 },
  )
const dateOptions = options({
  weekday: pick('short', 'long', 'narrow'),
  year: pick('numeric', '2-digit'),
  month: pick('numeric', '2-digit', 'short', 'long'),
  day: pick('numeric', '2-digit'),
  hour: pick('numeric', '2-digit'),
  minute: pick('2-digit'),
  hour12: fc.option(fc.boolean(), { nil: undefined }),
  timeZone: pick('UTC', 'Europe/Berlin', 'America/New_York', 'Nowhere/Else'),
  timeZoneName: pick('short', 'long'),
})
const numberOptions = options({
  style: pick('decimal', 'percent', 'currency', 'unit'),
  currency: pick('EUR', 'USD', 'JPY'),
  unit: pick('gigabyte', 'kilometer-per-hour'),
  minimumFractionDigits: fc.option(fc.integer({ min: 0, max: 4 }), { nil: undefined }),
  maximumFractionDigits: fc.option(fc.integer({ min: 0, max: 4 }), { nil: undefined }),
  notation: pick('compact', 'scientific'),
  useGrouping: fc.option(fc.boolean(), { nil: undefined }),
})
const collatorOptions = options({
  sensitivity: pick('base', 'accent', 'case'),
  numeric: fc.option(fc.boolean(), { nil: undefined }),
  caseFirst: pick('upper', 'lower'),
})
const time = fc.integer({ min: -2_000_000_000_000, max: 4_000_000_000_000 })
const number = fc.oneof(fc.double(), fc.integer(), fc.constantFrom('NaN', '-0', '1/0', '12345678901234567890n'))
const text = fc.string({
  unit: fc.constantFrom('a', 'A', 'ä', 'z', 'ø', 'i', 'İ', '1', '10', '2', '-', ' ', 'ß'),
  maxLength: 6,
})
const quoted = text.map((value) => JSON.stringify(value))

describe('dates, numbers and texts are written and sorted as by Node.js', () => {
  test('dates', () => {
    const method = fc.constantFrom('toLocaleString', 'toLocaleDateString', 'toLocaleTimeString')
    fc.assert(
      fc.property(time, method, locale, dateOptions, (at, name, where, how) => {
        same(`new Date(${at}).${name}(${where}, ${how})`)
        same(`new Intl.DateTimeFormat(${where}, ${how}).formatToParts(${at})`)
      }),
      { numRuns: 400 },
    )
  })

  test('numbers', () => {
    fc.assert(
      fc.property(number, locale, numberOptions, (value, where, how) => {
        same(`(${String(value)}).toLocaleString(${where}, ${how})`)
        same(`Intl.NumberFormat(${where}, ${how}).format(${String(value)})`)
      }),
      { numRuns: 400 },
    )
  })

  test('collation and letters', () => {
    fc.assert(
      fc.property(
        fc.array(text, { maxLength: 5 }),
        quoted,
        quoted,
        locale,
        collatorOptions,
        (list, one, other, where, how) => {
          same(`Math.sign(${one}.localeCompare(${other}, ${where}, ${how}))`)
          same(`${JSON.stringify(list)}.sort(new Intl.Collator(${where}, ${how}).compare)`)
          same(`[${one}.toLocaleUpperCase(${where}), ${one}.toLocaleLowerCase(${where})]`)
        },
      ),
      { numRuns: 300 },
    )
  })

  test('other parts of Intl that forms use', () => {
    for (const where of ['undefined', '"de"', '["zz","fr"]', '"ar"']) {
      same(`new Intl.PluralRules(${where}).select(2)`)
      same(`new Intl.RelativeTimeFormat(${where}, {numeric: "auto"}).format(-1, "day")`)
      same(`new Intl.ListFormat(${where}).format(["a", "b", "c"])`)
      same(`new Intl.DisplayNames(${where}, {type: "region"}).of("CH")`)
      same(`new Intl.DateTimeFormat(${where}).resolvedOptions().timeZone`)
      same(`new Intl.DateTimeFormat(${where}, {dateStyle: "medium"}).formatRange(0, 864e6)`)
      same(`[1234.5, null, new Date(0)].toLocaleString(${where}, {timeZone: "UTC"})`)
      same(`Intl.NumberFormat.supportedLocalesOf(["de", "zz"])`)
      same(`Intl.getCanonicalLocales(${where})`)
    }
  })
})

describe('functions of browsers', () => {
  test('base64 of texts', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 20 }), (value) => {
        const script = `btoa(${JSON.stringify(value)})`
        const [here, there] = [evaluator.evaluate(script, {}), inNode(script)]
        expect(here.ok).toBe(there.ok)
        if (there.ok) expect(here).toEqual(there)
      }),
      { numRuns: 40 },
    )
    same('atob("aG9sZA==")')
  })

  test('addresses', () => {
    for (const script of [
      'new URL("https://ann:pw@Example.org:8443/a/../b?x=1&y=2#z")',
      'new URL("../c?q=ü", "http://x.example/a/b/")',
      'Object.fromEntries(["host","port","pathname","search","hash","origin","username"].map(k => [k, new URL("https://u@h:1/p?q#f")[k]]))',
      '(() => { const u = new URL("http://h/p"); u.searchParams.append("a b", "c&d"); u.port = "81"; return u.href })()',
      '(() => { const u = new URL("http://h/p?a=1"); u.search = "b=2"; return [u.searchParams.get("b"), u.searchParams.get("a")] })()',
      'new URLSearchParams({a: 1, b: "x y"}).toString()',
      '[...new URLSearchParams("?a=1&a=2&b=")]',
      '[URL.canParse("nope"), URL.canParse("http://h")]',
    ]) {
      same(script)
    }
    expect(evaluator.evaluate('new URL("nope")', {}).ok).toBe(false)
  })

  test('copies and ids', () => {
    const copy =
      '(() => { const a = {d: new Date(5), m: new Map([[1, {x: 1}]]), l: [1,,3]}; a.self = a; const b = structuredClone(a); return [b !== a, b.self === b, b.m.get(1), b.d.getTime(), b.l] })()'
    same(copy)
    expect(evaluator.evaluate('structuredClone(() => 1)', {}).ok).toBe(false)
    const ids = evaluator.evaluate('[crypto.randomUUID(), crypto.randomUUID()]', {}) as unknown as { value: string[] }
    expect(ids.value[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(ids.value[0]).not.toBe(ids.value[1])
  })

  test('no function reaches files, a network or the program', () => {
    for (const name of ['process', 'require', 'fetch', 'host', 'setTimeout', 'WebSocket', 'XMLHttpRequest', 'module']) {
      expect(evaluator.evaluate(`typeof ${name}`, {})).toEqual({ ok: true, value: 'undefined' })
    }
    const escape =
      'URL.constructor("return typeof process")() + Intl.NumberFormat.constructor("return typeof process")()'
    expect(evaluator.evaluate(escape, {})).toEqual({ ok: true, value: 'undefinedundefined' })
  })
})

test('helpers give the results of their examples', () => {
  for (const [list, pattern, next] of [
    [['v05', 'v02', 'v01'], 'v##', 'v06'],
    // Gaps are looked for between neighbours in the order of the list.
    [['v01', 'v09', 'v02', 'v04'], 'v##', 'v02'],
    [['a-7', 'b-9', 'c-8'], '[ab]-#', '[ab]-8'],
    [['axb1'], 'a.b#', 'a.b2'],
    [['ab1'], '(a)b#', 'first'],
    [null, 'v##', 'first'],
  ] as const) {
    const called = evaluator.evaluate(`fnGetNumberedName(${JSON.stringify(list)}, '${pattern}', 'first', true)`, {})
    expect([pattern, called]).toEqual([pattern, { ok: true, value: next }])
  }
  expect(evaluator.evaluate('fn.fnOther()', {})).toMatchObject({ ok: false })
})
