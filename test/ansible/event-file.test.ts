import { describe, expect, test } from 'vitest'
import { askPython } from './python-lines.js'

/**
 * Writes events into a file on a disk that takes only a part of some lines: `'all'`, or so many bytes and then an error, or so many
 * bytes and then an interrupt, as Ctrl-C.
 */
const ask = askPython(`
import os, shutil, tempfile, time
from types import SimpleNamespace as Any
from holdfast_job import event_file

class Disk:
    """The module os, with a write that fails as it is told."""
    plan, reports, events, renames = [], [], None, []
    def __getattr__(self, name): return getattr(os, name)
    def write(self, number, data):
        plan = self.plan if self.events is None or number == self.events._file else self.reports
        part = plan.pop(0) if plan else "all"
        if part == "all": return os.write(number, data)
        if isinstance(part, int):
            if part == 0: raise OSError(28, "no space")
            return os.write(number, data[:part])
        os.write(number, data[:part["interrupt"]] if part["interrupt"] != "all" else data)
        raise KeyboardInterrupt
    def rename(self, before, after):
        if self.renames: raise OSError(self.renames.pop(0), "no")
        os.rename(before, after)

def answer(question):
    disk = Disk()
    disk.plan, disk.reports, disk.renames, disk.events = [], [], [], None
    event_file.os = disk
    folder = tempfile.mkdtemp()
    try:
        return globals()[question["do"]](disk, folder, **question.get("given", {}))
    finally:
        event_file.os = os
        shutil.rmtree(folder)

def read(path):
    with open(path) as file: return file.read()

def begin(disk, folder):
    events = event_file.EventFile(folder + "/events.jsonl", folder + "/callback.json", "2.14.0")
    disk.events = events
    return events

def report_of(folder): return json.loads(read(folder + "/callback.json"))

def write(disk, folder, parts):
    """Appends one line after the other, each with the number that is next."""
    events, numbers = begin(disk, folder), []
    for part in parts:
        try:
            number = events.next_order()
            disk.plan = [part]
            numbers.append(events.append(b"event %d\\n" % number))
        except KeyboardInterrupt:
            numbers.append("interrupted")
        dropped = report_of(folder)["dropped"]
    said = events.dropped
    events.report()
    return {"numbers": numbers, "text": read(folder + "/events.jsonl"), "dropped": said, "told": dropped, "events": report_of(folder)["events"]}

def onto(disk, folder):
    with open(folder + "/events.jsonl", "w") as file: file.write("of before\\n")
    events = begin(disk, folder)
    numbers = [events.append(b"a\\n"), events.append(b"b\\n")]
    return [numbers, read(folder + "/events.jsonl")]

def shape(disk, folder):
    """A report at the start, after errors, and how it lies on the disk."""
    events = begin(disk, folder)
    first = report_of(folder)
    events.count_error()
    events.count_error()
    told = report_of(folder)["errors"]
    events.write({"order": 0, "type": "t"})
    events.finished = True
    events.report()
    text = read(folder + "/callback.json")
    return {"first": dict(first, pid=first["pid"] == os.getpid()), "errors": told, "last": [report_of(folder)[key] for key in ("events", "finished")],
        "bytes": len(text), "ends": text.endswith(" \\n"), "files": sorted(os.listdir(folder)), "text": read(folder + "/events.jsonl")}

def fail(disk, folder, reports, renames):
    """A report that a full disk, or a folder that nobody may change, does not take as usual."""
    events = begin(disk, folder)
    disk.reports, disk.renames, events.errors = reports, renames, 7
    events.report()
    return {"errors": report_of(folder)["errors"], "files": sorted(os.listdir(folder))}

def fork(disk, folder):
    events = begin(disk, folder)
    child = os.fork()
    if child == 0:
        events.errors = 9
        events.report()
        os._exit(0)
    os.waitpid(child, 0)
    return report_of(folder)["errors"]

def move(disk, folder):
    os.mkdir(folder + "/a")
    events = event_file.EventFile(folder + "/events.jsonl", folder + "/a/callback.json", "")
    os.rename(folder + "/a", folder + "/b")
    events.count_error()
    return [report_of(folder + "/b")["errors"], os.path.exists(folder + "/a")]

def unreported(disk, folder):
    events = event_file.EventFile(folder + "/events.jsonl", None, "")
    events.count_error()
    return [events.errors, os.listdir(folder)]

def leaks(disk, folder):
    events = begin(disk, folder)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5): events.report()
    return len(os.listdir("/proc/self/fd")) - before

def clock(disk, folder, times):
    moments = list(times)
    event_file.time = Any(time=lambda: moments.pop(0), strftime=time.strftime, gmtime=time.gmtime)
    try:
        events = begin(disk, folder)
        return [events.now() for _ in times]
    finally:
        event_file.time = time
`)

type Part = 'all' | number | { readonly interrupt: number | 'all' }
const write = (...parts: Part[]): Promise<unknown> => ask({ do: 'write', given: { parts } })
const interrupted = 'interrupted'

