import { describe, expect, test } from 'vitest'
import { callPython } from './python-calls.js'

/** What a job with a user of its own is given: files, pipes, variables, and how its program begins. */
const call = callPython(`
import contextlib, json, signal, stat
from holdfast_job import isolation

UID = os.getuid()

class User:
    """A user of jobs who is the test itself."""
    def __init__(self, folder, problems=()):
        self.folder, self.uid, self.gid, self.name = folder, UID, os.getgid(), "job-1"
        self.done, self.problems = [], list(problems)
    def path(self, name): return "/users/job-1/" + name
    def clean(self, given=None):
        self.done.append(["clean", given])
        return self.problems
    def prepare(self, home): self.done.append(["prepare", home])
    def become(self): pass

class Job:
    def __init__(self, folder): self.folder, self.folder_fd = folder, os.open(folder, os.O_RDONLY)
    def path(self, name): return os.path.join(self.folder, name)
    def place(self, name): return "/job/" + name

@contextlib.contextmanager
def made(problems=(), **orders):
    """The isolation of a job in a folder of its own, as after it has taken its user."""
    with Folder() as folder:
        one = object.__new__(isolation.Isolation)
        one._job, one._orders = Job(folder), {"private": [], "sudo": True, "home": None, **orders}
        one.user, one._is_begun = User(folder, problems), False
        try: yield one
        finally: os.close(one._job.folder_fd)

def mode_of(path): return stat.S_IMODE(os.stat(path).st_mode)

def environment(given):
    with made() as one:
        found = one.environment_of({name.encode(): value.encode() for name, value in given.items()})
        return {name.decode(): value.decode() for name, value in found.items()}

def private(places):
    with made() as one: return [one._private_folder(place) for place in places]

def prepare(names, folders):
    """The modes of what the job is given, who gets it, and what is done with the user: once, and once more."""
    with made(home="/its/home") as one:
        job, handed = one._job, []
        for name in names: open(job.path(name), "w").close()
        for name in folders: os.mkdir(job.path(name))
        kept, isolation.leftovers = isolation.leftovers, StandIn(isolation.leftovers, hand_over=lambda *all: handed.append(all))
        before = open_files()
        try:
            for _ in range(2): os.close(one._prepare())
        finally: isolation.leftovers = kept
        whose = [[os.path.basename(path), uid == one.user.uid, gid == one.user.gid] for path, uid, gid in handed]
        modes = {name: "%o" % mode_of(job.path(name)) for name in [*names, *folders]}
        return {
            "modes": modes, "handed": whose[:len(whose) // 2], "done": one.user.done, "opened": open_files() - before,
            "folder": "%o" % mode_of(job.folder), "note": json.load(open(job.path("isolation.json"))) ["name"],
        }

def begin():
    """What is done when a job begins, from the start."""
    asked = []
    with Folder() as folder:
        kept, isolation.take_user = isolation.take_user, lambda *given: asked.append(given) or User(folder)
        orders = {"private": [], "sudo": True, "home": None, "folder": "/users"}
        job = Job(folder)
        try: one = isolation.Isolation(job, orders)
        finally: isolation.take_user = kept
        is_pipe = stat.S_ISFIFO(os.fstat(one.events_pipe).st_mode)
        for descriptor in (one.events_pipe, job.folder_fd): os.close(descriptor)
        return [asked == [(orders, "/users")], one.user.done, is_pipe]

def pipe():
    """The pipe for events where a file of that name lies already."""
    with made() as one:
        path = one._job.path("events-pipe")
        open(path, "w").close()
        descriptor = one._make_events_pipe()
        try:
            os.write(descriptor, b"x")
            is_pipe = stat.S_ISFIFO(os.stat(path).st_mode)
            return [is_pipe, "%o" % mode_of(path), os.get_inheritable(descriptor), os.get_blocking(descriptor), os.read(descriptor, 9).decode()]
        finally: os.close(descriptor)

def owners():
    """To whom the two pipes are given, and with which mode: the user of the job, with the group of the agent or none."""
    given = []
    with made() as one:
        kept, isolation.os = isolation.os, StandIn(os, chown=lambda path, uid, gid: given.append([os.path.basename(path), uid, gid]))
        one.user.uid = 4711
        try:
            os.close(one._make_events_pipe())
            path = one._job.path("keys")
            os.mkfifo(path)
            one.give_pipe(path)
        finally: isolation.os = kept
        return [given, "%o" % mode_of(path), os.getegid()]

def note(before):
    with made() as one:
        path = one._job.path("isolation.json")
        with open(path, "w") as file: file.write(before)
        os.unlink(path) if not before else None
        opened = open_files()
        isolation._note(one._job, one.user)
        return [json.load(open(path)), "%o" % mode_of(path), open_files() - opened]

def finish(has_pipe, problems):
    with made(problems) as one:
        path = one._job.path("events-pipe")
        if has_pipe: os.mkfifo(path)
        said = one.finish()
        [[what, given]] = one.user.done
        return [said, what, [os.path.basename(name) for name in given], os.path.lexists(path)]

def run(program, *words, private=(), sudo=True, failing=None):
    """Starts a program: what it says, or the failure; what was done before it; and whether anything is left open."""
    with made(private=list(private), sudo=sudo) as one:
        out = os.open(one._job.path("out"), os.O_RDWR | os.O_CREAT)
        notes = one._job.path("notes")
        def did(*what):
            with open(notes, "a") as file: file.write(json.dumps(what) + "\\n")
        def become():
            did("become")
            if failing: raise eval(failing)
        one.user.become = become
        kept = [isolation.leave_common_folders, isolation.forbid_more_rights]
        isolation.leave_common_folders = lambda folders: did("leave", folders)
        isolation.forbid_more_rights = lambda: did("forbid")
        shared, hidden = os.open("/dev/null", os.O_RDONLY), os.open("/dev/null", os.O_RDONLY)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        before, old = open_files(), os.umask(0o077)
        failure = status = None
        try:
            words = [word.replace("SHARED", str(shared)).replace("HIDDEN", str(hidden)) for word in words]
            pid = one.spawn(program, [program, *words], {"A": "b"}, "/usr", out, [shared], [signal.SIGPIPE])
            status = os.WEXITSTATUS(os.waitpid(pid, 0)[1])
        except OSError as error: failure = str(error.strerror)
        finally:
            os.umask(old)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
            isolation.leave_common_folders, isolation.forbid_more_rights = kept
        opened = open_files() - before
        try: left = bool(os.waitpid(-1, os.WNOHANG))
        except ChildProcessError: left = False
        said = os.pread(out, 9999, 0).decode()
        for descriptor in (out, shared, hidden): os.close(descriptor)
        did = [json.loads(line) for line in open(notes)] if os.path.exists(notes) else []
        return {"status": status, "failure": failure, "said": said, "did": did, "opened": opened, "left": left}

def run_private(sudo): return run("/bin/true", private=["/tmp", "/var/tmp", "/dev/shm"], sudo=sudo)["did"]
def run_failing(failing): return run("/bin/true", failing=failing)
`)

