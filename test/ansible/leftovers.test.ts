import { describe, expect, test } from 'vitest'
import { callPython } from './python-calls.js'

const call = callPython(`
import io, json
from holdfast_job import leftovers

OTHER = 200999  # a uid that nobody has

def shown(folder):
    """All that is in a folder: folders end with a slash, links show where they lead."""
    said = []
    for path, folders, files in os.walk(folder):
        for name in folders + files:
            whole = os.path.join(path, name)
            text = whole[len(folder) + 1:]
            if os.path.islink(whole): said.append(text + " -> " + os.readlink(whole))
            else: said.append("%s%s %o" % (text, "/" if os.path.isdir(whole) else "", os.stat(whole).st_mode & 0o777))
    return sorted(said)

def make(folder, paths):
    for path in paths:
        if path.endswith("/"): os.makedirs(folder + "/" + path)
        elif " -> " in path: os.symlink(path.split(" -> ")[1], folder + "/" + path.split(" -> ")[0])
        else: open(folder + "/" + path, "w").close()

def watched(**own):
    """The module os for leftovers. Whoever looks into folders again and again is stopped."""
    looks = [0]
    def listdir(path):
        looks[0] += 1
        if looks[0] > 200: raise KeyboardInterrupt("looks for ever")
        return os.listdir(path)
    leftovers.os = StandIn(os, listdir=listdir, **own)

def as_plain_user(action):
    """Does it as a user without rights: folders that are shut are shut for it."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setresgid(OTHER, OTHER, OTHER)
                os.setresuid(OTHER, OTHER, OTHER)
            os.umask(0o022)
            said = action()
        except BaseException as error:
            said = "%s: %s" % (type(error).__name__, error)
        os.write(writer, json.dumps(said).encode())
        os._exit(0)
    os.close(writer)
    with open(reader) as file: said = json.load(file)
    os.waitpid(pid, 0)
    return said

def handed_over(paths, given):
    with Folder() as folder:
        make(folder, paths)
        calls = []
        def chown(path, uid, gid, dir_fd=None, follow_symlinks=True):
            place = path if dir_fd is None else os.readlink("/proc/self/fd/%d" % dir_fd) + "/" + path
            calls.append([place[len(folder) + 1:], uid, gid, follow_symlinks])
        watched(chown=chown)
        leftovers.hand_over(folder + "/" + given, 5, 6)
        return calls

def copied():
    with Folder() as folder:
        one, other = folder + "/one", folder + "/other"
        make(folder, ["one/", "one/sub/", "one/sub/deep", "one/link -> sub", "one/lost -> nowhere", "other/"])
        for name, mode in (("run", 0o755), ("read", 0o644), ("group", 0o654)):
            with open(one + "/" + name, "wb") as file: file.write(b"ab" * 600_000)
            os.chmod(one + "/" + name, mode)
        os.mkfifo(one + "/fifo")
        os.chmod(one + "/sub", 0o755)
        watched()
        leftovers.copy_tree(one, other)
        with open(one + "/run", "rb") as source, open(other + "/run", "rb") as copy: same = source.read() == copy.read()
        return [same, shown(other)]

def emptied(how):
    def action():
        with Folder() as folder:
            make(folder, ["top/", "top/a/", "top/a/b/", "top/a/b/c/", "top/shut/", "top/shut/in/", "keep"])
            make(folder, ["top/file", "top/a/b/c/deep", "top/shut/in/file", "top/link -> ../keep", "top/a/up -> ../.."])
            for path in ("top/shut/in", "top/shut"): os.chmod(folder + "/" + path, 0)
            before = open_files()
            watched()
            if how == "empty": leftovers.empty_folder(folder + "/top")
            if how == "remove":
                leftovers.remove_folder(folder + "/top")
                leftovers.remove_folder(folder + "/gone")
            return [shown(folder), open_files() - before]
    return as_plain_user(action)

def removed_all():
    """A shut home, and what the user has left in an open folder."""
    def action():
        with Folder() as folder:
            make(folder, ["home/", "home/in/", "home/in/file", "open/", "open/own/", "open/own/file", "open/plain", "open/link -> nowhere"])
            os.chmod(folder + "/open/own", 0)
            os.chmod(folder + "/home", 0)
            watched()
            queues = []
            leftovers.OPEN_FOLDERS, leftovers._remove_queues = (folder + "/none", folder + "/open"), queues.append
            leftovers.remove_all(types.SimpleNamespace(uid=os.getuid()), [folder + "/home", folder + "/none"])
            return [shown(folder), queues == [os.getuid()]]
    return as_plain_user(action)

def removed_in_open(paths, foreign, shut=()):
    """What belongs to OTHER in an open folder; needs root."""
    with Folder() as folder:
        make(folder, paths)
        for path, folders, files in os.walk(folder):
            for name in folders + files:
                whole = os.path.join(path, name)
                place = whole[len(folder) + 1:]
                os.chown(whole, *((0, 0) if place in foreign else (OTHER, OTHER)), follow_symlinks=False)
                if name in folders and not os.path.islink(whole): os.chmod(whole, 0o755 if place in shut else 0o777)
        watched()
        leftovers._remove_own_in(folder, OTHER, 6)
        return [line.split(" ")[0] for line in shown(folder)]

TABLES = {
    "shm": "key shmid perms cuid uid cgid\\n0 11 600 7 9 9\\n0 12 600 9 7 9\\n0 13 600 70 9 7\\n",
    "sem": "key semid perms nsems uid gid cuid\\n0 21 600 1 7 9 9\\n0 22 600 7 9 9 9\\n0 23 600 1 9 9 7\\n",
    "msg": "key msqid perms cbytes uid cuid\\n0 31 600 7 9 9\\n0 32 600 7 7 7\\n",
}

def queues(kinds, refused=None):
    """Removes the queues of the user 7; the kernel has some kinds only."""
    calls = []
    def call_of(kind):
        def remove(*arguments):
            calls.append([kind, *arguments])
            return -1 if arguments[0] == refused else 0
        return remove
    def opened(path):
        kind = path.rsplit("/", 1)[1]
        if kind not in kinds: raise FileNotFoundError()
        return io.StringIO(TABLES[kind])
    kept = leftovers._library
    leftovers._library = types.SimpleNamespace(shmctl=call_of("shm"), semctl=call_of("sem"), msgctl=call_of("msg"))
    leftovers.open = opened
    try:
        leftovers._remove_queues(7)
        return calls
    except OSError as error:
        return [calls, error.strerror]
    finally:
        leftovers._library = kept
        del leftovers.open

`)

