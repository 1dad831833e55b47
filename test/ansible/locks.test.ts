import { describe, expect, test } from 'vitest'
import { callPython } from './python-calls.js'

const call = callPython(`
import contextlib, fcntl, io, json

def output_of(action, stdin=""):
    said, kept = io.StringIO(), sys.stdin
    sys.stdin = io.StringIO(stdin)
    try:
        with contextlib.redirect_stdout(said): action()
    finally:
        sys.stdin = kept
    return said.getvalue()

def load():
    """The program runs as soon as it is read."""
    global locks
    import locks

sys.argv = ["locks.py", "test"]
AT_ONCE = output_of(load, "[]")

def at_once(): return AT_ONCE

def taken(answers, count):
    """What is said of so many descriptors when the kernel answers so, and which ones were asked for."""
    asked, left = [], list(answers)
    def flock(descriptor, how):
        assert how == fcntl.LOCK_EX | fcntl.LOCK_NB
        asked.append(descriptor)
        answer = left.pop(0)
        if answer is not None: raise OSError(answer if isinstance(answer, int) else getattr(errno, answer), "x")
    locks.fcntl = StandIn(fcntl, flock=flock)
    return [json.loads(output_of(lambda: locks.main(["locks.py", "take", str(count)]))), asked]

def tested(answers):
    """What is said of files when the kernel answers so; "none": the file is not there."""
    with Folder() as folder:
        paths, by_path = [], {}
        for place, answer in enumerate(answers):
            path = "%s/%d" % (folder, place)
            paths.append(path)
            by_path[path] = answer
            if answer != "none": open(path, "w").close()
        def lockf(descriptor, how, length):
            assert (how, length) == (os.F_TEST, 0)
            answer = by_path[os.readlink("/proc/self/fd/%d" % descriptor)]
            if answer is not None: raise OSError(getattr(errno, answer), "x")
        before = open_files()
        locks.os = StandIn(os, lockf=lockf)
        said = json.loads(output_of(lambda: locks.main(["locks.py", "test"]), json.dumps(paths)))
        return [said, open_files() - before]
`)

test('the answer is a list in JSON on a line, as soon as the program runs', async () => {
  expect(await call('at_once')).toBe('[]\n')
})

describe('locks that are taken', () => {
  test('are those of the descriptors from 3 on, as many as were said', async () => {
    expect(await call('taken', [null, null, null], 2)).toEqual([
      ['taken', 'taken'],
      [3, 4],
    ])
    expect(await call('taken', [], 0)).toEqual([[], []])
  })

  test.each(['EWOULDBLOCK', 'EAGAIN', 'EACCES'])('are not tried behind one that somebody has: %s', async (code) => {
    expect(await call('taken', [null, code, null], 3)).toEqual([
      ['taken', 'held'],
      [3, 4],
    ])
  })

  test('are tried behind one that cannot be had for another reason, which is named', async () => {
    expect(await call('taken', ['ENOLCK', 'EBADF', 99_999, null], 4)).toEqual([
      ['ENOLCK', 'EBADF', '99999', 'taken'],
      [3, 4, 5, 6],
    ])
  })
})

test('of each file is said whether somebody holds a lock on it, and no file stays open', async () => {
  const answers = [null, 'EAGAIN', 'EACCES', 'none', 'ENOLCK', null]
  expect(await call('tested', answers)).toEqual([['free', 'held', 'held', 'ENOENT', 'ENOLCK', 'free'], 0])
})