describe('the variables of a job with a user of its own', () => {
  const own = {
    HOME: '/users/job-1/home',
    TMPDIR: '/users/job-1/tmp',
    XDG_RUNTIME_DIR: '/users/job-1/run',
    USER: 'job-1',
    LOGNAME: 'job-1',
    HOLDFAST_EVENTS_PIPE: '/job/events-pipe',
  }

  test.each(['HOLDFAST_EVENTS_FILE', 'HOLDFAST_CALLBACK_FILE', 'TMP', 'TEMP', 'MAIL', 'SHELL'])(
    'are its own, without %s of the agent',
    async (name) => {
      expect(await call('environment', { [name]: '/of/the/agent', PATH: '/bin' })).toEqual({ ...own, PATH: '/bin' })
    },
  )

  test.each(Object.keys(own))('have another %s than the agent', async (name) => {
    expect(await call('environment', { [name]: '/of/the/agent' })).toEqual(own)
  })
})

describe('the files of such a job', () => {
  test('are given to its user, and to nobody else', async () => {
    const files = { 'extravars.yml': '600', 'other.json': '644' }
    const folders = { work: '700', uploads: '700', keys: '755' }
    expect(await call('prepare', Object.keys(files), Object.keys(folders))).toEqual({
      modes: { ...files, ...folders },
      handed: ['work', 'uploads', 'extravars.yml'].map((name) => [name, true, true]),
      // What a first try has left is removed before the second one.
      done: [
        ['prepare', '/its/home'],
        ['clean', null],
        ['prepare', '/its/home'],
      ],
      opened: 0,
      folder: '711',
      note: 'job-1',
    })
  })

  test('are made for a user that was taken before, and nothing is removed at the first try', async () => {
    expect(await call('begin')).toEqual([true, [['prepare', null]], true])
  })

  test('need not all be there', async () => {
    expect(await call('prepare', [], ['work'])).toMatchObject({
      modes: { work: '700' },
      handed: [['work', true, true]],
    })
  })

  test.each(['', '{"name":"somebody with a far longer name than the next one","uid":1,"gid":1,"groups":[]}'])(
    'have a note of the user for the agent, in place of %j',
    async (before) => {
      const user = { name: 'job-1', uid: process.getuid?.(), gid: process.getgid?.(), groups: [] }
      const mode = before === '' ? '600' : '644'
      expect(await call('note', before)).toEqual([user, mode, 0])
    },
  )

  test('have a folder of the user in place of the common ones', async () => {
    const folders = ['/users/job-1/tmp', '/users/job-1/vartmp', null]
    expect(await call('private', ['/tmp', '/var/tmp', '/dev/shm'])).toEqual(folders)
  })

  test.each([
    [true, [], null],
    [false, [], null],
    [true, ['one', 'two'], "not all of the job's user could be removed: one; two"],
  ])('go at its end; with a pipe: %s, with problems: %j', async (hasPipe, problems, said) => {
    expect(await call('finish', hasPipe, problems)).toEqual([said, 'clean', ['work', 'uploads'], false])
  })
})

