import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { callPython } from './python-calls.js'

const call = callPython(`
import json, re
from holdfast_job import ending
from holdfast_job.job import Job

class Faults:
    """As the module os. Some functions fail so often; all calls of the watched ones are kept."""
    def __init__(self, faults):
        self.left, self.calls = {name: [code, times] for name, code, times in faults}, []
    def __getattr__(self, name):
        real = getattr(os, name)
        if name not in ("write", "pwrite", "fsync", "ftruncate", "truncate", "rename", "open"): return real
        def do(*given, **more):
            if name != "open": self.calls.append(name)
            fault = self.left.get(name)
            if fault and fault[1]:
                fault[1] -= 1
                if fault[0] == "short": return real(given[0], given[1][:5], *given[2:])
                number = getattr(errno, fault[0])
                raise OSError(number, os.strerror(number))
            return real(*given, **more)
        return do

def job_in(folder):
    job = Job(folder)
    job.open_folder()
    job.run_id, job.started_at = "r1", "2026-01-01T00:00:00.000Z"
    ending.os, ending.time = os, Clock()
    return job

def put(folder, files):
    for name, text in files.items():
        if text is None: os.mkdir(folder + "/" + name)
        else:
            with open(folder + "/" + name, "w") as file: file.write(text)

def sizes(folder): return {name: os.path.getsize(folder + "/" + name) for name in sorted(os.listdir(folder))}

def read(folder, name):
    with open(folder + "/" + name) as file: text = file.read()
    assert text.endswith("}\\n")
    record = json.loads(text)
    for name in ("time", "ended_at"):
        if name in record: record[name] = bool(re.fullmatch(r"\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z", record[name]))
    return record

def reserve(faults=()):
    with Folder() as folder:
        job = job_in(folder)
        before = open_files()
        ending.os = Faults(faults)
        ending.keep_reserve(job)
        first = sizes(folder)
        if not faults:
            with open(folder + "/reserve", "rb") as file: random = len(set(file.read())) == 256
            first["random"] = random
        first["open"] = open_files() - before
        os.close(job.folder_fd)
        return first

def exits(faults=(), reserved=True):
    with Folder() as folder:
        job = job_in(folder)
        if reserved: ending.keep_reserve(job)
        before = open_files()
        ending.os = Faults(faults)
        said = [ending.write_exit(job, 3, None, True), ending.os.calls, open_files() - before]
        if os.path.exists(folder + "/exit.json"): said.append(read(folder, "exit.json"))
        said.append(os.path.exists(folder + "/exit-reserve"))
        os.close(job.folder_fd)
        return said

class Output:
    dropped = 4
    def __init__(self, seal, finished): self._seal, self.finished = seal, finished
    def finish(self): self.finished.append(1)
    def seal(self):
        if self._seal is None: raise OSError(errno.EIO, "x")
        return self._seal

def ends(files, end=(), seal="none", faults=(), removed=False, without_start=False):
    """Writes the end of a job whose folder has these files."""
    with Folder() as folder:
        job = job_in(folder)
        ending.keep_reserve(job)
        put(folder, files)
        before = open_files()
        faulty = ending.os = Faults(faults)
        finished = []
        output = None if seal == "none" else Output(seal, finished)
        if removed: job.is_folder_removed = lambda: True
        if without_start: ending.end_without_start(job, "aborted", "why")
        else: ending.write_end(job, output, *end)
        ending.os = os
        said = {"calls": faulty.calls, "slept": ending.time.slept, "finished": len(finished), "open": open_files() - before}
        if os.path.exists(folder + "/end.json"): said["end"] = read(folder, "end.json")
        said["files"] = sorted(os.listdir(folder))
        os.close(job.folder_fd)
        return said

def reads(code, times):
    ending.time, left = Clock(), [times]
    def action():
        if not left[0]: return "text"
        left[0] -= 1
        raise OSError(getattr(errno, code), "x")
    try:
        return [ending._read_until_known(action), ending.time.slept]
    except OSError as error:
        return [errno.errorcode[error.errno], ending.time.slept]
`)

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const nothing = { length: 0, sha256: sha256('') }
const FILES = { 'output.log': 'hello\n', 'events.jsonl': '{"a":1}\n', 'callback.json': '{"dropped":2,"errors":3}' }
const OUTPUT = { length: 6, sha256: sha256('hello\n') }
const EVENTS = { length: 8, sha256: sha256('{"a":1}\n'), dropped: 2, errors: 3, plugin_seen: true }
const WRITTEN = ['pwrite', 'ftruncate', 'fsync', 'rename', 'fsync']

