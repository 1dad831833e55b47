import { describe, expect, test } from 'vitest'
import { callPython } from './python-calls.js'

const call = callPython(`
import json
from holdfast_job import orders
from holdfast_job.job import Job, Refusal

ORDERS = {
    "run_id": "r1", "marker": "m", "argv": ["/bin/true", "x"], "cwd": "/", "env": {"A": "b"}, "output_limit_bytes": 10,
    "abort_ladder_seconds": {"interrupt": 1, "terminate": 2.5}, "drain_seconds": {"quiet": 0, "total": 3},
}

def changed(path, value):
    """The orders with another value in one place; the value "none" takes it away."""
    all = json.loads(json.dumps(ORDERS))
    place = all
    for name in path[:-1]: place = place[name]
    if value == "none": del place[path[-1]]
    else: place[path[-1]] = value
    return json.dumps(all)

def read(text):
    with Folder() as folder:
        job = Job(folder)
        if text is not None:
            with open(folder + "/supervisor.json", "w") as file: file.write(text)
        before = open_files()
        try:
            orders.read_orders(job)
            return [job.orders == json.loads(text), job.run_id, job.marker, open_files() - before]
        except Refusal as refusal:
            return str(refusal)

def read_changed(path, value): return read(changed(path, value))

def secrets(pieces):
    """Reads secrets that come in these pieces, and says how 0 is left."""
    given, kept = [piece.encode("utf-8", "surrogateescape") for piece in pieces], os.dup(0)
    def read(descriptor, size):
        assert descriptor == 0
        if not given: raise KeyboardInterrupt("reads for ever")
        return given.pop(0)
    orders.os = StandIn(os, read=read)
    job = Job("/nowhere")
    before = open_files()
    try:
        orders.read_secrets(job)
        return [job.secrets, os.readlink("/proc/self/fd/0"), open_files() - before, len(given)]
    except Refusal as refusal:
        return str(refusal)
    finally:
        orders.os = os
        os.dup2(kept, 0)
        os.close(kept)

def parse(text):
    try:
        return [orders.parse_json(text)]
    except ValueError as error:
        return "ValueError"
`)

describe('the orders of a job', () => {
  test('are all read', async () => {
    expect(await call('read_changed', ['run_id'], 'r2')).toEqual([true, 'r2', 'm', 0])
  })

  test('that are not there are refused with the reason', async () => {
    expect(await call('read', null)).toBe('supervisor.json could not be read: No such file or directory')
  })

  test.each(['', '{', '[]', '3', '"x"', 'null'])('of the text %j are refused', async (text) => {
    expect(await call('read', text)).toContain('supervisor.json is not as it must be: ')
  })

  test.each([
    ['argv', []],
    ['marker', ''],
  ])('without %s are refused', async (name, value) => {
    expect(await call('read_changed', [name], value)).toContain('argv and marker must not be empty')
  })

  test.each([
    [['cwd'], 3],
    [['cwd'], null],
    [['marker'], 3],
    [['argv'], ['/bin/true', 3]],
    [['argv', 0], null],
    [['env', 'A'], 3],
    [['abort_ladder_seconds', 'interrupt'], '1'],
    [['abort_ladder_seconds', 'terminate'], null],
    [['drain_seconds', 'quiet'], '1'],
    [['drain_seconds', 'total'], []],
    [['output_limit_bytes'], '10'],
  ])('with %j as %j are refused', async (path, value) => {
    expect(await call('read_changed', path, value)).toContain('a number or a text is of another type')
  })

  test.each([
    [['run_id']],
    [['marker']],
    [['argv']],
    [['cwd']],
    [['env']],
    [['output_limit_bytes']],
    [['abort_ladder_seconds']],
    [['abort_ladder_seconds', 'interrupt']],
    [['abort_ladder_seconds', 'terminate']],
    [['drain_seconds', 'quiet']],
    [['drain_seconds', 'total']],
  ])('without %j are refused', async (path) => {
    expect(await call('read_changed', path, 'none')).toContain('supervisor.json is not as it must be: KeyError')
  })
})

describe('the secrets of a job', () => {
  const text = '{"pipes":{"a":"b"},"files":{"c":"d"},"hidden":["e"],"more":1}\n'
  const secrets = { pipes: { a: 'b' }, files: { c: 'd' }, hidden: ['e'] }

  test.each([
    ['at once', [text, '']],
    ['in pieces', [text.slice(0, 7), text.slice(7, 8), text.slice(8), '']],
  ])('are read to the end when they come %s, and nothing is left to read for ansible', async (_how, pieces) => {
    expect(await call('secrets', pieces)).toEqual([secrets, '/dev/null', 0, 0])
  })

  test.each([
    ['nothing comes', [''], 'ValueError'],
    ['they are cut off', [text.trimEnd(), ''], 'ValueError'],
    ['they are cut off in the middle', [`${text.slice(0, 20)}\n`, ''], 'JSONDecodeError'],
    ['a part is missing', ['{"pipes":{},"files":{}}\n', ''], 'KeyError'],
    ['a part is of another type', ['{"pipes":3,"files":{},"hidden":[]}\n', ''], 'TypeError'],
  ])('are refused when %s, without a word of them', async (_what, pieces, kind) => {
    expect(await call('secrets', pieces)).toBe(`the secrets of the job did not arrive whole (${kind})`)
  })
})

describe('JSON', () => {
  test.each([
    [
      '{"a": [1, 2.5, -3e2, true, false, null, "x\\u00e4"], "b": {}}',
      { a: [1, 2.5, -300, true, false, null, 'xä'], b: {} },
    ],
    [' [1] ', [1]],
    ['"x"', 'x'],
  ])('%j is read as it is', async (text, value) => {
    expect(await call('parse', text)).toEqual([value])
  })

  test('with a bare line end in a text, or with nothing, is none', async () => {
    expect(await call('parse', '"a\nb"')).toBe('ValueError')
    expect(await call('parse', '')).toBe('ValueError')
  })
})
