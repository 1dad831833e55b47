import { describe, expect, test } from 'vitest'
import { callPython } from './python-calls.js'

const call = callPython(`
from holdfast_job import isolation, secret_files, spawn, transient_errors

REAL = {name: getattr(spawn, name) for name in ("os", "_close_on_exec", "_become_subreaper", "_set_lock_limit")}

def again():
    for name, value in REAL.items(): setattr(spawn, name, value)
    transient_errors.time = Clock()
    transient_errors.complain = lambda text: None

def text_of(value):
    """Bytes as texts, so that they can be said."""
    if isinstance(value, bytes): return value.decode()
    if isinstance(value, dict): return {text_of(name): text_of(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)): return [text_of(one) for one in value]
    return value

def starts(orders=(), secrets=False, isolated=None, faults=(), argv=("/bin/sh", "x"), subreaper=True):
    """Starts the program of a job; nothing really runs. faults: [part, error, how often]."""
    again()
    log, left = [], {name: [what, times] for name, what, times in faults}
    def part(name, said=None):
        def called(*given, **more):
            log.append([name, *(said(*given, **more) if said else [])])
            if name in left and left[name][1]:
                left[name][1] -= 1
                code = left[name][0]
                raise OSError(code) if not hasattr(errno, code) else OSError(getattr(errno, code), os.strerror(getattr(errno, code)))
            return 50
        return called
    files = []
    def action_of(action):
        """Where the program's files come from: the pipe of the output, a key file, or a path."""
        kind, *rest = action
        if kind == os.POSIX_SPAWN_OPEN: return ["open", *rest]
        assert kind == os.POSIX_SPAWN_DUP2
        source = os.readlink("/proc/self/fd/%d" % rest[0])
        return ["pipe" if source.startswith("pipe:") else os.path.basename(source), rest[0] >= 200, rest[1]]
    def posix_spawn(program, arguments, environment, file_actions, setsid, setsigmask, setsigdef):
        made.update(program=text_of(program), arguments=text_of(arguments), environment=text_of(environment),
            actions=[action_of(action) for action in file_actions], setsid=setsid, mask=list(setsigmask), reset=setsigdef)
        return part("program")()
    made = {}
    with Folder() as folder:
        job = types.SimpleNamespace(
            orders={"env": {"PATH": "/usr/bin:/bin", "A": "b"}, "argv": list(argv), "cwd": folder, "limit_mark": 123, **dict(orders)},
            marker="mark", secrets=None, isolation=None, ansible_pid=None, started_at=None, adopts_orphans=None, is_abort_asked=lambda: False)
        if secrets:
            descriptors = {}
            for name in ("key1", "key2"):
                with open(folder + "/" + name, "w"): pass
                descriptors[name] = os.open(folder + "/" + name, os.O_RDONLY)
            job.secrets = {"descriptors": descriptors}
        class Isolation:
            def __init__(self, of, how):
                log.append(["user", how])
                if isolated == "none": raise OSError(0, "no user is free")
                if isolated == "shut": raise OSError(errno.EACCES, "shut", "/the/folder")
                if isolated == "nameless": raise OSError("only words")
            def environment_of(self, environment): return {**environment, b"OWN": b"1"}
            def spawn(self, program, arguments, environment, cwd, output, kept, reset):
                made.update(program=text_of(program), arguments=text_of(arguments), environment=text_of(environment), cwd=cwd == os.fsencode(folder), pipe=os.readlink("/proc/self/fd/%d" % output).startswith("pipe:"), kept=[os.path.basename(os.readlink("/proc/self/fd/%d" % one)) for one in kept], reset=reset)
                return part("program")()
            def finish(self): log.append(["user finished"])
        isolation.Isolation = Isolation
        if isolated: job.orders["isolation"] = {"is": isolated}
        secret_files.make_secrets = part("secrets made", lambda of: [of is job])
        secret_files.serve_secrets = part("secrets served", lambda of, pid, *numbers: ["self" if pid == os.getpid() else pid, *numbers])
        spawn._close_on_exec, spawn._become_subreaper = part("closed"), lambda: subreaper
        spawn._set_lock_limit = lambda soft: log.append(["limit", soft]) or 7
        spawn.os = StandIn(os, posix_spawn=posix_spawn, chdir=part("folder", lambda path: ["/" if path == "/" else "own" if path == os.fsencode(folder) else text_of(path)]))
        before = open_files()
        refused = None
        try:
            spawn.spawn(job)
        except spawn.Refusal as refusal:
            refused = str(refusal)
        said = {"log": log, "made": made, "pid": job.ansible_pid, "started": job.started_at is not None, "refused": refused,
            "open": open_files() - before, "orphans": job.adopts_orphans}
        if hasattr(job, "output_pipe"): os.close(job.output_pipe)
        for name in os.listdir("/proc/self/fd"):
            if int(name) >= 200: os.close(int(name))
        if secrets:
            for one in job.secrets["descriptors"].values(): os.close(one)
        return said
`)

const MADE = {
  program: '/bin/sh',
  arguments: ['/bin/sh', 'x'],
  environment: { PATH: '/usr/bin:/bin', A: 'b', HOLDFAST_JOB_MARKER: 'mark' },
}
/** All signals but SIGKILL and SIGSTOP. */
const reset = Array.from({ length: 31 }, (_, place) => place + 1).filter((number) => number !== 9 && number !== 19)
const PIPES = [
  ['open', 0, '/dev/null', 0, 0],
  ['pipe', false, 1],
  ['pipe', false, 2],
]
const RUN = [['folder', 'own'], ['limit', 123], ['program'], ['limit', 7], ['folder', '/']]