describe('space on the disk', () => {
  test('is reserved for both records, with bytes that cannot be stored as nothing', async () => {
    expect(await call('reserve')).toEqual({ reserve: 65_536, 'exit-reserve': 512, random: true, open: 0 })
  })

  test('that is not there is no reason not to go on', async () => {
    expect(await call('reserve', [['write', 'ENOSPC', 2]])).toEqual({ reserve: 0, 'exit-reserve': 0, open: 0 })
    expect(await call('reserve', [['open', 'ENOSPC', 1]])).toEqual({ 'exit-reserve': 512, open: 0 })
  })
})

describe('the note of how ansible ended', () => {
  const record = {
    run_id: 'r1',
    exit_code: 3,
    signal: null,
    stopped: true,
    started_at: '2026-01-01T00:00:00.000Z',
    time: true,
  }

  test('is written into the reserve, durable, and renamed', async () => {
    expect(await call('exits')).toEqual([true, WRITTEN, 0, record, false])
    expect(await call('exits', [], false)).toEqual([true, WRITTEN, 0, record, false])
  })

  test.each([
    ['open', 'EMFILE'],
    ['pwrite', 'ENOSPC'],
    ['pwrite', 'short'],
    ['fsync', 'EIO'],
    ['rename', 'EIO'],
  ])('is told not to be there when %s fails: %s', async (name, code) => {
    expect(await call('exits', [[name, code, 1]])).toEqual([false, expect.anything(), 0, true])
  })
})

describe('the end', () => {
  test('tells how the run ended and what both streams hold', async () => {
    const ended = await call('ends', FILES, ['exited', 3, null, 'note'], [6, 'the hash', null])
    expect(ended).toEqual({
      calls: ['truncate', 'fsync', ...WRITTEN],
      slept: [],
      finished: 1,
      open: 0,
      end: {
        run_id: 'r1',
        cause: 'exited',
        exit_code: 3,
        signal: null,
        message: 'note',
        aborted: false,
        started_at: '2026-01-01T00:00:00.000Z',
        ended_at: true,
        output: { length: 6, sha256: 'the hash', dropped_bytes: 4 },
        events: EVENTS,
      },
      files: ['callback.json', 'end.json', 'events.jsonl', 'exit-reserve', 'output.log'],
    })
  })

  test('of a job that was not started is told with its reason', async () => {
    expect(await call('ends', FILES, [], 'none', [], false, true)).toMatchObject({
      end: { cause: 'aborted', exit_code: null, signal: null, message: 'why', aborted: false },
    })
  })

  test('has no message when there is nothing to say, and all that there is to say else', async () => {
    expect(await call('ends', FILES, ['exited', 0])).toMatchObject({ end: { message: null } })
    const synced = 'events.jsonl could not be synced to the disk: Input/output error'
    const faults = [['fsync', 'EIO', 1]]
    const ended = await call('ends', FILES, ['exited', 0, null, 'one'], [6, 'h', 'two'], faults)
    expect(ended).toMatchObject({ end: { message: `one; two; ${synced}`, events: EVENTS }, open: 0 })
  })

  test('keeps a message of 2000 characters and cuts one of 2001', async () => {
    const message = async (length: number) => call('ends', FILES, ['exited', 0, null, 'x'.repeat(length)])
    expect(await message(2000)).toMatchObject({ end: { message: 'x'.repeat(2000) } })
    expect(await message(2001)).toMatchObject({ end: { message: 'x'.repeat(2000) } })
  })

  test('tells that an abort was asked for', async () => {
    expect(await call('ends', { ...FILES, 'abort.json': '' }, ['exited', 0])).toMatchObject({ end: { aborted: true } })
  })

  test.each([
    ['nobody counted it', 'none', 0],
    ['its count failed', null, 4],
  ])('reads the output again when %s', async (_what, seal, dropped) => {
    const end = { output: { ...OUTPUT, dropped_bytes: dropped }, message: null }
    expect(await call('ends', FILES, ['exited', 0], seal)).toMatchObject({ end })
  })

  test.each([
    ['are not there', {}],
    ['are folders', { 'output.log': null, 'events.jsonl': null }],
  ])('tells when the files %s', async (_what, files) => {
    const why = 'No such file or directory'
    const reason = 'output.log' in files ? 'Is a directory' : why
    const message = `output.log could not be read: ${reason}; events.jsonl could not be read: ${reason}`
    const events = { ...nothing, dropped: 0, errors: 0, plugin_seen: false }
    const end = { message, output: { ...nothing, dropped_bytes: 0 }, events }
    expect(await call('ends', files, ['exited', 0])).toMatchObject({ end })
  })

  test.each([
    ['', false],
    ['{"dropped":1}', false],
    ['{"dropped":1e999,"errors":0}', false],
    ['[]', false],
    ['{"dropped":0,"errors":0}', true],
    ['{"dropped":-5,"errors":-6}', true],
  ])('takes the report %j of the callback for what it is', async (report, seen) => {
    const ended = await call('ends', { ...FILES, 'callback.json': report }, ['exited', 0])
    expect(ended).toMatchObject({ end: { events: { errors: 0, plugin_seen: seen } } })
  })
})

