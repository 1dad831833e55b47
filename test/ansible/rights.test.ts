import { describe, expect, test } from 'vitest'
import { callPython } from './python-calls.js'

/** What is asked of the kernel for a job with a user of its own, and what is done when the kernel refuses. */
const call = callPython(`
import ctypes, io
from holdfast_job import rights

NO_RIGHTS = {"CapInh": "0", "CapPrm": "0", "CapEff": "0", "CapAmb": "0"}

def plain(given): return getattr(given, "value", given.decode() if isinstance(given, bytes) else given)

class Kernel:
    """Notes the calls, and refuses one kind of them."""
    def __init__(self, refused): self.calls, self.refused = [], refused
    def __getattr__(self, name):
        def asked(*given):
            known = [plain(one) for one in given if not isinstance(one, ctypes.Array)]
            self.calls.append([name, *known])
            ctypes.set_errno(1)
            return -1 if name == self.refused else 0
        return asked

def run(what, given, refused=None, left=None):
    kernel, real = Kernel(refused), rights._library
    status = "Name: x\\n" + "".join("%s:\\t%s\\n" % line for line in {**NO_RIGHTS, **(left or {})}.items()) + "CapBnd:\\tff\\n"
    rights._library, rights.open = kernel, lambda path, mode: io.BytesIO(status.encode())
    failure = None
    try: getattr(rights, what)(*given)
    except OSError as error: failure = str(error)
    finally:
        rights._library = real
        del rights.open
    return [kernel.calls, failure]

def error_of_kernel():
    """A real call that the real kernel refuses: nobody may set an option that does not exist."""
    try: rights._prctl(987654, 0)
    except OSError as error: return [error.errno == errno.EINVAL, error.strerror]
`)

describe('the rights of the agent', () => {
  const dropped = [['prctl', 47, 4, 0, 0, 0], ['capset']]

  test('are dropped, also those that a started program would have', async () => {
    expect(await call('run', 'drop_all_rights', [])).toEqual([dropped, null])
  })

  test.each(['CapInh', 'CapPrm', 'CapEff', 'CapAmb'])('are not taken for dropped while one is in %s', async (kind) => {
    const left = { [kind]: '0000000000000080' }
    expect(await call('run', 'drop_all_rights', [], null, left)).toEqual([
      dropped,
      'the rights of the agent are still there',
    ])
  })

  test('that the kernel does not take away are an error', async () => {
    const ofCapset = '[Errno 1] the rights of the agent could not be dropped'
    expect(await call('run', 'drop_all_rights', [], 'capset')).toEqual([dropped, ofCapset])
    const ofPrctl = '[Errno 1] prctl 47: Operation not permitted'
    expect(await call('run', 'drop_all_rights', [], 'prctl')).toEqual([dropped.slice(0, 1), ofPrctl])
  })

  test('are not gained by a started program, or that is an error', async () => {
    const asked = [['prctl', 38, 1, 0, 0, 0]]
    expect(await call('run', 'forbid_more_rights', [])).toEqual([asked, null])
    const failure = '[Errno 1] prctl 38: Operation not permitted'
    expect(await call('run', 'forbid_more_rights', [], 'prctl')).toEqual([asked, failure])
  })

  test('are asked of the kernel as it wants them', async () => {
    expect(await call('error_of_kernel')).toEqual([true, 'prctl 987654: Invalid argument'])
  })
})

describe('the common folders', () => {
  const folders = [{ '/tmp': '/users/job/tmp', '/dev/shm': null }]
  const [own, closed, bound, memory] = [
    ['unshare', 0x0800_0000 | 0x0002_0000],
    ['mount', null, '/', null, 16_384 | (1 << 18), null],
    ['mount', '/users/job/tmp', '/tmp', null, 4096, null],
    ['mount', 'tmpfs', '/dev/shm', 'tmpfs', 6, 'mode=1777'],
  ]

  test('are replaced by those of the user, or by memory, where nobody else sees it', async () => {
    expect(await call('run', 'leave_common_folders', folders)).toEqual([[own, closed, bound, memory], null])
  })

  test('stay when the kernel refuses, and that is an error', async () => {
    const ofUnshare = '[Errno 1] namespaces: Operation not permitted'
    expect(await call('run', 'leave_common_folders', folders, 'unshare')).toEqual([[own], ofUnshare])
    const ofMount = '[Errno 1] mount of /: Operation not permitted'
    expect(await call('run', 'leave_common_folders', folders, 'mount')).toEqual([[own, closed], ofMount])
  })
})
