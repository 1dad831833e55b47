import { describe, expect, test } from 'vitest'
import { callPython } from './python-calls.js'

const call = callPython(`
import fcntl
from holdfast_job import job as them

def paths():
    with Folder() as folder:
        path = folder + "/12-abc-d"
        os.mkdir(path)
        job = them.Job(path)
        said = [job.run_id, job.path("x") == path + "/x", job.is_folder_removed()]
        job.open_folder()
        said.append(job.path("x") == "/proc/self/fd/%d/x" % job.folder_fd)
        said.append(bool(fcntl.fcntl(job.folder_fd, fcntl.F_GETFD) & fcntl.FD_CLOEXEC))
        # A folder that has the number 0 is open, too.
        job.folder_fd, kept = 0, job.folder_fd
        said.append(job.path("x"))
        job.folder_fd = kept
        said.append(job.is_abort_asked())
        os.rename(path, folder + "/moved")
        with open(folder + "/moved/abort.json", "w"): pass
        said += [job.is_abort_asked(), job.is_folder_removed(), job.place("x") == path + "/x"]
        os.unlink(folder + "/moved/abort.json")
        os.rmdir(folder + "/moved")
        said.append(job.is_folder_removed())
        os.close(job.folder_fd)
        return said

def fresh():
    job = them.Job("/x/1-r")
    return [job.folder_fd, job.adopts_orphans, job.ansible_pid, job.secrets, job.isolation, job.started_at]

def unreadable():
    job = them.Job("/x/1-r")
    them.os = StandIn(os, readlink=failing(errno.EACCES))
    try:
        return job.is_folder_removed()
    finally:
        them.os = os

def now(seconds):
    them.time = StandIn(__import__("time"), time=lambda: seconds)
    return them.iso_now()
`)

describe('the folder of a job', () => {
  test('is found by its name until it is open, and then wherever it is moved', async () => {
    const byName = ['abc-d', true, false]
    const open = [true, true, '/proc/self/fd/0/x', false]
    const moved = [true, false, true]
    expect(await call('paths')).toEqual([...byName, ...open, ...moved, true])
  })

  test('is not removed when nobody can say so', async () => {
    expect(await call('unreadable')).toBe(false)
  })

  test('has nothing open and nothing started before it is told to', async () => {
    expect(await call('fresh')).toEqual([-1, false, null, null, null, null])
  })
})

test.each([
  [0, '1970-01-01T00:00:00.000Z'],
  [1_700_000_000.25, '2023-11-14T22:13:20.250Z'],
  [1_700_000_000.9996, '2023-11-14T22:13:20.999Z'],
])('the time %d is written with thousandths, never rounded up', async (seconds, text) => {
  expect(await call('now', seconds)).toBe(text)
})
