import { describe, expect, test } from 'vitest'
import { callPython } from './python-calls.js'

const call = callPython(`
import signal
from holdfast_job import process_tree, users

ME = os.getpid()

def tree_of(processes, marked=(), user=None, of_user=()):
    """Processes are [pid, parent, group, state]; 0 stands for the supervisor itself."""
    real = lambda pid: ME if pid == 0 else pid
    everyone = {real(pid): (real(parent), group, state.encode(), "p%d" % pid) for pid, parent, group, state in processes}
    process_tree._all_processes = lambda: everyone
    environments = {real(pid): b"A=1\\0HOLDFAST_JOB_MARKER=" + mark.encode() + b"\\0B=2" for pid, mark in marked}
    process_tree._read = lambda path: environments.get(int(path.split("/")[2]))
    users.is_of = lambda pid, uid: uid == 7 and pid in of_user
    return process_tree.ProcessTree("mark", user)

def found(processes, marked=(), of_user=None):
    user = None if of_user is None else types.SimpleNamespace(uid=7)
    return [process.pid for process in tree_of(processes, marked, user, of_user or ()).find()]

def signalled(processes, number, refuses=False, has_user=True):
    calls = []
    def record(kind):
        def do(pid, number):
            calls.append([kind, pid, number])
            if refuses: raise PermissionError()
        return do
    user = types.SimpleNamespace(uid=7, kill_all=lambda: calls.append(["user"])) if has_user else None
    tree = tree_of(processes, user=user)
    process_tree.os = StandIn(os, kill=record("one"), killpg=record("group"))
    members = tree.signal(number)
    process_tree.os = os
    return [calls, [str(process) for process in members]]

def children(answers):
    left = list(answers)
    def waitpid(pid, options):
        assert (pid, options) == (-1, os.WNOHANG)
        pid = left.pop(0)
        if pid is None: raise ChildProcessError()
        return pid, 0
    process_tree.os = StandIn(os, waitpid=waitpid)
    try:
        return [process_tree.has_children(), left]
    finally:
        process_tree.os = os
`)

/** Functions of the module that the other tests replace. */
const real = callPython(`
from holdfast_job import process_tree

def state(letter, threads):
    tail = " %s %s" % (letter, " ".join(["1"] * 16)) + " %d 0 0" % threads
    return process_tree._state_of(tail.encode(), letter.encode()).decode()

def read(size):
    with Folder() as folder:
        with open(folder + "/file", "wb") as file: file.write(bytes(range(256)) * (size // 256) + b"x" * (size % 256))
        before = open_files()
        content = process_tree._read(folder + "/file")
        with open(folder + "/file", "rb") as file: same = file.read() == content
        return [same, process_tree._read(folder + "/none"), process_tree._read(folder), open_files() - before]

def everyone():
    stats = {
        "/proc/5/stat": b"5 (a) (b) S 1 4 5 0 -1 " + b"0 " * 40,
        "/proc/6/stat": b"6 (gone\\xff) Z 5 4 5 0 -1 " + b"0 " * 8 + b"0 0 0 0 1 0" + b" 0" * 20,
    }
    process_tree.os = StandIn(os, listdir=lambda path: ["5", "self", "6", "7", "5a"])
    process_tree._read, kept = stats.get, process_tree._read
    try:
        return sorted([pid, *entry[:2], entry[2].decode(), entry[3]] for pid, entry in process_tree._all_processes().items())
    finally:
        process_tree.os, process_tree._read = os, kept
`)

