import { execa } from 'execa'
import { expect, test } from 'vitest'
import { agentFolder, supervisorPython } from './job-folder.js'

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
  const { stdout } = await execa(supervisorPython, args)
  expect(JSON.parse(stdout)).toEqual(expected)
})
