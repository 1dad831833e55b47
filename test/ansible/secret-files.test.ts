import { describe, expect, test } from 'vitest'
import { askPython } from './python-lines.js'

/**
 * The pipes and files in memory of a job's secrets, with readers that are processes: those of the job have the session of its
 * ansible.
 */
const ask = askPython(`
import os, shutil, stat, subprocess, tempfile, threading, time
from types import SimpleNamespace as Any
from holdfast_job import secret_files as files

READER = """
import json, os, sys
for line in sys.stdin:
    word, _, path = line.strip().partition(" ")
    if word == "read":
        data = b""
        while True:
            piece = os.read(pipe, 1 << 16)
            if not piece: break
            data += piece
        os.close(pipe)
        print(json.dumps(data.decode()), flush=True)
    else:
        pipe = os.open(path, os.O_RDONLY | (os.O_NONBLOCK if word == "early" else 0))
        os.set_blocking(pipe, True)
        print(pipe, flush=True)
"""

class Reader:
    """A process in a session of its own. It opens a pipe when there is somebody who writes, or early; then it reads."""
    def __init__(self):
        arguments = [sys.executable, "-I", "-S", "-c", READER]
        self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, text=True)
        self.pid = self.process.pid
        READERS.append(self)

    def tell(self, word):
        self.process.stdin.write(word + "\\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def open(self, path, how="wait"):
        self.number = self.tell(how + " " + path)
        return self

    def read(self): return self.tell("read")

    def end(self):
        self.process.kill()
        self.process.communicate()

READERS = []

class Job:
    def __init__(self, folder, pipes=(), in_memory=(), isolation=None):
        self.folder, self.isolation, self.ansible_pid, self.orders = folder, isolation, None, {}
        self.keeper_pid = None
        self.secrets = {"pipes": dict(pipes), "files": dict(in_memory)}
    def path(self, name): return self.folder + "/" + name

class Isolation:
    """A user of its own that is ours: who gave what is noted."""
    def __init__(self, folder):
        self.folder, self.user, self.given = folder, Any(uid=4321), []
    def give_pipe(self, path):
        self.given.append([path[len(self.folder) + 1:], stat.S_ISFIFO(os.stat(path).st_mode), sorted(os.listdir(self.folder))])

class Os:
    """The module os, with some functions of ours."""
    def __init__(self, **own): self.__dict__.update(own)
    def __getattr__(self, name): return getattr(os, name)

def place_of(number):
    try: return os.readlink("/proc/self/fd/" + number)
    except OSError: return ""

def open_files(folder):
    """How many files this process has open in a folder, or in memory."""
    return sum(place_of(number).startswith((folder, "/memfd:")) for number in os.listdir("/proc/self/fd"))

def until(condition):
    while not condition(): time.sleep(0.002)

def answer(question):
    folder = os.path.realpath(tempfile.mkdtemp())
    name, *rest = question
    try:
        return globals()[name](folder, *rest)
    finally:
        files.os, files.time, files._thread, files._UNSEEN_SECONDS = os, time, THREAD, UNSEEN
        files.__dict__.pop("open", None)
        while READERS: READERS.pop().end()
        shutil.rmtree(folder)

THREAD, UNSEEN = files._thread, files._UNSEEN_SECONDS

# What is made

def made(folder):
    job = Job(folder, {"a": "x", "b": "y"}, {"mark": "content", "other": "x" * 100000})
    open(folder + "/a.new", "w").close()
    files.make_secrets(job)
    first = dict(job.secrets["descriptors"])
    before = os.stat(folder + "/a").st_ino
    files.make_secrets(job)
    descriptors = job.secrets["descriptors"]
    modes = [oct(stat.S_IMODE(os.fstat(number).st_mode)) for number in descriptors.values()]
    contents = [os.pread(number, 200000, 0).decode() for number in descriptors.values()]
    inherited = [os.get_inheritable(number) for number in descriptors.values()]
    pipes = {name: [stat.S_ISFIFO(os.stat(folder + "/" + name).st_mode), oct(stat.S_IMODE(os.stat(folder + "/" + name).st_mode))] for name in sorted(os.listdir(folder))}
    for number in descriptors.values(): os.close(number)
    return {"marks": list(descriptors), "same": first == descriptors, "modes": modes, "lengths": [len(text) for text in contents], "first": contents[0],
        "inherited": inherited, "pipes": pipes}

def owned(folder):
    changed = []
    files.os = Os(fchown=lambda number, user, group: changed.append([user, group]))
    job = Job(folder, {"a": "x"}, {"mark": "content"}, Isolation(folder))
    files.make_secrets(job)
    os.close(job.secrets["descriptors"]["mark"])
    readers = files._readers_of(job, -1, "")
    return {"changed": changed, "given": job.isolation.given, "there": os.listdir(folder), "readers": list(readers)}

def in_pieces(folder):
    files.os = Os(write=lambda number, data: os.write(number, data[:3]))
    number = files._file_in_memory(Job(folder), "in pieces")
    try: return os.pread(number, 100, 0).decode()
    finally: os.close(number)

def failing(folder):
    def write(number, data): raise OSError(28, "no space")
    files.os = Os(write=write)
    try: files._file_in_memory(Job(folder), "content")
    except OSError as error: return [error.errno, open_files(folder)]

def removed(folder):
    files.remove_pipes(Any(secrets=None))
    job = Job(folder, {"a": "x", "b": "y", "gone": "z"})
    for name in ("a", "b"): os.mkfifo(folder + "/" + name)
    os.mkfifo(folder + "/b.new")
    os.mkfifo(folder + "/other")
    files.remove_pipes(job)
    return os.listdir(folder)

# What is served

def planned(folder, numbers):
    started = []
    class Thread:
        def start_new_thread(self, function, arguments): started.append([function.__name__, arguments[1][len(folder):], arguments[2].decode("utf-8", "surrogatepass").encode("utf-8", "replace").decode()])
    files._thread = Thread()
    job = Job(folder, {"a": "key: one and two", "b": "nothing"})
    job.secrets["descriptors"] = {"one": 7, "two": 8}
    files.serve_secrets(job, 42, numbers)
    return started

def threads(folder):
    calls, naps = [], []
    class Thread:
        def start_new_thread(self, function, arguments):
            calls.append(arguments)
            if len(calls) < 3: raise RuntimeError("no thread")
    files._thread, files.time = Thread(), Any(sleep=naps.append)
    files._start_thread(print, (1,))
    return [calls, naps]

class Served:
    def __init__(self, folder, content="content"):
        self.job = Job(folder, {"vars": content})
        self.path = self.job.path("vars")
        files.make_secrets(self.job)
        # Nobody is sent away because this machine is slow.
        files._UNSEEN_SECONDS = 600
    def start(self):
        self.thread = threading.Thread(target=files._serve, args=(self.job, self.path, self.job.secrets["pipes"]["vars"].encode()), daemon=True)
        self.thread.start()
    def end(self):
        self.thread.join()
        return {"there": os.listdir(self.job.folder), "open": open_files(self.job.folder)}

def to_job(folder, size):
    """The pid of ansible is known only after it has opened the pipe."""
    served, reader = Served(folder, "x" * size), Reader()
    served.start()
    reader.open(served.path)
    served.job.ansible_pid = reader.pid
    text = reader.read()
    return dict(served.end(), length=len(text))

def to_strangers(folder):
    """A stranger keeps the first pipe open all the time."""
    served, stranger, reader = Served(folder), Reader(), Reader()
    served.job.ansible_pid = reader.pid
    stranger.open(served.path, "early")
    served.start()
    kept = os.stat("/proc/%d/fd/%d" % (stranger.pid, stranger.number)).st_ino
    until(lambda: os.stat(served.path).st_ino != kept)
    text = reader.open(served.path).read()
    return dict(served.end(), texts=[stranger.read(), text])

def to_both(folder):
    """A process of the job and a stranger have the same pipe open."""
    served, stranger, reader = Served(folder), Reader(), Reader()
    served.job.ansible_pid = reader.pid
    for one in (stranger, reader): one.open(served.path, "early")
    first = os.stat(served.path).st_ino
    served.start()
    # Before it is served, a pipe has no writer and looks empty.
    until(lambda: os.stat(served.path).st_ino != first)
    refused = reader.read()
    text = reader.open(served.path).read()
    return dict(served.end(), texts=[refused, text, stranger.read()])

def to_nobody(folder):
    """The folder is removed, or a reader closes the pipe at once."""
    served = Served(folder)
    os.unlink(served.path)
    served.start()
    return served.end()

def closing(folder):
    reader, writer = os.pipe()
    os.close(reader)
    files._write(writer, b"x")
    os.close(writer)
    return True

# Who reads

class Clock:
    """Time that goes on only by sleeping, a second each time."""
    def __init__(self): self.now, self.naps = 0.0, []
    def monotonic(self): return self.now
    def sleep(self, seconds):
        self.naps.append(seconds)
        self.now += 1

def looked(folder, who):
    """The kinds of readers, and how often they were looked for again."""
    path, job = folder + "/vars", Job(folder)
    os.mkfifo(path)
    clock = files.time = Clock()
    readers, own = [], None
    if who in ("job", "other", "unknown", "unseen", "both", "container"): readers.append(Reader().open(path, "early"))
    if who == "both": readers.append(Reader().open(path, "early"))
    if who in ("self", "gone"): own = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if who != "unknown": job.ansible_pid = readers[0].pid if who in ("job", "unseen", "both") else 1
    if who == "container": job.orders["container"] = "podman"
    failures = [0, 0]
    def unseen(name, mode):
        if failures: raise OSError(failures.pop() or 24, "not now")
        return open(name, mode)
    if who == "unseen": files.open = unseen
    pipe = os.open(path, os.O_WRONLY)
    if who == "gone": os.close(own)
    try:
        kinds = files._readers_of(job, pipe, path)
    finally:
        os.close(pipe)
        if who == "self": os.close(own)
    return [sorted(kinds), len(clock.naps), len(set(clock.naps))]

def processes(folder):
    """Only those that have this very pipe open, whatever others have the same name open elsewhere."""
    os.mkdir(folder + "/other")
    for path in ("/vars", "/other/vars", "/more"): os.mkfifo(folder + path)
    one, *_ = [Reader().open(folder + path, "early") for path in ("/vars", "/other/vars", "/more")]
    pipe = os.open(folder + "/vars", os.O_RDWR)
    found = list(files._processes_with(os.fstat(pipe), "vars"))
    os.close(pipe)
    return found == [str(one.pid)]

def family(folder):
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, start_new_session=True)
    gone = subprocess.Popen(["true"])
    gone.wait()
    job, container = Job(folder), Job(folder)
    job.ansible_pid, container.ansible_pid, container.orders = child.pid, 1, {"container": "podman"}
    pids = {"child": child.pid, "self": os.getpid(), "parent": os.getppid(), "first": 1, "gone": gone.pid}
    told = {name: [files._is_of_job(job, str(pid)), files._is_of_job(container, str(pid))] for name, pid in pids.items()}
    child.communicate()
    return told
`)

