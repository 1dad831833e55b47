import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { callPython } from './python-calls.js'

const call = callPython(`
import json
from holdfast_job import output_log

class Disk:
    """As the module os, on a disk with little room that takes few bytes at once."""
    def __init__(self): self.room, self.piece, self.tries, self.synced, self.code = 10**9, 10**9, 0, 0, errno.ENOSPC
    def __getattr__(self, name): return getattr(os, name)
    def write(self, file, data):
        self.tries += 1
        if self.tries > 1000: raise KeyboardInterrupt("writes for ever")
        if not self.room: raise OSError(self.code, os.strerror(self.code))
        count = os.write(file, data[: min(self.room, self.piece)])
        self.room -= count
        return count
    def fsync(self, file):
        self.synced += 1
        if self.code == errno.EIO: raise OSError(errno.EIO, os.strerror(errno.EIO))
        os.fsync(file)

class Holding:
    """Holds the last bytes back until the end, as a filter does that looks for secrets."""
    held = b""
    def feed(self, piece):
        all, self.held = self.held + piece, piece[-2:]
        return all[:-2]
    def finish(self): return self.held

def log(limit, steps, mask="none"):
    """What is in the log after each step, as it is said at its end."""
    disk, clock = Disk(), Clock()
    output_log.os, output_log.time = disk, clock
    with Folder() as folder:
        path = folder + "/output.log"
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        output = output_log.OutputLog(file, limit, output_log.PassThrough() if mask == "none" else Holding())
        sealed = None
        for what, *value in steps:
            if what == "feed": output.feed(value[0].encode())
            if what == "room": disk.room = value[0]
            if what == "piece": disk.piece = value[0]
            if what == "pass": clock.now += value[0]
            if what == "broken": disk.code = errno.EIO
            if what == "finish": output.finish()
            if what == "seal": sealed = output.seal()
            if what == "foreign":
                with open(path, "a") as other: other.write(value[0])
        os.close(file)
        with open(path) as content: text = content.read()
        output_log.os = os
        return {"text": text, "length": output.length, "dropped": output.dropped, "tries": disk.tries, "synced": disk.synced, "sealed": sealed}

def hash_of(size):
    with Folder() as folder:
        with open(folder + "/file", "wb") as file: file.write(b"ab" * (size // 2))
        before = open_files()
        said = output_log.hash_of_file(folder + "/file")
        return [*said, open_files() - before]
`)

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const LIMIT_NOTICE = (limit: number) =>
  `[holdfast] The output limit of ${limit} bytes is reached: further output is not kept. The playbook goes on.\n`
const LOST = (bytes: number) => `[holdfast] ${bytes} bytes of output lost: No space left on device\n`

describe('the log of the output', () => {
  test('is sealed with length and hash of what is in the file, synced', async () => {
    const steps = [['feed', 'one\n'], ['feed', ''], ['feed', 'two'], ['finish'], ['seal']]
    expect(await call('log', 100, steps)).toEqual({
      text: 'one\ntwo',
      length: 7,
      dropped: 0,
      tries: 2,
      synced: 1,
      sealed: [7, sha256('one\ntwo'), null],
    })
  })

  test('is whole when the disk takes only a few bytes at once', async () => {
    const steps = [['piece', 3], ['feed', 'abcdefgh'], ['feed', 'ij\n'], ['finish'], ['seal']]
    const text = 'abcdefghij\n'
    expect(await call('log', 100, steps)).toMatchObject({ text, tries: 4, sealed: [11, sha256(text), null] })
  })

  test('has at its end what the filter held back', async () => {
    const steps = [['feed', 'abcd'], ['feed', 'ef'], ['finish'], ['seal']]
    expect(await call('log', 100, steps, 'holding')).toMatchObject({ text: 'abcdef', length: 6 })
  })

  test('is read again when another program has written into it, and that is said', async () => {
    const steps = [['feed', 'mine\n'], ['foreign', 'not mine\n'], ['finish'], ['seal']]
    const sealed = [14, sha256('mine\nnot mine\n'), 'output.log was changed by somebody else']
    expect(await call('log', 100, steps)).toMatchObject({ sealed })
  })

  test('says that it could not be synced, also when it was changed', async () => {
    const problem = 'output.log could not be synced to the disk: Input/output error'
    const steps = [['broken'], ['feed', 'mine\n'], ['finish'], ['seal']]
    expect(await call('log', 100, steps)).toMatchObject({ sealed: [5, sha256('mine\n'), problem] })
    const changed = [['broken'], ['feed', 'mine\n'], ['foreign', 'x'], ['finish'], ['seal']]
    expect(await call('log', 100, changed)).toMatchObject({ sealed: [6, sha256('mine\nx'), problem] })
  })
})