describe('the processes of a job', () => {
  test.each([
    [
      'children and their children',
      [
        [0, 1, 1, 'S'],
        [10, 0, 10, 'S'],
        [11, 10, 10, 'R'],
        [12, 11, 12, 'D'],
      ],
      [],
      [10, 11, 12],
    ],
    [
      'not those of others',
      [
        [0, 1, 1, 'S'],
        [10, 1, 10, 'S'],
        [11, 10, 10, 'S'],
      ],
      [],
      [],
    ],
    [
      'not the dead, but what they have started',
      [
        [10, 0, 10, 'Z'],
        [11, 10, 10, 'S'],
        [12, 0, 12, 'X'],
      ],
      [],
      [11],
    ],
    [
      'those with the mark, and their children',
      [
        [0, 1, 1, 'S'],
        [20, 1, 20, 'S'],
        [21, 20, 20, 'S'],
      ],
      [[20, 'mark']],
      [20, 21],
    ],
    [
      'a child with the mark once',
      [
        [10, 0, 10, 'S'],
        [11, 10, 10, 'S'],
      ],
      [
        [10, 'mark'],
        [11, 'mark'],
      ],
      [10, 11],
    ],
    [
      'not those with a longer mark',
      [
        [0, 1, 1, 'S'],
        [20, 1, 20, 'S'],
      ],
      [[20, 'mark2']],
      [],
    ],
    [
      'not the supervisor, though it has the mark',
      [
        [0, 1, 1, 'S'],
        [10, 0, 10, 'S'],
      ],
      [[0, 'mark']],
      [10],
    ],
    [
      'not the supervisor below a marked process',
      [
        [20, 1, 1, 'S'],
        [0, 20, 1, 'S'],
      ],
      [[20, 'mark']],
      [20],
    ],
  ])('are %s', async (_what, processes, marked, expected) => {
    expect(await call('found', processes, marked)).toEqual(expected)
  })

  test('of the user of the job are found by the user', async () => {
    const processes = [
      [0, 1, 1, 'S'],
      [30, 1, 30, 'S'],
      [31, 30, 30, 'S'],
      [32, 1, 32, 'S'],
    ]
    expect(await call('found', processes, [], [30])).toEqual([30, 31])
    expect(await call('found', processes, [], [])).toEqual([])
    expect(await call('found', processes, [])).toEqual([])
  })
})

describe('a signal to a job', () => {
  const processes = [
    [0, 1, 1, 'S'],
    // A group that belongs to the job alone is signalled once.
    [10, 0, 10, 'S'],
    [11, 10, 10, 'S'],
    // Others live in this group.
    [12, 10, 50, 'S'],
    [13, 10, 50, 'S'],
    [50, 1, 50, 'S'],
    // In these two only a dead one of the others is left.
    [14, 10, 60, 'S'],
    [60, 1, 60, 'Z'],
    [15, 10, 70, 'S'],
    [70, 1, 70, 'X'],
  ]
  const names = ['10 (p10)', '11 (p11)', '12 (p12)', '13 (p13)', '14 (p14)', '15 (p15)']
  const calls = (number: number) => [
    ['group', 10, number],
    ['one', 12, number],
    ['one', 13, number],
    ['group', 60, number],
    ['group', 70, number],
  ]

  test('goes to whole groups of the job, and to single processes where others are in the group', async () => {
    expect(await call('signalled', processes, 15)).toEqual([calls(15), names])
  })

  test('goes on when one of them cannot be signalled', async () => {
    expect(await call('signalled', processes, 2, true)).toEqual([calls(2), names])
  })

  test('that kills also kills all of the user of the job', async () => {
    expect(await call('signalled', processes, 9)).toEqual([[...calls(9), ['user']], names])
    expect(await call('signalled', processes, 9, false, false)).toEqual([calls(9), names])
  })
})

describe('what the kernel says', () => {
  test.each([
    ['Z', 1, 'Z'],
    ['Z', 2, 'S'],
    ['S', 1, 'S'],
    ['X', 2, 'X'],
  ])('state %s with %d threads means %s', async (letter, threads, expected) => {
    expect(await real('state', letter, threads)).toBe(expected)
  })

  test.each([0, 100, 65_535, 65_536, 65_537, 200_000])('is read whole: %d bytes', async (size) => {
    // A file that is not there, and one that cannot be read: nothing. No file stays open.
    expect(await real('read', size)).toEqual([true, null, null, 0])
  })

  test('about all processes is read from its table, without those that are gone meanwhile', async () => {
    expect(await real('everyone')).toEqual([
      [5, 1, 4, 'S', 'a) (b'],
      [6, 5, 4, 'Z', 'gone\uFFFD'],
    ])
  })

  test.each([
    ['one lives', [0, 5], [true, [5]]],
    ['two have ended and one lives', [4, 5, 0, 6], [true, [6]]],
    ['one has ended and none is left', [4, null, 6], [false, [6]]],
    ['there was none', [null, 6], [false, [6]]],
  ])('about children: %s', async (_what, answers, expected) => {
    expect(await call('children', answers)).toEqual(expected)
  })
})