describe('the secrets of a job', () => {
  test('are made as files in memory and as pipes, and may be made again', async () => {
    expect(await ask(['made'])).toEqual({
      marks: ['mark', 'other'],
      same: true,
      modes: ['0o600', '0o600'],
      lengths: [7, 100_000],
      first: 'content',
      inherited: [false, false],
      pipes: { a: [true, '0o600'], b: [true, '0o600'] },
    })
  })

  test('are given to the user of the job, a pipe before others see its name', async () => {
    expect(await ask(['owned'])).toEqual({
      changed: [[4321, -1]],
      given: [['a.new', true, ['a.new']]],
      there: ['a'],
      // Nobody else may open it.
      readers: [true],
    })
  })

  test('are whole in memory when the system takes them in pieces', async () => {
    expect(await ask(['in_pieces'])).toBe('in pieces')
  })

  test('leave no file open when one cannot be written', async () => {
    expect(await ask(['failing'])).toEqual([28, 0])
  })

  test('leave no pipe when they are removed, and no other file is touched', async () => {
    expect(await ask(['removed'])).toEqual(['other'])
  })

  test('have the places of their files in place of the marks', async () => {
    const b = ['_serve', '/b', 'nothing']
    expect(await ask(['planned', null])).toEqual([['_serve', '/a', 'key: /proc/42/fd/7 and /proc/42/fd/8'], b])
    const inContainer = [['_serve', '/a', 'key: /proc/42/fd/3 and /proc/42/fd/4'], b]
    expect(await ask(['planned', { one: 3, two: 4 }])).toEqual(inContainer)
  })

  test('wait for a thread while the host has none', async () => {
    expect(await ask(['threads'])).toEqual([
      [[1], [1], [1]],
      [0.5, 0.5],
    ])
  })
})

