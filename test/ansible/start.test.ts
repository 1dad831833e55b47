import { describe, expect, test } from 'vitest'
import { callPython } from './python-calls.js'

const call = callPython(`
import builtins, json
import _signal as signal
from holdfast_job import ending, start, transient_errors

REAL = {name: getattr(start, name) for name in (
    "os", "time", "complain", "read_secrets", "read_orders", "claim_start", "spawn", "_import_supervise", "_watch_signals",
    "_fill_standard_descriptors", "say_waiting", "say_going_on")}

def again():
    for name, value in REAL.items(): setattr(start, name, value)
    transient_errors.time = start.time = Clock()
    transient_errors.complain = lambda text: None

def error_of(what):
    if what == "refusal": return start.Refusal("a reason")
    if what == "fault": return ValueError("a fault")
    return OSError(getattr(errno, what), os.strerror(getattr(errno, what)))

def main(more=(), faults=(), abort=False, folder_is_there=True, pid=50):
    """Runs the start of a job whose parts only say that they are called. faults: [part, error, how often]."""
    again()
    calls, left = [], {name: [what, times[0] if times else 1] for name, what, *times in faults}
    def part(name, do=lambda *given: None):
        def called(*given, **more):
            calls.append(name)
            if name in left and left[name][1]:
                left[name][1] -= 1
                raise error_of(left[name][0])
            return do(*given, **more)
        return called
    with Folder() as below:
        folder = below + "/1-r"
        if folder_is_there: os.mkdir(folder)
        if abort:
            with open(folder + "/abort.json", "w"): pass
        jobs = []
        def spawn(job):
            job.ansible_pid = pid
            if "late" in left: raise error_of(left["late"][0])
        def supervise(job):
            jobs.append([job.signals_fd, os.fstat(job.output_file).st_size, job.ansible_pid])
            os.write(job.output_file, b"out")
        start.complain = lambda text: calls.append("says: " + text.replace(below, ""))
        start._fill_standard_descriptors = part("fill")
        start._watch_signals = lambda: calls.append("signals") or 99
        start.read_secrets, start.read_orders, start.claim_start = part("secrets"), part("orders"), part("claim")
        given, Job = [], start.Job
        class KeptJob(Job):
            def open_folder(self):
                super().open_folder()
                given.append(self)
        start.Job = KeptJob
        start.spawn = part("spawn", spawn)
        start._import_supervise = lambda job: part("supervise", supervise)
        start.os = StandIn(os, setsid=part("session"), fsync=part("fsync", os.fsync), open=part("open", os.open))
        ending.end_without_start = lambda job, cause, message: calls.append(["end", cause, message])
        before = open_files()
        code = start.main(["supervisor.py", *([folder] if more != "none" else []), *(more if more != "none" else [])])
        files = {}
        if folder_is_there:
            files = {name: [os.path.getsize(folder + "/" + name), "%o" % (os.stat(folder + "/" + name).st_mode & 0o777)] for name in sorted(os.listdir(folder))}
        opened = open_files() - before
        start.Job = Job
        for job in given: os.close(job.folder_fd)
        return {"code": code, "calls": [name for name in calls if name != "open"], "files": files, "open": opened, "jobs": jobs}

def imports(errors):
    """Loads the other half of the supervisor, which fails in these ways before it works."""
    again()
    said, left, real = [], list(errors), builtins.__import__
    def load(name, *given, **more):
        if name == "holdfast_job.supervise" and left: raise error_of(left.pop(0))
        return real(name, *given, **more)
    start.os = StandIn(os, killpg=lambda pid, number: said.append([pid, number]))
    start.say_waiting, start.say_going_on = lambda error: said.append("waiting"), lambda: said.append("going on")
    builtins.__import__ = load
    try:
        found = start._import_supervise(types.SimpleNamespace(ansible_pid=50)).__name__
    except ValueError as error:
        found = str(error)
    finally:
        builtins.__import__ = real
    return [found, said, start.time.slept]

def child(action):
    """Does it in a process of its own and gives what it returns."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            said = action()
        except BaseException as error:
            said = "%s: %s" % (type(error).__name__, error)
        os.write(writer, json.dumps(said).encode())
        os._exit(0)
    os.close(writer)
    with open(reader) as file: said = json.load(file)
    os.waitpid(pid, 0)
    return said

def fills(closed):
    again()
    def action():
        for number in closed: os.close(number)
        before = open_files()
        start._fill_standard_descriptors()
        return [[os.readlink("/proc/self/fd/%d" % number) == "/dev/null" for number in closed], open_files() - before]
    return child(action)

def watches():
    """Which bytes the signals leave, blocked or ignored as they were before."""
    again()
    def action():
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGCHLD))
        reader = start._watch_signals()
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR2): os.kill(os.getpid(), number)
        read = []
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD):
            os.kill(os.getpid(), number)
            read += list(os.read(reader, 100))
        try: rest = len(os.read(reader, 100))
        except BlockingIOError: rest = "empty"
        writer = signal.set_wakeup_fd(-1)
        signal.set_wakeup_fd(writer)
        return [read, rest, os.get_blocking(reader), os.get_blocking(writer)]
    return child(action)

def overflows():
    """What is written to the errors when more signals come than the pipe holds."""
    again()
    def action():
        made = []
        def set_wakeup_fd(writer, **how):
            made.append(writer)
            return signal.set_wakeup_fd(writer, **how)
        start.signal = StandIn(signal, set_wakeup_fd=set_wakeup_fd)
        start._watch_signals()
        with tempfile.TemporaryFile() as errors:
            os.dup2(errors.fileno(), 2)
            try:
                while True: os.write(made[0], b"x" * 4096)
            except BlockingIOError: pass
            os.kill(os.getpid(), signal.SIGTERM)
            return os.fstat(errors.fileno()).st_size
    return child(action)
`)