describe('files that are given to a user', () => {
  test('are all of a folder, the deepest first, and links are given themselves', async () => {
    const paths = ['a/', 'a/b/', 'a/b/file', 'a/link -> b', 'beside']
    const given = (await call('handed_over', paths, 'a')) as [string, number, number, boolean][]
    expect(given.map(([path]) => path).slice(0, 1)).toEqual(['a/b/file'])
    expect(given.map(([path]) => path).toSorted()).toEqual(['a', 'a/b', 'a/b/file', 'a/link'])
    expect(given.at(-1)).toEqual(['a', 5, 6, false])
    for (const [, ...how] of given) expect(how).toEqual([5, 6, false])
  })

  test.each([
    ['a file', 'file'],
    ['a link to a folder', 'link'],
  ])('may be %s alone', async (_what, given) => {
    expect(await call('handed_over', ['a/', 'a/x', 'file', 'link -> a'], given)).toEqual([[given, 5, 6, false]])
  })

  test('are copied for the owner alone: folders, links, and files with the right to run them', async () => {
    const content = ['group 600', 'link -> sub', 'lost -> nowhere', 'read 600', 'run 700', 'sub/ 700', 'sub/deep 600']
    expect(await call('copied')).toEqual([true, content])
  })
})

describe('what a job has left', () => {
  test('in a folder is removed, however deep and shut it is, and no link is followed', async () => {
    expect(await call('emptied', 'empty')).toEqual([['keep 644', 'top/ 755'], 0])
  })

  test('is removed with its folder, and a folder that is gone is no error', async () => {
    expect(await call('emptied', 'remove')).toEqual([['keep 644'], 0])
  })

  test('of its user is removed from its folders and from those that are open to all', async () => {
    expect(await call('removed_all')).toEqual([['home/ 700', 'open/ 755'], true])
  })
})

describe.skipIf(process.getuid?.() !== 0)('in a folder that is open to all', () => {
  test('files, links and folders of the user go, those of others stay', async () => {
    const paths = [
      'own',
      'theirs',
      'dir/',
      'dir/x',
      'their-dir/',
      'own-link -> theirs',
      'their-link -> own',
      'lost -> nowhere',
    ]
    const foreign = ['theirs', 'their-dir', 'their-link']
    expect(await call('removed_in_open', paths, foreign)).toEqual(['their-dir/', 'their-link', 'theirs'])
  })

  test('folders of others are looked into when they are open, too', async () => {
    const paths = ['open/', 'open/own', 'shut/', 'shut/own', 'link -> shut']
    const left = await call('removed_in_open', paths, ['open', 'shut', 'link'], ['shut'])
    expect(left).toEqual(['link', 'open/', 'shut/', 'shut/own'])
  })
})

describe('queues of System V', () => {
  test('of each kind are removed when the user owns or has made them', async () => {
    expect(await call('queues', ['shm', 'sem', 'msg'])).toEqual([
      ['shm', 11, 0, null],
      ['shm', 12, 0, null],
      ['sem', 21, 0, 0],
      ['sem', 23, 0, 0],
      ['msg', 32, 0, null],
    ])
  })

  test('of kinds that the kernel does not have are no error', async () => {
    expect(await call('queues', [])).toEqual([])
    expect(await call('queues', ['msg'])).toEqual([['msg', 32, 0, null]])
  })
})