describe('the program of a job', () => {
  test('starts in its folder and a session of its own, with nothing but its output', async () => {
    expect(await call('starts')).toEqual({
      log: [['closed'], ...RUN],
      made: { ...MADE, actions: PIPES, setsid: true, mask: [], reset },
      pid: 50,
      started: true,
      refused: null,
      // The end of the pipe from which the output is read.
      open: 1,
      orphans: true,
    })
    expect(await call('starts', {}, false, null, [], ['/bin/sh'], false)).toMatchObject({ orphans: false })
  })

  test('has secrets when it has some', async () => {
    const log = [['closed'], ['secrets made', true], ['secrets served', 'self'], ...RUN]
    expect(await call('starts', {}, true)).toMatchObject({ log, made: { actions: PIPES }, open: 1 })
  })

  test('in a container has its key files as open ones from 3 on', async () => {
    const log = [['closed'], ['secrets made', true], ['secrets served', 1, { key1: 3, key2: 4 }], ...RUN]
    const actions = [...PIPES, ['key1', true, 3], ['key2', true, 4]]
    expect(await call('starts', { container: 'c' }, true)).toMatchObject({ log, made: { actions } })
    expect(await call('starts', { container: 'c' })).toMatchObject({
      log: [['closed'], ...RUN],
      made: { actions: PIPES },
    })
  })

  test.each([
    ['folder', 'ESTALE', 3],
    ['program', 'EAGAIN', 3],
  ])('is tried again when the host cannot do it now: %s, %s', async (name, code, times) => {
    expect(await call('starts', {}, false, null, [[name, code, times]])).toMatchObject({ refused: null, pid: 50 })
  })

  test('waits for its secrets when the host cannot make them now', async () => {
    const started = await call('starts', {}, true, null, [['secrets made', 'EMFILE', 2]])
    expect(started).toMatchObject({
      refused: null,
      log: [['closed'], ...Array(3).fill(['secrets made', true]), ['secrets served', 'self'], ...RUN],
    })
  })

  test.each([
    [
      'is not there',
      ['/no/such/program'],
      'ENOENT',
      '/no/such/program could not be started: No such file or directory',
    ],
    [
      'needs an interpreter that is not there',
      ['/bin/sh'],
      'ENOENT',
      '/bin/sh could not be started: No such file or directory (it is there, so its interpreter may be missing)',
    ],
    ['may not be run', ['/bin/sh'], 'EACCES', '/bin/sh could not be started: Permission denied'],
    ['is not there for another reason', ['/no/such'], 'EACCES', '/no/such could not be started: Permission denied'],
  ])('is refused when it %s, and nothing of the start is left', async (_what, argv, code, refused) => {
    const started = await call('starts', {}, false, null, [['program', code, 1]], argv)
    expect(started).toMatchObject({ refused, started: false, pid: null, open: 1, log: [['closed'], ...RUN] })
  })

  test('is refused when its folder cannot be entered', async () => {
    const started = await call('starts', { cwd: '/no/folder' }, false, null, [['folder', 'ENOENT', 1]])
    const refused = 'the working folder /no/folder could not be entered: No such file or directory'
    expect(started).toMatchObject({ refused, log: [['closed'], ['folder', '/no/folder']] })
  })
})

describe('the program of a job with a user of its own', () => {
  const log = [['closed'], ['user', { is: 'user' }]]
  const run = [['limit', 123], ['program'], ['limit', 7]]
  const made = { ...MADE, environment: { ...MADE.environment, OWN: '1' }, cwd: true, pipe: true, kept: [], reset }

  test('is started as that user', async () => {
    const started = await call('starts', {}, false, 'user')
    expect(started).toEqual({
      log: [...log, ...run],
      made,
      pid: 50,
      started: true,
      refused: null,
      open: 1,
      orphans: true,
    })
  })

  test('keeps its key files and has its secrets served', async () => {
    const started = await call('starts', {}, true, 'user')
    const all = [...log, ['secrets made', true], ...run, ['secrets served', 50]]
    expect(started).toMatchObject({ log: all, made: { ...made, kept: ['key1', 'key2'] }, open: 1 })
  })

  test.each([
    ['EPERM', 'Operation not permitted'],
    ['only words', 'only words'],
  ])('is refused when it cannot be started, and the user is given back: %s', async (code, why) => {
    const started = await call('starts', {}, false, 'user', [['program', code, 1]])
    const all = [...log, ['limit', 123], ['program'], ['user finished'], ['limit', 7]]
    const refused = `/bin/sh could not be started: ${why}`
    expect(started).toMatchObject({ log: all, refused, started: false, pid: null, open: 1 })
  })

  test.each([
    ['none', 'no user is free'],
    ['shut', 'shut: /the/folder'],
    ['nameless', 'only words'],
  ])('is refused when there is no user for it: %s', async (how, why) => {
    const refused = `the job could not be given a user of its own: ${why}`
    expect(await call('starts', {}, false, how)).toMatchObject({ refused, pid: null, made: {}, open: 0 })
  })
})
