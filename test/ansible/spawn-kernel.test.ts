import { describe, expect, test } from 'vitest'
import { callPython } from './python-calls.js'

const call = callPython(`
import ctypes, json
from holdfast_job import spawn

def subreaper(answer):
    """What is asked of the kernel, and what is made of its answer."""
    asked, real = [], ctypes.CDLL
    def prctl(*given):
        asked.append([getattr(one, "value", one) for one in given])
        return answer
    def library(name):
        if answer is None: raise OSError("no library")
        return types.SimpleNamespace(prctl=prctl)
    ctypes.CDLL = library
    try:
        return [spawn._become_subreaper(), asked]
    finally:
        ctypes.CDLL = real

def limit(soft, get=0, set=0):
    """What the limit of locks is set to, and what it was: 5, and 9 for the hard one."""
    asked, real = [], ctypes.CDLL
    def getrlimit(what, limits):
        asked.append(["get", what])
        limits[0], limits[1] = 5, 9
        return get
    def setrlimit(what, limits):
        asked.append(["set", what, *limits])
        return set
    def library(name):
        if get is None: raise OSError("no library")
        return types.SimpleNamespace(getrlimit=getrlimit, setrlimit=setrlimit)
    ctypes.CDLL = library
    try:
        return [spawn._set_lock_limit(soft), asked]
    finally:
        ctypes.CDLL = real

def finds(name, path=None):
    """The program of this name; {} in the path is a folder with a program, a file, and a folder."""
    with Folder() as folder:
        for made, mode in (("one/program", 0o755), ("two/program", 0o755), ("none/program", 0o644)):
            os.makedirs(os.path.dirname(folder + "/" + made), exist_ok=True)
            with open(folder + "/" + made, "w"): pass
            os.chmod(folder + "/" + made, mode)
        os.makedirs(folder + "/dir/program")
        os.chdir(folder + "/one")
        try:
            environment = {} if path is None else {b"PATH": path.replace("{}", folder).encode()}
            return spawn._find_program(name.encode(), environment).decode().replace(folder, "{}")
        except spawn.Refusal as refusal:
            return str(refusal)
        finally:
            os.chdir("/")

def inherited():
    """Which open files a program would have: 0 to 2, and others of ours before and after."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            writer = os.dup2(writer, 100)
            null = os.open("/dev/null", os.O_RDWR)
            for number in (0, 1, 2, 3, 40): os.dup2(null, number, inheritable=True)
            spawn._close_on_exec()
            said = json.dumps([os.get_inheritable(number) for number in (0, 1, 2, 3, 40)])
        except BaseException as error:
            said = json.dumps(repr(error))
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with open(reader) as file: said = json.load(file)
    os.waitpid(pid, 0)
    return said
`)

describe('what the kernel is asked for', () => {
  test.each([
    [0, true],
    [-1, false],
  ])('to give orphans to the supervisor: answer %d', async (answer, expected) => {
    expect(await call('subreaper', answer)).toEqual([expected, [[36, 1, 0, 0, 0]]])
  })

  test('orphans go elsewhere where the kernel cannot be asked', async () => {
    expect(await call('subreaper', null)).toEqual([false, []])
  })

  test.each([
    ['nothing without a mark', [null], [null, []]],
    [
      'the soft limit alone, and what it was is said',
      [123],
      [
        5,
        [
          ['get', 10],
          ['set', 10, 123, 9],
        ],
      ],
    ],
    ['nothing when the limit is not known', [123, -1], [null, [['get', 10]]]],
    [
      'no limit that it does not take',
      [123, 0, -1],
      [
        null,
        [
          ['get', 10],
          ['set', 10, 123, 9],
        ],
      ],
    ],
    ['nothing where it cannot be asked', [123, null], [null, []]],
  ])('as a mark of the job: %s', async (_what, given, expected) => {
    expect(await call('limit', ...given)).toEqual(expected)
  })

  test('open files of the supervisor stay its own, but for 0 to 2', async () => {
    expect(await call('inherited')).toEqual([true, true, true, false, false])
  })
})

describe('a program that is named', () => {
  test.each([
    ['with a folder is taken as it is', '/no/program', '{}/one', '/no/program'],
    ['is the first in PATH', 'program', '{}/three:{}/two:{}/one', '{}/two/program'],
    ['is no folder and can be run', 'program', '{}/dir:{}/none:{}/one', '{}/one/program'],
    ['is in the folder where it is when PATH has an empty part', 'program', '/none::{}/two', './program'],
    ['is in the usual folders without a PATH', 'env', null, '/usr/bin/env'],
    [
      'and is nowhere is refused',
      'program',
      '{}/dir:{}/none',
      'program could not be started: it was not found in PATH',
    ],
  ])('%s', async (_what, name, path, expected) => {
    expect(await call('finds', name, path)).toBe(expected)
  })
})
