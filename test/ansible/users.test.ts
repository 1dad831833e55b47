import { describe, expect, test } from 'vitest'
import { callPython } from './python-calls.js'

const call = callPython(`
import io, time
from holdfast_job import users

ENTRY = {"uid": 7, "gid": 8, "name": "job-a", "groups": [20, 21]}
REAL = {name: getattr(users, name) for name in ("os", "time", "run_as", "processes_of", "is_of", "leftovers", "JobUser", "drop_all_rights")}

def again():
    """Puts back what a test has replaced."""
    for name, value in REAL.items(): setattr(users, name, value)
    users._HELPER_SECONDS, users._LOOK_EVERY = 30.0, 0.01

def mode(path): return "%o" % (os.stat(path).st_mode & 0o777)

def locks():
    again()
    with Folder() as below:
        os.umask(0o077)
        before = open_files()
        one, other = users.JobUser(ENTRY, below + "/deep"), users.JobUser(ENTRY, below + "/deep")
        said = [one.lock(), mode(one.folder), mode(one.path("lock")), other.lock(), other.lock(), open_files() - before]
        one.unlock()
        os.chmod(one.folder, 0o700)
        said += [open_files() - before, other.lock(), mode(one.folder)]
        other.unlock()
        os.umask(0o022)
        return said

def becomes(uid=7, real_uids=(7, 7, 7), real_gids=(8, 8, 8)):
    again()
    calls = []
    def record(name): return lambda *given: calls.append([name, *given])
    users.os = StandIn(os, setgroups=record("groups"), setresgid=record("gid"), setresuid=record("uid"),
        getresuid=lambda: tuple(real_uids), getresgid=lambda: tuple(real_gids))
    users.drop_all_rights = record("rights")
    try:
        users.JobUser({**ENTRY, "uid": uid}, "/nowhere").become()
        return calls
    except OSError as error:
        return str(error)

def ends(looks, refuses=False):
    """Looks: the pids that each look finds; the last one counts for all later ones."""
    again()
    clock = users.time = Clock(0.0)
    users._LOOK_EVERY = 1.0
    calls, left = [], list(looks)
    def kill(pid, number):
        calls.append([pid, number])
        if refuses: raise PermissionError()
    users.os = StandIn(os, kill=kill)
    users.processes_of = lambda uid: left.pop(0) if len(left) > 1 else left[0]
    user = users.JobUser(ENTRY, "/nowhere")
    user.kill_all = lambda: calls.append("all")
    return [user.end_all(), calls, clock.sleeps]

def kills_all():
    again()
    calls = []
    def run_as(user, action, ignored=()):
        calls.append([user.name, [kind.__name__ for kind in ignored]])
        action()
    users.run_as = run_as
    users.os = StandIn(os, kill=lambda *given: calls.append(list(given)))
    users.JobUser(ENTRY, "/nowhere").kill_all()
    return calls

def cleans(left=(), said=None, stuck=None):
    """What is done, and what is said. stuck: a folder that cannot be removed."""
    again()
    calls = []
    def remove_folder(path):
        calls.append("folder " + path)
        if path == stuck: raise OSError(errno.EBUSY, "busy")
    users.leftovers = types.SimpleNamespace(
        remove_planned=lambda user: calls.append("planned " + user.name),
        remove_all=lambda user, folders: calls.append(["all", user.name, *folders]),
        remove_folder=remove_folder,
    )
    def run_as(user, action):
        action()
        return said
    users.run_as = run_as
    user = users.JobUser(ENTRY, "/b")
    user.end_all = lambda: list(left)
    return [user.clean(["/given"]), calls]

def prepares(skeleton):
    again()
    calls = []
    with Folder() as below:
        users.leftovers = types.SimpleNamespace(
            copy_tree=lambda source, target: calls.append(["copy", source, target[len(below):]]),
            hand_over=lambda path, uid, gid: calls.append(["give", path[len(below):], uid, gid, mode(path)]),
        )
        user = users.JobUser(ENTRY, below)
        os.mkdir(user.folder)
        user.prepare(skeleton)
        return [sorted(os.listdir(user.folder)), calls]

def takes(states):
    """States of users one after the other: taken by another, clean, or a sentence about what is left."""
    again()
    calls = []
    class User:
        def __init__(self, entry, below): self.name = entry
        def lock(self):
            calls.append("lock " + self.name)
            return states[self.name] != "taken"
        def clean(self): return [] if states[self.name] == "clean" else [states[self.name], "more"]
        def unlock(self): calls.append("unlock " + self.name)
    users.JobUser = User
    try:
        return [users.take_user({"users": list(states)}, "/below").name, calls]
    except OSError as error:
        return [error.strerror, calls]

def runs(what):
    again()
    before = open_files()
    def become():
        if what == "become": raise PermissionError(1, "not now")
    def action():
        if what == "fails": raise ValueError("x" * 5000)
        if what == "ignored": raise KeyError("x")
        if what == "subclass": raise UnicodeError("x")
        if what == "sleeps": time.sleep(600)
        os.write(writer, b"done")
    reader, writer = os.pipe()
    if what == "sleeps": users._HELPER_SECONDS = 0
    said = users.run_as(types.SimpleNamespace(become=become), action, ignored=(KeyError,))
    os.close(writer)
    done = os.read(reader, 10).decode()
    os.close(reader)
    return [said, done, open_files() - before]

def waits(answers, seconds=30.0, step=None):
    """Answers of waitpid for the process 5: its pid, 0 while it runs, or None when it is nobody's child any more."""
    again()
    clock = users.time = Clock(0.0)
    users._HELPER_SECONDS = seconds
    calls, left = [], list(answers)
    def waitpid(pid, options):
        if options == 0:
            calls.append(["wait", pid])
            return pid, 9
        assert (pid, options) == (5, os.WNOHANG)
        answer = left.pop(0)
        if answer is None: raise ChildProcessError()
        return answer, 0
    users.os = StandIn(os, waitpid=waitpid, kill=lambda pid, number: calls.append(["kill", pid, number]))
    return [users._wait_for(5), calls, clock.slept]

def processes():
    again()
    users.os = StandIn(os, listdir=lambda path: ["1", "self", "2", "30", "stat"])
    users.is_of = lambda pid, uid: uid == 7 and pid in ("2", "30", "self")
    return users.processes_of(7)

def is_of(state, uids):
    again()
    status = "Name:\\tsh\\nState:\\t%s (x)\\nTgid:\\t7\\nUid:\\t%s\\nGid:\\t7\\t7\\t7\\t7\\n" % (state, "\\t".join(map(str, uids)))
    def opened(path, how):
        if path != "/proc/5/status": raise FileNotFoundError()
        return io.BytesIO(status.encode())
    users.open = opened
    try:
        return [users.is_of("5", 7), users.is_of("6", 7)]
    finally:
        del users.open
`)