describe('the number of an event', () => {
  test('is that of its line', async () => {
    const text = 'event 1\nevent 2\nevent 3\n'
    expect(await write('all', 'all', 'all')).toEqual({ numbers: [1, 2, 3], text, dropped: 0, told: 0, events: 3 })
    expect(await ask({ do: 'onto' })).toEqual([[1, 2], 'of before\na\nb\n'])
  })

  test('is given again when nothing of the line was written', async () => {
    const text = 'event 1\nevent 2\n'
    expect(await write('all', 0, 'all')).toEqual({ numbers: [1, null, 2], text, dropped: 1, told: 1, events: 2 })
    expect(await write(0, 0, 'all')).toMatchObject({
      numbers: [null, null, 1],
      text: 'event 1\n',
      dropped: 2,
      events: 1,
    })
  })

  test('is used up by a line that was torn, and the next line begins below', async () => {
    const text = 'event 1\nevent\nevent 3\nevent 4\n'
    expect(await write('all', 5, 'all', 'all')).toEqual({
      numbers: [1, null, 3, 4],
      text,
      dropped: 1,
      told: 1,
      events: 3,
    })
  })

  test('counts when only the newline was lost', async () => {
    const text = 'event 1\nevent 2\n'
    expect(await write(7, 'all')).toEqual({ numbers: [1, 2], text, dropped: 0, told: 0, events: 2 })
  })
})

describe('below a torn line', () => {
  test('nothing is lost while the disk takes nothing', async () => {
    const text = 'eve\nevent 2\n'
    expect(await write(3, 0, 0, 'all')).toEqual({
      numbers: [null, null, null, 2],
      text,
      dropped: 3,
      told: 3,
      events: 1,
    })
  })

  test('a newline that was all the disk took ends the line, once', async () => {
    expect(await write(3, 1, 'all')).toMatchObject({ numbers: [null, null, 2], text: 'eve\nevent 2\n', events: 1 })
    expect(await write(3, 1, 0, 'all')).toMatchObject({ numbers: [null, null, null, 2], text: 'eve\nevent 2\n' })
  })

  test('another line may be torn', async () => {
    expect(await write(3, 2, 'all')).toMatchObject({ numbers: [null, null, 3], text: 'eve\ne\nevent 3\n', dropped: 2 })
  })

  test('another line may lose its newline', async () => {
    expect(await write(3, 8, 'all')).toMatchObject({
      numbers: [null, 2, 3],
      text: 'eve\nevent 2\nevent 3\n',
      dropped: 1,
    })
  })
})

describe('an interrupt', () => {
  test('after a line was written and before it was counted loses nothing', async () => {
    const text = 'event 1\nevent 2\n'
    expect(await write({ interrupt: 'all' }, 'all')).toMatchObject({ numbers: [interrupted, 2], text, events: 2 })
  })

  test('in the middle of a line leaves a torn one', async () => {
    const text = 'event 1\nev\nevent 3\n'
    const parts: Part[] = ['all', { interrupt: 2 }, 'all']
    expect(await write(...parts)).toMatchObject({ numbers: [1, interrupted, 3], text, events: 2 })
  })

  test('before a line was written leaves its number free', async () => {
    const text = 'event 1\nevent 2\n'
    expect(await write('all', { interrupt: 0 }, 'all')).toMatchObject({ numbers: [1, interrupted, 2], text, events: 2 })
  })

  test('before the newline leaves a whole line', async () => {
    const text = 'event 1\nevent 2\n'
    expect(await write({ interrupt: 7 }, 'all')).toMatchObject({ numbers: [interrupted, 2], text, events: 2 })
  })
})

describe('the report', () => {
  test('is there from the start, and says at once what went wrong', async () => {
    expect(await ask({ do: 'shape' })).toEqual({
      first: { plugin: 1, ansible: '2.14.0', pid: true, events: 0, errors: 0, dropped: 0, finished: false },
      errors: 2,
      last: [1, true],
      // One block: then it can be written in place when the disk is full.
      bytes: 512,
      ends: true,
      files: ['callback.json', 'events.jsonl'],
      text: '{"order":1,"type":"t"}\n',
    })
  })

  const files = ['callback.json', 'events.jsonl']
  test.each([
    ['takes nothing of a new file', [0], []],
    ['takes a part of a new file', [100], []],
    ['does not rename it', [], [13]],
  ])('is written in place when the disk %s, and leaves no other file', async (_, reports, renames) => {
    expect(await ask({ do: 'fail', given: { reports, renames } })).toEqual({ errors: 7, files })
  })

  test('stays as it was when it cannot be written at all', async () => {
    expect(await ask({ do: 'fail', given: { reports: [0, 0], renames: [] } })).toEqual({ errors: 0, files })
  })

  test('is not written by a worker of ansible', async () => {
    expect(await ask({ do: 'fork' })).toBe(0)
  })

  test('is found again when its folder was moved', async () => {
    expect(await ask({ do: 'move' })).toEqual([1, false])
  })

  test('is left out where nobody asked for one', async () => {
    expect(await ask({ do: 'unreported' })).toEqual([1, ['events.jsonl']])
  })

  test('leaves no file open', async () => {
    expect(await ask({ do: 'leaks' })).toBe(0)
  })
})

test('times are told to the millisecond, in one second as in the next', async () => {
  const times = [0, 0.25, 1_767_323_045.5, 1_767_323_045.75, 1_767_323_046]
  expect(await ask({ do: 'clock', given: { times } })).toEqual([
    '1970-01-01T00:00:00.000Z',
    '1970-01-01T00:00:00.250Z',
    '2026-01-02T03:04:05.500Z',
    '2026-01-02T03:04:05.750Z',
    '2026-01-02T03:04:06.000Z',
  ])
})
