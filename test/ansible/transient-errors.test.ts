import { execa } from 'execa'
import { expect, test } from 'vitest'
import { agentFolder, supervisorPython } from './job-folder.js'
import { askPython } from './python-lines.js'

/** Says for each word whether an action that fails once in this way is called again, in general and at a start. */
const PROGRAM = `
import errno, json, sys
sys.path.insert(0, sys.argv[1])
from holdfast_job import transient_errors as them

them._TRY_AGAIN_AFTER = 0

class Job:
    def is_abort_asked(self):
        return False

def is_tried_again(word, **codes):
    calls = []
    def action():
        calls.append(word)
        if len(calls) == 1:
            raise MemoryError() if word == "memory" else OSError(getattr(errno, word), word)
        return "done"
    try:
        return them.retry_transient(Job(), action, **codes) == "done"
    except OSError:
        return False

words = json.loads(sys.argv[2])
print(json.dumps({w: [is_tried_again(w), is_tried_again(w, codes=them.TRANSIENT_AT_SPAWN)] for w in words}))
`

test('what says something about the host just now is tried again, and what says something about the job is not', async () => {
  const expected = {
    EMFILE: [true, true],
    ENFILE: [true, true],
    ENOMEM: [true, true],
    memory: [true, true],
    EIO: [true, true],
    ESTALE: [true, true],
    ETIMEDOUT: [true, true],
    // Too many processes; and a program that may not be run, which stays so.
    EAGAIN: [false, true],
    EACCES: [true, false],
    ENOENT: [false, false],
    ENOTDIR: [false, false],
    ENOSPC: [false, false],
    EPERM: [false, false],
  }
  const args = ['-I', '-S', '-c', PROGRAM, agentFolder, JSON.stringify(Object.keys(expected))]
  const { stdout, stderr } = await execa(supervisorPython, args)
  expect(JSON.parse(stdout)).toEqual(expected)
  const said = (text: string) => stderr.split('\n').filter((line) => line.includes(text))
  expect(said('waiting:')).toHaveLength(16)
  // Otherwise the agent would go on saying what is waited for.
  expect(said('supervisor: going on')).toHaveLength(16)
})

/** What is said and waited for while an action fails in these ways, one after the other. */
const ask = askPython(`
import errno, os, tempfile
from types import SimpleNamespace as Any
from holdfast_job import transient_errors as them

def answer(question):
    failures, naps = [MemoryError() if one == "memory" else OSError(*one) for one in question["failures"]], []
    def action(value):
        if failures: raise failures.pop(0)
        return value
    them.time = Any(sleep=naps.append)
    with tempfile.TemporaryFile("w+") as log:
        stderr = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            result = them.retry_transient(Any(is_abort_asked=lambda: question.get("aborted", False)), action, "done")
        except OSError as error:
            result = error.errno
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
        log.seek(0)
        return [result, naps, log.read().splitlines()]
`)

const FULL = [24, 'Too many open files', '/job/events.jsonl']

test('what is waited for is said once, with its name where it has one, and that it is over', async () => {
  const over = 'holdfast supervisor: going on'
  expect(await ask({ failures: [] })).toEqual(['done', [], []])
  expect(await ask({ failures: [FULL, FULL, [5, 'Input/output error']] })).toEqual([
    'done',
    [0.5, 0.5, 0.5],
    ['holdfast supervisor: waiting: events.jsonl: Too many open files', over],
  ])
  const unnamed = [5, 'Input/output error']
  expect(await ask({ failures: [unnamed] })).toEqual([
    'done',
    [0.5],
    ['holdfast supervisor: waiting: Input/output error', over],
  ])
  expect(await ask({ failures: ['memory'] })).toEqual([
    'done',
    [0.5],
    ['holdfast supervisor: waiting: MemoryError', over],
  ])
})

test('an abort ends the waiting, and any other error is no reason to wait', async () => {
  expect(await ask({ failures: [FULL], aborted: true })).toEqual([24, [], []])
  const lost = [2, 'No such file']
  expect(await ask({ failures: [lost] })).toEqual([2, [], []])
  const begun = ['holdfast supervisor: waiting: events.jsonl: Too many open files']
  expect(await ask({ failures: [FULL, lost] })).toEqual([2, [0.5], begun])
})
