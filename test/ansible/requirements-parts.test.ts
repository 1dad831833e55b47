import { describe, expect, test } from 'vitest'
import { callPython } from './python-calls.js'

/** The single parts of what installs requirements, with clocks and locks of the test's own. */
const call = callPython(`
import contextlib, fcntl, io, os, shutil, signal, time
from holdfast_job import requirements

@contextlib.contextmanager
def changed(**own):
    before = {name: getattr(requirements, name) for name in own}
    for name, value in own.items(): setattr(requirements, name, value)
    try: yield
    finally:
        for name, value in before.items(): setattr(requirements, name, value)

class Became(Exception):
    """The process is another program now."""

ORDERS = '{"roles": "/their/roles", "collections": "/theirs"}'
ERRORS = {"interrupt": KeyboardInterrupt(), "failure": requirements.Failure("no roles"), "system": OSError(28, "No space")}

def main(ending):
    """How it ends: with a status, or as what program, in what environment, and how it takes two signals."""
    said, became = [], []
    def install(orders):
        if ending in ERRORS: raise ERRORS[ending]
        return "/installed"
    def execve(program, words, environment):
        became.extend([program, words, {n: environment.get(n) for n in environment if n.startswith("ANSIBLE_")}])
        raise Became()
    numbers = (signal.SIGPIPE, signal.SIGXFSZ)
    before = [signal.signal(number, signal.SIG_IGN) for number in numbers]
    outside = {"ANSIBLE_COLLECTIONS_PATHS": "/older", "ANSIBLE_ROLES_PATH": "/older", "PATH": "/bin"}
    own = StandIn(os, execve=execve, environ=outside)
    status = None
    try:
        with changed(install=install, _say=said.append, os=own): requirements.main(["x", ORDERS, "/play", "-v"])
    except SystemExit as end: status = end.code
    except Became: pass
    defaults = [signal.getsignal(number) == signal.SIG_DFL for number in numbers]
    for number, handler in zip(numbers, before): signal.signal(number, handler)
    return {"status": status, "said": said, "became": became, "defaults": defaults}

def hashes(text, name, *contents):
    """The hash with each content of a file that the requirements may name."""
    with Folder() as folder:
        path = os.path.join(folder, "requirements.yml")
        with open(path, "w") as file: file.write(text.replace("FOLDER", folder))
        found = []
        for content in contents:
            with open(os.path.join(folder, name), "w") as file: file.write(content)
            found.append(requirements._hash_of([path]))
        return len(set(found))

def hash_beside(name):
    with Folder() as folder:
        os.mkdir(os.path.join(folder, name))
        path = os.path.join(folder, "requirements.yml")
        with open(path, "w") as file: file.write("- " + os.path.join(folder, name))
        return len(requirements._hash_of([path]))

def wait(taken, seconds):
    """A lock that somebody else has for so many looks. Returns what was said, the sleeps, and the failure."""
    looks, said, clock = [], [], Clock()
    def flock(lock, how):
        looks.append(how == fcntl.LOCK_EX | fcntl.LOCK_NB)
        if len(looks) <= taken: raise BlockingIOError()
    failure = None
    with changed(fcntl=StandIn(fcntl, flock=flock), time=clock, _say=said.append):
        try: requirements._wait_for(None, clock.now + seconds)
        except requirements.Failure as error: failure = str(error)
    return {"looks": len(looks), "alone": all(looks), "said": len(said), "slept": clock.slept, "failure": failure}

def fill(text):
    said, run = [], []
    with Folder() as folder:
        path = os.path.join(folder, "requirements.yml")
        with open(path, "w") as file: file.write(text)
        with changed(_say=said.append, _run=lambda words, *_: run.append(words[1])):
            requirements._fill("/x", {"files": [path], "program": "galaxy"}, 0)
    return [len(said), said[0].startswith("installing what ") and said[0].endswith("requirements.yml requires"), run]

def end(is_gone):
    """What is done with a process that has taken too long, or has ended already."""
    done = []
    def killpg(pid, number):
        done.append([pid, number == signal.SIGKILL])
        if is_gone: raise ProcessLookupError()
    child = types.SimpleNamespace(pid=7, wait=lambda: done.append("waited"))
    with changed(os=StandIn(os, killpg=killpg)): requirements._end(child)
    return done

NAMES = {letter: letter * 64 for letter in "abc"}

def remove(ages, held="", stuck=""):
    """Which folders are left of those unused for so many seconds; one is held by another job, one cannot be removed."""
    now, rmdir = 1e9, os.rmdir
    def removing(path, **more):
        if os.path.basename(path) == NAMES.get(stuck): raise OSError(16, "busy")
        return rmdir(path, **more)
    with Folder() as cache:
        for letter, age in ages.items():
            path = os.path.join(cache, NAMES.get(letter, letter))
            os.mkdir(path)
            os.utime(path, (now - age, now - age))
        own = StandIn(os, listdir=lambda path: sorted(os.listdir(path)))
        holder = open(os.path.join(cache, NAMES.get(held, "none") + ".lock"), "a")
        fcntl.flock(holder, fcntl.LOCK_EX)
        os.rmdir = removing
        try:
            with changed(os=own, time=StandIn(time, time=lambda: now)): requirements._remove_unused(cache)
        finally:
            os.rmdir = rmdir
            holder.close()
        return [name[:1] if len(name) == 64 else name for name in sorted(os.listdir(cache)) if "." not in name]

def says(text):
    """What has left this process at once."""
    class Output(io.StringIO):
        left = ""
        def flush(self): self.left = self.getvalue()
    output = Output()
    with contextlib.redirect_stdout(output): requirements._say(text)
    return output.left
`)

