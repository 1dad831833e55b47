import { describe, expect, test } from 'vitest'
import { askPython } from './python-lines.js'

/** What becomes of unusual values, and of large ones, in the one line of JSON that an event is. */
const evaluate = askPython(`
from datetime import date, datetime, time
from types import MappingProxyType
from holdfast_job import event_line

class Vault:
    __ENCRYPTED__ = True
    def __str__(self): return "CANARY"

class Older:
    _ciphertext = "x"
    def __str__(self): return "CANARY"

class Bad:
    def __str__(self): raise ValueError("CANARY")

class Plain:
    def __str__(self): return "plain"

nan = float("nan")

def nested(depth):
    value = []
    for _ in range(depth - 1): value = [value]
    return value

def depth_of(value):
    return 1 + max((depth_of(part) for part in (value.values() if isinstance(value, dict) else value) if isinstance(part, (dict, list))), default=0)

def line(result, **fields):
    """The event again, and how long its line is."""
    text = event_line.line_of(dict({"order": 1, "type": "t"}, result=result, **fields))
    assert text.endswith(b"\\n") and text.count(b"\\n") == 1
    return {"event": json.loads(text), "bytes": len(text), "text": text.decode()[:200]}

def answer(question):
    return eval(question, globals())
`)

interface Line {
  readonly event: { readonly result: Record<string, unknown> & { readonly _cut?: readonly object[] } }
  readonly bytes: number
  readonly text: string
}

const LINE_BYTES = 256 * 1024
const lineOf = async (result: string, fields = ''): Promise<Line> =>
  (await evaluate(`line(${result}${fields})`)) as Line
const resultOf = async (result: string) => (await lineOf(result)).event.result

describe('a value that JSON does not have', () => {
  test.each<[string, unknown]>([
    ['b"a\\xff"', 'a\ufffd'],
    ['bytearray(b"ab")', 'ab'],
    ['memoryview(b"ab")', 'ab'],
    ['{7}', [7]],
    ['frozenset([7])', [7]],
    ['(1, 2)', [1, 2]],
    ['MappingProxyType({"a": 1})', { a: 1 }],
    ['date(2026, 1, 2)', '2026-01-02'],
    ['time(3, 4)', '03:04:00'],
    ['datetime(2026, 1, 2, 3, 4)', '2026-01-02T03:04:00'],
    ['Vault()', '(encrypted with ansible-vault)'],
    ['Older()', '(encrypted with ansible-vault)'],
    ['Bad()', '(a value of type Bad)'],
    ['Plain()', 'plain'],
  ])('%s is shown as %j, alone and beside what cannot be encoded at once', async (value, expected) => {
    expect(await resultOf(`{"a": ${value}, "b": None}`)).toEqual({ a: expected, b: null })
    expect(await resultOf(`{"a": ${value}, "b": nan}`)).toEqual({ a: expected, b: 'nan' })
  })

  test('is a number that is none, or a number of too many bits', async () => {
    expect(await resultOf('{"a": [nan, float("inf"), 1.5, True, False, None]}')).toEqual({
      a: ['nan', 'inf', 1.5, true, false, null],
    })
    expect(await evaluate('line({"a": nan, "b": 1 << 4095})["event"]["result"]["b"] == 1 << 4095')).toBe(true)
    expect(await resultOf('{"a": nan, "b": 1 << 4096}')).toMatchObject({ b: '(a number of 4097 bits)' })
  })

  test('is a name that is no text', async () => {
    expect(await resultOf('{("a", 1): 1, None: 2, True: 3, 4: 5}')).toEqual({ "['a', 1]": 1, null: 2, true: 3, '4': 5 })
    expect(await resultOf('{None: 2, False: 3, 4: 5}')).toEqual({ null: 2, false: 3, '4': 5 })
  })

  test('is half of a character, which databases refuse', async () => {
    const { text, event } = await lineOf('{"a": "\\ud800x\\udc00", "b": "\\U0001f600", "c": "\\\\ud800"}')
    expect(event.result).toEqual({ a: '\ufffdx\ufffd', b: '😀', c: '\\ud800' })
    expect(text).toMatch(/^[\x20-\x7e]+\n$/)
  })
})

test('a long name is cut, with a hash that tells it from others', async () => {
  const [just, more] = ['"k" * 1000', '"k" * 1001']
  expect(Object.keys(await resultOf(`{${just}: nan}`))).toEqual(['k'.repeat(1000)])
  const [name] = Object.keys(await resultOf(`{${more}: nan}`))
  expect(name).toMatch(new RegExp(`^k{1000} sha256:[0-9a-f]{64}$`))
})

