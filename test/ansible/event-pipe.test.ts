import { describe, expect, test } from 'vitest'
import { askPython } from './python-lines.js'

/** The writing end of the events' pipe, with a reader in the same Python. */
const ask = askPython(`
import fcntl, os, re, shutil, signal, struct, tempfile, termios, threading
from holdfast_job import event_pipe

def waiting(reader):
    return struct.unpack("i", fcntl.ioctl(reader, termios.FIONREAD, b"\\0" * 4))[0]

class Pipe:
    def __init__(self, folder):
        self.path = folder + "/pipe"
        os.mkfifo(self.path)
        self.reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        self.writer = event_pipe.EventPipe(self.path, "2.14.0")

    def read(self):
        data = b""
        while True:
            piece = os.read(self.reader, 1 << 20) if waiting(self.reader) else b""
            if not piece: return data.decode()
            data += piece

    def close(self):
        os.close(self.reader)

def answer(question):
    folder = tempfile.mkdtemp()
    try:
        return globals()[question](Pipe(folder))
    finally:
        shutil.rmtree(folder)

def reports(text):
    return [dict(json.loads(line[1:])) for line in text.splitlines() if line.startswith("#")]

def first(pipe):
    report, = reports(pipe.read())
    return dict(report, pid=report["pid"] == os.getpid())

def lines(pipe):
    pipe.read()
    numbers = [pipe.writer.write({"order": 0, "type": "t"}) for _ in range(2)]
    text = pipe.read()
    return [numbers, text, bool(re.match(r"\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$", pipe.writer.now()))]

def errors(pipe):
    pipe.read()
    pipe.writer.count_error()
    pipe.writer.finished = True
    pipe.writer.count_error()
    return [[report[key] for key in ("errors", "finished")] for report in reports(pipe.read())]

def nobody(pipe):
    """The supervisor goes and comes again."""
    numbers = [pipe.writer.write({"order": 0})]
    pipe.close()
    numbers += [pipe.writer.write({"order": 0}), pipe.writer.write({"order": 0})]
    pipe.writer.report()
    pipe.reader = os.open(pipe.path, os.O_RDONLY | os.O_NONBLOCK)
    numbers += [pipe.writer.write({"order": 0})]
    pipe.writer.report()
    return [numbers, reports(pipe.read())[-1]["dropped"]]

def unread(pipe):
    pipe.close()
    try:
        event_pipe.EventPipe(pipe.path, "")
    except OSError as error:
        return error.errno

def full(pipe):
    """More than the pipe holds, of which nothing is read before it is full."""
    pipe.read()
    capacity, taken, done = fcntl.fcntl(pipe.reader, 1032), [], threading.Event()
    def read():
        while waiting(pipe.reader) < capacity and not done.is_set(): done.wait(0.002)
        while not done.is_set() or waiting(pipe.reader): taken.append(pipe.read())
    thread = threading.Thread(target=read)
    thread.start()
    numbers = [pipe.writer.write({"order": 0, "type": "t", "result": {"a": "x" * 200000}}) for _ in range(3)]
    done.set()
    thread.join()
    return [numbers, [len(json.loads(line)["result"]["a"]) for line in "".join(taken).splitlines()], pipe.writer.dropped]

def fork(pipe):
    pipe.read()
    child = os.fork()
    if child == 0:
        pipe.writer.report()
        os._exit(0)
    os.waitpid(child, 0)
    return pipe.read()

def interrupt(pipe):
    """Ctrl-C and an abort in the middle of a line."""
    pipe.read()
    came, real = [], os.write
    class Os:
        def __getattr__(self, name): return getattr(os, name)
        def write(self, number, data):
            written = real(number, data[:7])
            for sign in (signal.SIGINT, signal.SIGTERM): os.kill(os.getpid(), sign)
            came.append("write")
            return written
    def note(sign, frame):
        came.append(signal.Signals(sign).name)
    before = {sign: signal.signal(sign, note) for sign in (signal.SIGINT, signal.SIGTERM)}
    event_pipe.os = Os()
    try:
        pipe.writer.write({"order": 0, "type": "t"})
    finally:
        event_pipe.os = os
        for sign, handler in before.items(): signal.signal(sign, handler)
    return [came[:-2], sorted(came[-2:]), pipe.read(), [str(sign) for sign in signal.pthread_sigmask(signal.SIG_BLOCK, ())]]
`)

test('a report tells at once that the callback is there', async () => {
  const report = { ansible: '2.14.0', pid: true, errors: 0, dropped: 0, finished: false, remark: null }
  expect(await ask('first')).toEqual(report)
})

test('events are lines with numbers from 1 on', async () => {
  expect(await ask('lines')).toEqual([[1, 2], '{"order":1,"type":"t"}\n{"order":2,"type":"t"}\n', true])
})

test('each error is told at once', async () => {
  expect(await ask('errors')).toEqual([
    [1, false],
    [2, true],
  ])
})

describe('a pipe', () => {
  test('that nobody reads any more loses events, which are counted', async () => {
    expect(await ask('nobody')).toEqual([[1, null, null, 4], 2])
  })

  test('that nobody reads yet is not waited for', async () => {
    // ENXIO: there is no reader.
    expect(await ask('unread')).toBe(6)
  })

  test('that is full is waited for: no event is lost or cut', async () => {
    expect(await ask('full')).toEqual([[1, 2, 3], [200_000, 200_000, 200_000], 0])
  })
})

test('a worker of ansible reports nothing', async () => {
  expect(await ask('fork')).toBe('')
})

test('an interrupt comes after the line that is being written, and later ones are not held', async () => {
  const text = '{"order":1,"type":"t"}\n'
  const writes = Array.from({ length: Math.ceil(text.length / 7) }, () => 'write')
  expect(await ask('interrupt')).toEqual([writes, ['SIGINT', 'SIGTERM'], text, []])
})