describe('what installs requirements ends', () => {
  test.each([
    ['interrupt', 130, []],
    ['failure', 1, ['the requirements could not be installed: no roles']],
    ['system', 1, ['the requirements could not be installed: [Errno 28] No space']],
  ])('without a playbook after an error of the kind %s', async (ending, status, said) => {
    expect(await call('main', ending)).toEqual({ status, said, became: [], defaults: [false, false] })
  })

  test('as ansible-playbook, with the installed parts first and the usual signals', async () => {
    const environment = {
      ANSIBLE_ROLES_PATH: '/installed/roles:/their/roles',
      ANSIBLE_COLLECTIONS_PATH: '/installed/collections:/theirs',
    }
    expect(await call('main', 'well')).toEqual({
      status: null,
      said: [],
      became: ['/play', ['/play', '-v'], environment],
      defaults: [true, true],
    })
  })
})

describe('what counts as the same requirements', () => {
  test.each([
    ['a file that is named by its path', '- src: FOLDER/a.tar.gz', 'a.tar.gz', 2],
    ['a file that is named by its address', "- src: 'file://FOLDER/a.tar.gz'", 'a.tar.gz', 2],
    ['one among others', '[x.y, "FOLDER/a.tar.gz", z]', 'a.tar.gz', 2],
    ['a file that nobody names', '- src: FOLDER/b.tar.gz', 'a.tar.gz', 1],
    ['what has no dot in its name', '- src: plain', 'plain', 1],
  ])('changes with %s, or not', async (_name, text, file, count) => {
    expect(await call('hashes', text, file, 'one', 'another')).toBe(count)
  })

  test('may name a folder', async () => {
    expect(await call('hash_beside', 'a.folder')).toBe(64)
  })
})

describe('a job waits for another one that installs the same', () => {
  test.each([
    [0, 10, { looks: 1, said: 0, slept: [], failure: null }],
    [3, 10, { looks: 4, said: 1, slept: [0.3, 0.3, 0.3], failure: null }],
    [9, 0.5, { looks: 3, said: 1, slept: [0.3, 0.3], failure: 'another job has not installed them in time' }],
    [1, 0, { looks: 1, said: 1, slept: [], failure: 'another job has not installed them in time' }],
  ])('when %d looks are in vain, and at most %d s', async (taken, seconds, expected) => {
    expect(await call('wait', taken, seconds)).toEqual({ alone: true, ...expected })
  })
})

test.each([
  ['roles: []\n', ['role']],
  ['- src: a\n', ['role']],
  ['collections: []\n', ['collection']],
  ['collections: []\nroles: []\n', ['role', 'collection']],
  ['other: []\n', []],
])('it is said what is installed: %j', async (text, kinds) => {
  expect(await call('fill', text)).toEqual([1, true, kinds])
})

test.each([true, false])(
  'what has taken too long is ended with all it started, and collected; gone before: %s',
  async (is) => {
    expect(await call('end', is)).toEqual([[7, true], 'waited'])
  },
)

describe('what is removed', () => {
  const LIMIT = 90 * 24 * 3600
  test.each<[string, Record<string, number>, string, string, string[]]>([
    ['what was not used for more than ninety days', { a: LIMIT + 1, b: LIMIT, c: 0 }, '', '', ['b', 'c']],
    ['nothing that is no hash', { somebody: LIMIT + 1 }, '', '', ['somebody']],
    ['nothing that another job is about to use', { a: LIMIT + 1 }, 'a', '', ['a']],
    ['the rest when one cannot be removed', { a: LIMIT + 1, b: LIMIT + 1 }, '', 'a', ['a']],
  ])('is %s', async (_name, ages, held, stuck, left) => {
    expect(await call('remove', ages, held, stuck)).toEqual(left)
  })
})

test('what is said leaves the process at once, because the process becomes another program', async () => {
  expect(await call('says', 'words')).toBe('[holdfast] words\n')
})