describe('the end of a run that came to no play', () => {
  const refused = { 'output.log': 'ERROR! no such playbook\n', 'events.jsonl': '' }

  test('says so when ansible refused it', async () => {
    expect(await call('ends', refused, ['exited', 4])).toMatchObject({ end: { events: { before_play: true } } })
  })

  test.each([
    ['it ended well', refused, ['exited', 0]],
    ['it has no exit code', refused, ['signaled', null, 'SIGKILL']],
    ['there was a report', { ...refused, 'callback.json': '{"dropped":0,"errors":0}' }, ['exited', 4]],
    ['ansible did not refuse it', { ...refused, 'output.log': 'PLAY [all] ***\nERROR! x' }, ['exited', 4]],
  ])('does not say so when %s', async (_what, files, end) => {
    const ended = (await call('ends', files, end)) as { end: { events: object } }
    expect(ended.end.events).not.toHaveProperty('before_play')
  })
})

describe('the end on a disk that fails', () => {
  test.each([
    ['open', 'EMFILE', 3],
    ['pwrite', 'ENOSPC', 3],
    ['pwrite', 'short', 2],
    ['rename', 'EIO', 3],
  ])('is written in the end when %s fails with %s', async (name, code, times) => {
    const ended = await call('ends', FILES, ['exited', 0], [6, 'h', null], [[name, code, times]])
    expect(ended).toMatchObject({ end: { cause: 'exited', exit_code: 0 }, open: 0 })
  })

  test('is tried again each second until it is there', async () => {
    const ended = await call('ends', FILES, ['exited', 0], [6, 'h', null], [['rename', 'EIO', 3]])
    expect(ended).toMatchObject({ slept: [1, 1, 1] })
  })

  test('is given up when the folder of the job is gone', async () => {
    const ended = await call('ends', FILES, ['exited', 0], [6, 'h', null], [['rename', 'ENOENT', 5]], true)
    expect(ended).toMatchObject({ slept: [], open: 0 })
    expect(ended).not.toHaveProperty('end')
  })

  test('does not take a file for empty that cannot be opened for a while', async () => {
    expect(await call('reads', 'EMFILE', 5)).toEqual(['text', [0.5, 0.5, 0.5, 0.5, 0.5]])
    expect(await call('reads', 'ENOENT', 5)).toEqual(['ENOENT', []])
  })
})