describe('the user of a job', () => {
  test('is locked by one at a time, and no file stays open for one that is taken', async () => {
    expect(await call('locks')).toEqual([true, '711', '600', false, false, 1, 0, true, '711'])
  })

  test('is become with its groups and no right of the user before', async () => {
    const calls = [['groups', [20, 21]], ['gid', 8, 8, 8], ['uid', 7, 7, 7], ['rights']]
    expect(await call('becomes')).toEqual(calls)
  })

  test.each([
    ['root itself', 0, [0, 0, 0], [8, 8, 8]],
    ['a real uid of another', 7, [0, 7, 7], [8, 8, 8]],
    ['a saved uid of another', 7, [7, 7, 0], [8, 8, 8]],
    ['a saved gid of another', 7, [7, 7, 7], [8, 8, 0]],
  ])('is not become when it would be %s', async (_what, ...given) => {
    expect(await call('becomes', ...given)).toBe('the change of the user did not come about')
  })

  test('gets its folders anew, with the content that a home begins with', async () => {
    const names = ['home', 'run', 'tmp', 'vartmp']
    const given = ['home', 'tmp', 'vartmp', 'run'].map((name) => ['give', `/job-a/${name}`, 7, 8, '700'])
    expect(await call('prepares', '/skeleton')).toEqual([names, [['copy', '/skeleton', '/job-a/home'], ...given]])
    expect(await call('prepares', null)).toEqual([names, given])
  })
})