const PREPARED = ['fill', 'signals', 'session', 'claim']
const FILES = { 'events.jsonl': [0, '600'], 'output.log': [3, '600'] }

describe('the start of a job', () => {
  test('comes after its record is durable, and its files are there; then it is supervised', async () => {
    expect(await call('main')).toEqual({
      code: 0,
      calls: [...PREPARED, 'fsync', 'orders', 'spawn', 'supervise'],
      files: FILES,
      // The folder and output.log.
      open: 2,
      jobs: [[99, 0, 50]],
    })
  })

  test('with secrets reads them before anything else is there', async () => {
    expect(await call('main', ['secrets'])).toMatchObject({
      code: 0,
      calls: ['fill', 'secrets', 'signals', 'session', 'claim', 'fsync', 'orders', 'spawn', 'supervise'],
    })
  })

  test.each([[[['session', 'EPERM']]], [[['fsync', 'EIO', 3]]]])('goes on after %j', async (faults) => {
    expect(await call('main', [], faults)).toMatchObject({ code: 0, files: FILES })
  })

  test.each([
    ['without a folder', 'none'],
    ['with a word too many', ['secrets', 'more']],
    ['with a word that it does not know', ['secret']],
  ])('is refused %s', async (_what, args) => {
    const said = 'says: usage: supervisor.py <job folder> [secrets], so nothing was started'
    expect(await call('main', args)).toMatchObject({ code: 18, calls: [said], files: {} })
  })

  test('is refused when there is no folder', async () => {
    const said = 'says: /1-r could not be opened: No such file or directory, so nothing was started'
    expect(await call('main', [], [], false, false)).toMatchObject({ code: 18, calls: ['fill', 'signals', said] })
  })

  test.each([
    ['the record is there', 'EEXIST', 17, 'says: /1-r/started.json exists: this job has been started before'],
    [
      'the record cannot be written',
      'ENOSPC',
      18,
      'says: /1-r/started.json could not be written: No space left on device, so nothing was started',
    ],
    ['the supervisor fails', 'fault', 18, 'says: ValueError: a fault, so nothing was started'],
  ])('leaves nothing when %s', async (_what, error, code, said) => {
    expect(await call('main', [], [['claim', error]])).toMatchObject({ code, calls: [...PREPARED, said], files: {} })
  })
})

describe('a job that is not started', () => {
  const early = [...PREPARED, 'fsync', 'orders']

  test.each([
    ['its orders are refused', 'orders', 'refusal', early, 'a reason'],
    ['it cannot be started', 'spawn', 'refusal', [...early, 'spawn'], 'a reason'],
    ['the supervisor fails', 'orders', 'fault', early, 'the supervisor failed before the start: ValueError: a fault'],
  ])('has an end that says why: %s', async (_what, name, error, calls, message) => {
    const ended = await call('main', [], [[name, error]])
    expect(ended).toMatchObject({ code: 0, calls: [...calls, ['end', 'spawn_failed', message]], jobs: [] })
  })

  const aborted = ['end', 'aborted', 'aborted before ansible-playbook was started']

  test('because an abort was asked for says so', async () => {
    expect(await call('main', [], [], true)).toMatchObject({ code: 0, calls: [...early, aborted], jobs: [] })
    const failed = await call('main', [], [['orders', 'refusal']], true)
    expect(failed).toMatchObject({ code: 0, calls: [...early, aborted], jobs: [] })
  })

  test('is not said to be aborted when ansible runs, although something failed then', async () => {
    const ended = await call('main', [], [['late', 'refusal']], false)
    expect(ended).toMatchObject({ calls: [...early, 'spawn', ['end', 'spawn_failed', 'a reason']] })
  })
})

describe('the other half of the supervisor', () => {
  test('is loaded at once and without a word', async () => {
    expect(await call('imports', [])).toEqual(['supervise', [], []])
  })

  test('is waited for while no file can be opened, and that is said once', async () => {
    const said = ['waiting', 'going on']
    expect(await call('imports', ['EMFILE', 'ENFILE', 'EMFILE'])).toEqual(['supervise', said, [0.5, 0.5, 0.5]])
  })

  test('that cannot be loaded ends the playbook, of which nobody could tell the end', async () => {
    expect(await call('imports', ['fault'])).toEqual(['a fault', [[50, 9]], []])
  })
})

describe('before the start', () => {
  test.each([[[]], [[0]], [[1, 2]], [[2]], [[0, 1, 2]]])(
    'the closed ones of 0, 1 and 2 are filled: %j',
    async (closed) => {
      expect(await call('fills', closed)).toEqual([closed.map(() => true), closed.length])
    },
  )

  test('signals become bytes that can be read, and those of a terminal are ignored', async () => {
    expect(await call('watches')).toEqual([[15, 10, 17], 'empty', false, false])
  })

  test('more signals than can be kept are no error', async () => {
    expect(await call('overflows')).toBe(0)
  })
})