describe('the limit of the output', () => {
  test.each([
    ['one byte below it', ['aaaa', 'bbbbb'], 'aaaabbbbb', 0],
    ['at the very first byte', ['a'.repeat(11)], `${'a'.repeat(10)}\n${LIMIT_NOTICE(10)}`, 1],
    ['exactly at it', ['aaaa', 'bbbbbb'], 'aaaabbbbbb', 0],
    ['one byte over it', ['aaaa', 'bbbbbbb'], `aaaabbbbbb\n${LIMIT_NOTICE(10)}`, 1],
    ['at the end of a line', ['aaaabbbbb\n', 'c'], `aaaabbbbb\n${LIMIT_NOTICE(10)}`, 1],
    ['far over it, with one notice', ['aaaa', 'b'.repeat(20), 'c', 'd'], `aaaabbbbbb\n${LIMIT_NOTICE(10)}`, 16],
  ])('%s', async (_what, pieces, text, dropped) => {
    const steps = [...pieces.map((piece) => ['feed', piece]), ['finish'], ['seal']]
    const sealed = [text.length, sha256(text), null]
    expect(await call('log', 10, steps)).toMatchObject({ text, dropped, length: text.length, sealed })
  })

  test('is told as soon as it is reached, not only at the end', async () => {
    const text = `${'a'.repeat(10)}\n${LIMIT_NOTICE(10)}`
    expect(await call('log', 10, [['feed', 'a'.repeat(11)]])).toMatchObject({ text })
  })

  test('of nothing begins the log with the notice', async () => {
    expect(await call('log', 0, [['feed', 'a'], ['finish']])).toMatchObject({ text: LIMIT_NOTICE(0), dropped: 1 })
  })

  test('is told later when the disk is full just then', async () => {
    const full = [
      ['room', 10],
      ['feed', 'a'.repeat(12)],
      ['feed', 'b'],
    ]
    expect(await call('log', 10, full)).toMatchObject({ text: 'a'.repeat(10), dropped: 3 })
    const later = [...full, ['room', 1000], ['pass', 0.25], ['feed', 'c']]
    const text = `${'a'.repeat(10)}\n${LIMIT_NOTICE(10)}`
    expect(await call('log', 10, later)).toMatchObject({ text, dropped: 4 })
    expect(await call('log', 10, [...later, ['feed', 'd'], ['finish']])).toMatchObject({ text, dropped: 5 })
  })
})

describe('a full disk', () => {
  const full = [
    ['room', 3],
    ['feed', 'aaaaa'],
  ]

  test('loses only what did not fit, and the log says so before the next bytes', async () => {
    expect(await call('log', 100, full)).toMatchObject({ text: 'aaa', length: 3, dropped: 2 })
    const text = `aaa\n${LOST(2)}bbb`
    const steps = [...full, ['room', 1000], ['feed', 'bbb'], ['finish'], ['seal']]
    const sealed = [text.length, sha256(text), null]
    expect(await call('log', 100, steps)).toMatchObject({ text, dropped: 2, sealed })
  })

  test('is tried again a quarter of a second later, not at each piece', async () => {
    const tried = [...full, ['feed', 'b']]
    expect(await call('log', 100, tried)).toMatchObject({ text: 'aaa', dropped: 3, tries: 3 })
    const early = [...tried, ['room', 1000], ['pass', 0.2], ['feed', 'c']]
    expect(await call('log', 100, early)).toMatchObject({ text: 'aaa', dropped: 4, tries: 3 })
    const due = [...tried, ['room', 1000], ['pass', 0.25], ['feed', 'c\n']]
    expect(await call('log', 100, due)).toMatchObject({ text: `aaa\n${LOST(3)}c\n`, dropped: 3, tries: 5 })
  })

  test('is tried once more at the end, whenever that is', async () => {
    const steps = [...full, ['feed', 'b'], ['room', 1000], ['finish'], ['seal']]
    const text = `aaa\n${LOST(3)}`
    expect(await call('log', 100, steps)).toMatchObject({ text, sealed: [text.length, sha256(text), null] })
  })

  test('that takes half of a notice gets a whole one on a line of its own', async () => {
    const steps = [...full, ['room', 8], ['feed', 'b'], ['room', 1000], ['pass', 1], ['feed', 'c'], ['finish']]
    expect(await call('log', 1000, steps)).toMatchObject({ text: `aaa\n[holdfa\n${LOST(3)}c`, dropped: 3 })
  })

  test('that fills up again is told again', async () => {
    const again = [...full, ['room', 67], ['feed', 'bbb'], ['room', 1000], ['feed', 'c'], ['finish']]
    const first = `aaa\n${LOST(2)}`
    const text = `${first}${'bbb'.slice(0, 67 - first.length + 3)}`
    const rest = 3 - (text.length - first.length)
    const notice = rest > 0 ? `\n${LOST(rest)}` : ''
    expect(await call('log', 1000, again)).toMatchObject({ text: `${text}${notice}c`, dropped: 2 + rest })
  })
})

test.each([0, 2, 2 ** 20 - 2, 2 ** 20, 2 ** 20 + 2, 3 * 2 ** 20])(
  'a file of %d bytes is hashed whole',
  async (size) => {
    expect(await call('hash_of', size)).toEqual([size, sha256('ab'.repeat(size / 2)), 0])
  },
)