describe('the end of all processes of a user', () => {
  test('kills all in one step, and then those that are seen, until none is', async () => {
    const calls = ['all', [4, 9], [5, 9], 'all', [5, 9], 'all']
    expect(await call('ends', [[4, 5], [5], []])).toEqual([[], calls, 2])
    expect(await call('ends', [[4, 5], [5], []], true)).toEqual([[], calls, 2])
    expect(await call('ends', [[]])).toEqual([[], ['all'], 0])
  })

  test('is given up after ten seconds with the pids that are left', async () => {
    expect(await call('ends', [[4]])).toEqual([[4], expect.anything(), 10])
  })

  test('is done by the user itself, and it is no error when none is there', async () => {
    expect(await call('kills_all')).toEqual([
      ['job-a', ['ProcessLookupError']],
      [-1, 9],
    ])
  })
})

describe('what is left of a user', () => {
  const folders = ['/b/job-a/home', '/b/job-a/tmp', '/b/job-a/vartmp', '/b/job-a/run', '/given']
  const calls = ['planned job-a', ['all', 'job-a', ...folders], ...folders.map((folder) => `folder ${folder}`)]

  test('is removed: what is planned, its folders and those it was given', async () => {
    expect(await call('cleans')).toEqual([[], calls])
  })

  test('stays as long as a process of it lives, which is said', async () => {
    expect(await call('cleans', [4, 5])).toEqual([['processes that cannot be ended: 4, 5'], []])
  })

  test('and cannot be removed is said', async () => {
    expect(await call('cleans', [], 'PermissionError: x')).toEqual([['PermissionError: x'], calls])
    const problems = ['/b/job-a/tmp: busy', 'no']
    expect(await call('cleans', [], 'no', '/b/job-a/tmp')).toEqual([problems, calls])
  })

  test('keeps the user from the next job, which gets the next clean one', async () => {
    const states = { a: 'taken', b: 'files', c: 'clean', d: 'clean' }
    expect(await call('takes', states)).toEqual(['c', ['lock a', 'lock b', 'unlock b', 'lock c']])
    const none = { a: 'taken', b: 'files', c: 'mail' }
    const said = 'no user is free for this job; b is not clean (files; more); c is not clean (mail; more)'
    expect(await call('takes', none)).toEqual([said, ['lock a', 'lock b', 'unlock b', 'lock c', 'unlock c']])
  })
})

describe('a step that is done as the user', () => {
  test.each([
    ['fails: its error is said, not at any length', 'fails', `ValueError: ${'x'.repeat(1988)}`, ''],
    ['cannot become the user: nothing is done', 'become', 'PermissionError: [Errno 1] not now', ''],
    ['ends in an error that does not matter', 'ignored', null, ''],
    ['ends well', 'well', null, 'done'],
    ['takes too long: it is ended', 'sleeps', 'it took more than 0 seconds', ''],
  ])('%s', async (_what, how, said, done) => {
    // No file stays open here.
    expect(await call('runs', how)).toEqual([said, done, 0])
  })

  test.each([
    ['ended', [5], [true, [], []]],
    ['going on for a moment', [0, 0, 5], [true, [], [0.001, 0.001]]],
    ['nobody knows', [0, null], [true, [], [0.001]]],
  ])('is waited for: %s', async (_what, answers, expected) => {
    expect(await call('waits', answers)).toEqual(expected)
  })

  test('is killed and buried when its time is over', async () => {
    const killed = [
      ['kill', 5, 9],
      ['wait', 5],
    ]
    expect(await call('waits', [0, 0, 0], 0.001)).toEqual([false, killed, [0.001]])
  })
})

describe('processes of a user', () => {
  test('are found in the list of all', async () => {
    expect(await call('processes')).toEqual([2, 30])
  })

  test.each([
    ['S', [7, 7, 7, 7], true],
    ['R', [0, 0, 0, 7], true],
    ['R', [7, 0, 0, 0], true],
    ['S', [70, 77, 17, 0], false],
    ['Z', [7, 7, 7, 7], false],
    ['X', [7, 7, 7, 7], false],
  ])('one in state %s with the uids %j: %s', async (state, uids, expected) => {
    expect(await call('is_of', state, uids)).toEqual([expected, false])
  })
})
