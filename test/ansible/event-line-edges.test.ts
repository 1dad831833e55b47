import { expect, test } from 'vitest'
import { askPython } from './python-lines.js'

/** What becomes of a result that just fits into the line of its event, and of one that just does not. */
const evaluate = askPython(`
from holdfast_job import event_line, event_secrets
from holdfast_job.masking import Hider

def line(result, **fields):
    return json.loads(event_line.line_of(dict({"order": 1, "type": "t"}, result=result, **fields)))

def hidden(secret, **event):
    event_secrets._hider = Hider([secret])
    try: return json.loads(event_line.line_of(event))
    finally: event_secrets._hider = None

def nested(depth):
    value = []
    for _ in range(depth - 1): value = [value]
    return value

def filled(result, key, size):
    """The same with so long a text that the line has this many bytes with its newline."""
    text = json.dumps({"order": 1, "type": "t", "result": dict(result, **{key: ""})}, separators=(",", ":"))
    return dict(result, **{key: "x" * (size - 1 - len(text))})

def copied(more):
    """A number that is none makes the text of the result go through a copy."""
    result = filled({"a": "nan"}, "b", event_line.LINE_BYTES + more)
    return line(dict(result, a=float("nan")))["result"]

def shortened(more):
    """Without its repetitions the result fills the line."""
    note = {"_cut": [{"path": "results", "items": 9000}]}
    result = filled(dict({"a": "x" * 110000, "c": "x" * 40000, "n": [0] * 1000}, **note), "b", event_line.LINE_BYTES + more)
    del result["_cut"]
    return line(dict(result, results=["y"] * 9000))["result"]

def answer(question):
    return eval(question, globals())
`)

interface Shown {
  readonly a: string
  readonly b: string
  readonly _cut?: readonly { readonly path: string }[]
}

test('the fields that the agent itself makes are never hidden, also when they look like a secret', async () => {
  const event = 'order=1234, type="secret-type", duration=1234.5, time="secret-time", task="secret-type 1234"'
  const own = { order: 1234, type: 'secret-type', duration: 1234.5, time: 'secret-time' }
  expect(await evaluate(`hidden("1234", ${event})`)).toEqual({ ...own, task: 'secret-type ********' })
  expect(await evaluate(`hidden("secret-type", ${event})`)).toEqual({ ...own, task: '******** 1234' })
  expect(await evaluate(`hidden("secret-time", ${event}, result={"a": "secret-time"})`)).toEqual({
    ...own,
    task: 'secret-type 1234',
    result: { a: '********' },
  })
})

test('a name is left whole beside a result that is as deep, or has as many parts, as may be', async () => {
  const play = 'play="p" * 5000'
  for (const result of ['{"a": nested(98), "b": []}', '{"a": [[]] * 200}', '{"a": [[]] * 98}', '{"a": [[]] * 97}']) {
    expect(await evaluate(`len(line(${result}, ${play})["play"])`)).toBe(5000)
  }
})

test('a copied result is whole when it fills the line, and cut when it is one byte longer', async () => {
  const whole = (await evaluate('copied(0)')) as Shown
  expect(whole).toEqual({ a: 'nan', b: expect.stringMatching(/^x+$/) as string })
  const cut = (await evaluate('copied(1)')) as Shown
  expect(cut._cut).toMatchObject([{ path: 'b' }])
})

test('a result without its repetitions is whole when it fills the line, and cut when it is one byte longer', async () => {
  const pathsOf = async (more: number) =>
    ((await evaluate(`shortened(${more})`)) as Shown)._cut?.map(({ path }) => path)
  expect(await pathsOf(0)).toEqual(['results'])
  expect(await pathsOf(1)).toEqual(['results', 'b', 'a'])
})

test('a text of half a line is not cut, and of a longer one as much is kept as fits into half a line', async () => {
  const half = 128 * 1024
  // How long it is in JSON is judged by its beginning: the quotes count there for each 4096 letters.
  const longest = half - 63
  const whole = (await evaluate(`line({"results": [1] * 300000, "a": "x" * ${longest}})["result"]`)) as Shown
  expect([whole.a.length, whole._cut]).toEqual([longest, [{ path: 'results', items: 300_000 }]])
  const cut = (await evaluate('line({"a": "x" * 400000})["result"]')) as Shown
  const length = JSON.stringify(cut.a).length
  expect(length).toBeLessThanOrEqual(half)
  expect(length).toBeGreaterThan(half - 6)
})

test('a list as long as may be is left whole when a longer one is cut', async () => {
  const result = (await evaluate('line({"a": list(range(2000)), "b": list(range(48000))})["result"]')) as unknown as {
    a: unknown[]
    _cut: unknown
  }
  expect(result.a).toEqual(Array.from({ length: 2000 }, (_, index) => index))
  expect(result._cut).toEqual([{ path: 'b', items: 48_000 }])
})