describe('a deep result', () => {
  test.each([
    [98, false],
    [99, true],
    [300, true],
  ])('of %i lists in each other is cut: %s', async (depth, isCut) => {
    const { _cut: cut, ...rest } = await resultOf(`{"a": nested(${depth})}`)
    expect(cut !== undefined).toBe(isCut)
    if (isCut) expect(cut).toEqual([{ path: expect.stringMatching(/^a\.0\.0/) as string, deeper_than: 100 }])
    expect(JSON.stringify(rest).includes('[holdfast: nested too deeply]')).toBe(isCut)
    const event = await evaluate(`depth_of(line({"a": nested(${depth})})["event"])`)
    expect(event).toBeLessThanOrEqual(100)
    if (!isCut) expect(event).toBe(100)
  })

  test('is not deep because it has many parts', async () => {
    expect(await resultOf('{"a": [[]] * 200}')).toEqual({ a: Array.from({ length: 200 }, () => []) })
  })
})

describe('a long result', () => {
  const wide =
    '"x" * (262143 - len(json.dumps({"order": 1, "type": "t", "result": {"a": ""}}, separators=(",", ":"))) + '

  test.each([
    [0, LINE_BYTES, false],
    [1, LINE_BYTES, true],
  ])('with %i bytes too many fits into a line', async (more, most, isCut) => {
    const { event, bytes } = await lineOf(`{"a": ${wide}${more})}`)
    expect(bytes).toBeLessThanOrEqual(most)
    if (!isCut) expect(bytes).toBe(most)
    expect(event.result._cut !== undefined).toBe(isCut)
    // The same beside a value that is made plain.
    const copied = await lineOf(`{"a": ${wide}${more - 10}), "b": {1}}`)
    expect(copied.bytes).toBeLessThanOrEqual(LINE_BYTES)
  })

  test('keeps the beginning and the end of its longest text, and says how long it was', async () => {
    const { event, bytes } = await lineOf('{"a": "begin" + "x" * 400000 + "end", "short": "s"}')
    const { a, short, _cut: cut } = event.result
    expect(cut).toEqual([{ path: 'a', bytes: 400_008, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string }])
    expect(a).toMatch(/^begin[^]*\n\[holdfast: cut here, 400008 bytes in full, SHA-256 [0-9a-f]{64}\]\n[^]*end$/)
    expect(short).toBe('s')
    // As much as fits is kept.
    expect(bytes).toBeGreaterThan(LINE_BYTES / 3)
  })

  test('loses first what stands in it twice, or had events of its own', async () => {
    const lines = '["x"] * 70000'
    const given = `{"stdout": "s" * 1000, "stdout_lines": ${lines}, "results": ${lines}, "other_lines": [1], "more_lines": "text"}`
    expect(await resultOf(given)).toEqual({
      stdout: 's'.repeat(1000),
      other_lines: [1],
      more_lines: 'text',
      _cut: [
        { path: 'stdout_lines', items: 70_000 },
        { path: 'results', items: 70_000 },
      ],
    })
  })

  test('of many parts keeps the first and the last of them', async () => {
    const { list, _cut: cut } = (await resultOf('{"list": list(range(49000))}')) as { list: unknown[]; _cut: object[] }
    expect(cut).toEqual([{ path: 'list', items: 49_000 }])
    const at = list.findIndex((item) => typeof item === 'string')
    expect(list[at]).toBe(`[holdfast: ${49_000 - 2 * at} items left out]`)
    expect([list[0], list[at - 1], list[at + 1], list.at(-1)]).toEqual([0, at - 1, 49_000 - at, 48_999])
    expect(list).toHaveLength(2 * at + 1)
    const named = await resultOf('{"map": {"k%05d" % n: "v" * 30 for n in range(20000)}}')
    expect(named._cut).toEqual([{ path: 'map', items: 20_000 }])
    const names = Object.keys(named.map as object)
    expect(names).toEqual(names.map((_, index) => `k${String(index).padStart(5, '0')}`))
    expect(names.length).toBeGreaterThanOrEqual(1000)
  })

  test('that cannot be made shorter part by part is the beginning of its text', async () => {
    const parts = '[["t" * 30] * 10] * 10'
    const { event, bytes } = await lineOf(`{"a": [[[${parts}] for _ in range(10)] for _ in range(10)]}`)
    expect(event.result._cut).toEqual([{ path: '', kept: 'the beginning of the JSON text' }])
    const { _beginning: beginning } = event.result
    expect(beginning).toHaveLength(16 * 1024)
    expect(beginning).toMatch(/^\{"a":\[\[\[\[\["t{30}"/)
    expect(bytes).toBeLessThanOrEqual(LINE_BYTES)
  })
})