describe('a pipe', () => {
  const nothingLeft = { there: [], open: 0 }

  test.each([7, 300_000])('gives its content of %i bytes to the job, and is gone then', async (size) => {
    expect(await ask(['to_job', size])).toEqual({ ...nothingLeft, length: size })
  })

  test('gives nothing to a stranger, who does not keep it from the job', async () => {
    expect(await ask(['to_strangers'])).toEqual({ ...nothingLeft, texts: ['', 'content'] })
  })

  test('gives no secret to the job while a stranger has the same one open, and says so', async () => {
    expect(await ask(['to_both'])).toEqual({
      ...nothingLeft,
      texts: [
        expect.stringContaining('another process opened the secrets of this job at the same time'),
        'content',
        '',
      ],
    })
  })

  test('that is gone is not served, and one that is closed early is no error', async () => {
    expect(await ask(['to_nobody'])).toEqual(nothingLeft)
    expect(await ask(['closing'])).toBe(true)
  })
})

describe('the readers of a pipe', () => {
  test.each([
    ['a process of the job', 'job', [true], 0],
    ['a stranger', 'other', [false], 0],
    ['both', 'both', [false, true], 0],
    ['a process of the container', 'container', [true], 0],
    ['one that could not be seen twice', 'unseen', [true], 2],
    ['one before ansible is known, for five seconds', 'unknown', [], 5],
    ['nobody but the supervisor itself, for five seconds', 'self', [], 5],
    ['one that is gone already', 'gone', [], 0],
  ])('are %s', async (_, who, kinds, naps) => {
    expect(await ask(['looked', who])).toEqual([kinds, naps, Math.min(naps, 1)])
  })

  test('are those that have this very pipe open', async () => {
    expect(await ask(['processes'])).toBe(true)
  })

  test('are of the job by their session, and in a container by their parents', async () => {
    expect(await ask(['family'])).toEqual({
      child: [true, true],
      self: [false, true],
      parent: [false, false],
      first: [false, false],
      gone: [null, null],
    })
  })
})