describe('the pipes of such a job', () => {
  test('for events never end, and its user may only write', async () => {
    expect(await call('pipe')).toEqual([true, '200', false, false, 'x'])
  })

  test('belong to its user, and the one for reading to the group of the agent, too', async () => {
    const [given, mode, group] = (await call('owners')) as [unknown, unknown, unknown]
    expect([given, mode]).toEqual([
      [
        ['events-pipe', 4711, -1],
        ['keys', 4711, group],
      ],
      '420',
    ])
  })
})

describe('the program of such a job', () => {
  const whole = { status: 0, failure: null, did: [['become']], opened: 0, left: false }

  test('begins in its folder, with its output, its variables, its open files, and nothing else of the supervisor', async () => {
    const script = [
      'echo "$A $(pwd) $(umask) $(readlink /proc/self/fd/0)"',
      'echo an error >&2',
      '[ -e /proc/self/fd/SHARED ] && echo shared',
      '[ -e /proc/self/fd/HIDDEN ] || echo closed',
      'read -r pid name state parent group session rest </proc/$$/stat',
      '[ "$session" = $$ ] && [ "$group" = $$ ] && echo alone',
      'while read -r name value; do [ "$name" = SigBlk: ] && echo "$value"; done </proc/$$/status',
      'exit 0',
    ].join('\n')
    expect(await call('run', '/bin/sh', '-c', script)).toEqual({
      ...whole,
      said: 'b /usr 0022 /dev/null\nan error\nshared\nclosed\nalone\n0000000000000000\n',
    })
  })

  test('takes the usual signals as usual', async () => {
    const ignored = (await call('run', '/bin/sh', '-c', 'grep SigIgn /proc/$$/status')) as { said: string }
    // SIGPIPE is the thirteenth. Python ignores it.
    expect(parseInt(ignored.said.split(/\s+/)[1] ?? '', 16) & (1 << 12)).toBe(0)
  })

  test('says with which status it ended', async () => {
    expect(await call('run', '/bin/sh', '-c', 'exit 3')).toMatchObject({ status: 3, failure: null })
  })

  test('leaves the common folders and gives up rights before it is the user, as it is ordered', async () => {
    const folders = { '/tmp': '/users/job-1/tmp', '/var/tmp': '/users/job-1/vartmp', '/dev/shm': null }
    expect(await call('run_private', false)).toEqual([['leave', folders], ['forbid'], ['become']])
    expect(await call('run_private', true)).toEqual([['leave', folders], ['become']])
  })

  test.each([
    ['OSError(1, "no such right")', '[Errno 1] no such right'],
    ['KeyboardInterrupt()', 'KeyboardInterrupt'],
    ['RuntimeError("a reason")', 'a reason'],
  ])('does not begin after %s, and nothing is left of the try', async (failing, words) => {
    const failure = `as the user job-1: ${words}`
    expect(await call('run_failing', failing)).toEqual({ ...whole, status: null, failure, said: '' })
  })

  test('does not begin when there is no such program', async () => {
    const failure = 'as the user job-1: [Errno 2] No such file or directory'
    expect(await call('run', '/nowhere/ansible-playbook')).toMatchObject({ status: null, left: false })
    expect((await call('run', '/nowhere/ansible-playbook')) as { failure: string }).toMatchObject({
      failure: expect.stringContaining(failure) as unknown,
    })
  })
})
