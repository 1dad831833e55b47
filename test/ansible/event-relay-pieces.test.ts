import { describe, expect, test } from 'vitest'
import { askPython } from './python-lines.js'

/** The supervisor's end of the events' pipe, piece by piece, and what its files say meanwhile. */
const ask = askPython(`
import fcntl, os, shutil, tempfile
from holdfast_job.event_relay import EventRelay

def read(path):
    try:
        with open(path) as file: return file.read()
    except OSError: return None

class Relay:
    def __init__(self, folder, events="/events.jsonl"):
        self.folder = folder
        self.reader, self.writer = os.pipe()
        fcntl.fcntl(self.writer, 1031, 1 << 20)
        os.set_blocking(self.reader, False)
        self.relay = EventRelay(self.reader, folder + events, folder + "/callback.json")

    def send(self, text):
        data = text.encode()
        assert os.write(self.writer, data) == len(data)

    def report(self):
        text = read(self.folder + "/callback.json")
        return None if text is None else {key: json.loads(text)[key] for key in ("events", "errors", "dropped")}

    def close(self):
        for number in (self.reader, self.writer): os.close(number)

def answer(question):
    folder = tempfile.mkdtemp()
    try:
        name, *rest = question
        return globals()[name](folder, *rest)
    finally:
        shutil.rmtree(folder)

def pieces(folder, texts):
    """What each piece brings: whether there was one, and the report after it."""
    it = Relay(folder)
    told = []
    for text in texts:
        if text: it.send(text)
        told.append([it.relay.take(), it.report()])
    it.relay.finish()
    told.append(it.report())
    it.close()
    return {"told": told, "lines": (read(folder + "/events.jsonl") or "").splitlines()}

def reports(folder, texts):
    """How often the report is written for each piece."""
    it, counts = Relay(folder), []
    it.send("#x\\n")
    it.relay.take()
    real, it.relay._file.report = it.relay._file.report, lambda: counts.append(1) or real()
    told = []
    for text in texts:
        it.send(text)
        it.relay.take()
        told.append(len(counts))
        counts.clear()
    it.close()
    return told

def many(folder, size, count):
    """What is in the pipe at the end."""
    it = Relay(folder)
    for _ in range(count): it.send('{"order":1,"type":"t","a":"%s"}\\n' % ("x" * size))
    it.relay.finish()
    it.close()
    return [json.loads(line)["order"] for line in read(folder + "/events.jsonl").splitlines()]

def late(folder):
    """The folder of the events is not there at first."""
    it = Relay(folder, "/later/events.jsonl")
    told = [it.relay.take()]
    it.send('{"order":1,"type":"t"}\\n')
    for _ in range(2):
        try: told.append(it.relay.take())
        except OSError as error: told.append(error.errno)
    os.mkdir(folder + "/later")
    told += [it.relay.take(), it.relay.take()]
    it.close()
    return [told, read(folder + "/later/events.jsonl")]
`)

const LINE_BYTES = 256 * 1024
const event = '{"order":1,"type":"t"}'

interface Told {
  readonly told: readonly unknown[]
  readonly lines: readonly string[]
}
const piecesOf = async (...texts: string[]): Promise<Told> => (await ask(['pieces', texts])) as Told

describe('a piece', () => {
  test('is there or not, and an empty pipe makes no file', async () => {
    const none = { events: 0, errors: 0, dropped: 0 }
    expect(await piecesOf('', `${event}\n`, '')).toEqual({
      told: [[false, null], [true, none], [false, none], { ...none, events: 1 }],
      lines: [event],
    })
  })

  test('that is no event is told at once', async () => {
    const dropped = { events: 0, errors: 0, dropped: 1 }
    expect((await piecesOf('odd\n')).told).toEqual([[true, dropped], dropped])
  })

  test('that is a report is told at once, also an odd one', async () => {
    const good = '#{"ansible":"2","pid":1,"errors":3,"dropped":0,"finished":false}\n'
    expect((await piecesOf(good)).told[0]).toEqual([true, { events: 0, errors: 3, dropped: 0 }])
    expect((await piecesOf('#odd\n')).told[0]).toEqual([true, { events: 0, errors: 1, dropped: 0 }])
  })

  test('of a line that is too long is dropped as soon as that is clear, and once', async () => {
    const { told } = await piecesOf('x'.repeat(LINE_BYTES - 1), 'x', 'x'.repeat(LINE_BYTES), 'end\n')
    const reports = told.slice(0, 4).map((one) => (one as [boolean, { dropped: number }])[1].dropped)
    expect(reports).toEqual([0, 1, 1, 1])
    expect(told.at(-1)).toMatchObject({ dropped: 1 })
  })

  test('causes one report at most, and none for events only', async () => {
    expect(await ask(['reports', ['odd\nodd\n#odd\n', `${event}\n`, `${event}\n`, 'odd\n']])).toEqual([1, 0, 0, 1])
  })
})

test('at the end all pieces are taken that are in the pipe', async () => {
  expect(await ask(['many', 100_000, 7])).toEqual([1, 2, 3, 4, 5, 6, 7])
})

test('nothing is taken while the file of the events cannot be opened', async () => {
  expect(await ask(['late'])).toEqual([[false, 2, 2, true, false], `${event}\n`])
})

test.each([
  [12, 0],
  [13, 1],
])('a number of %i digits is the longest one that is believed: %i lost', async (digits, dropped) => {
  const { told, lines } = await piecesOf(`{"order":${'7'.repeat(digits)},"type":"t"}\n`)
  expect(told.at(-1)).toMatchObject({ dropped })
  expect(lines).toEqual(dropped === 0 ? [event] : [])
})

test.each([
  [4096, { errors: 5 }],
  [4097, { errors: 1 }],
])('of a report of %i bytes is believed: %j', async (bytes, expected) => {
  const report = '{"ansible":"2","pid":1,"errors":5,"dropped":0,"finished":false}'
  const { told } = await piecesOf(`#${report.padEnd(bytes - 1)}\n`)
  expect(told.at(-1)).toMatchObject(expected)
})
