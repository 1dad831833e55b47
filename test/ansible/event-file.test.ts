import { expect, test } from 'vitest'
import { askPython } from './python-lines.js'

/**
 * Writes events into a file on a disk that takes only a part of some lines: `'all'`, or so many bytes and then an error, or so many
 * bytes and then an interrupt, as Ctrl-C.
 */
const ask = askPython(`
import os, shutil, tempfile
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

`)

type Part = 'all' | number | { readonly interrupt: number | 'all' }
const interrupted = 'interrupted'

test.each<[string, Part[], (number | string | null)[], string, number]>([
  ['is that of its line', ['all', 'all'], [1, 2], 'event 1\nevent 2\n', 0],
  [
    'is given again after a line of which nothing was written',
    ['all', 0, 'all'],
    [1, null, 2],
    'event 1\nevent 2\n',
    1,
  ],
  ['is used up by a torn line', ['all', 5, 'all'], [1, null, 3], 'event 1\nevent\nevent 3\n', 1],
  ['counts when only the newline was lost', [7, 'all'], [1, 2], 'event 1\nevent 2\n', 0],
  ['waits while the disk takes nothing', [3, 0, 0, 'all'], [null, null, null, 2], 'eve\nevent 2\n', 3],
  ['goes on below a newline that was all the disk took', [3, 1, 'all'], [null, null, 2], 'eve\nevent 2\n', 2],
  ['goes on below two torn lines', [3, 2, 'all'], [null, null, 3], 'eve\ne\nevent 3\n', 2],
  ['counts below a torn line', [3, 8, 'all'], [null, 2, 3], 'eve\nevent 2\nevent 3\n', 1],
  [
    'counts when Ctrl-C comes behind its line',
    [{ interrupt: 'all' }, 'all'],
    [interrupted, 2],
    'event 1\nevent 2\n',
    0,
  ],
  ['is used up when it comes in its line', [{ interrupt: 2 }, 'all'], [interrupted, 2], 'ev\nevent 2\n', 0],
  [
    'is free when it comes before its line',
    ['all', { interrupt: 0 }, 'all'],
    [1, interrupted, 2],
    'event 1\nevent 2\n',
    0,
  ],
])('the number of an event %s', async (_, parts, numbers, text, dropped) => {
  expect(await ask({ do: 'write', given: { parts } })).toMatchObject({ numbers, text, dropped, told: dropped })
})

test.each([
  ['takes nothing of a new file', [0], [], 7],
  ['takes a part of a new file', [100], [], 7],
  ['does not rename it', [], [13], 7],
  ['takes nothing at all', [0, 0], [], 0],
])('a report is written in place when the disk %s, and no other file is left', async (_, reports, renames, errors) => {
  const files = ['callback.json', 'events.jsonl']
  expect(await ask({ do: 'fail', given: { reports, renames } })).toEqual({ errors, files })
})

test('a report is not written by a worker of ansible', async () => {
  expect(await ask({ do: 'fork' })).toBe(0)
})
