import { describe, expect, test } from 'vitest'
import { callPython } from './python-calls.js'

const call = callPython(`
import fcntl, json, subprocess
from holdfast_job import started_record, transient_errors
from holdfast_job.job import Job

ACTIONS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "EPERM": errno.EPERM, "EEXIST": errno.EEXIST}

def is_held(path):
    """Whether another process sees a lock on the file."""
    code = "import os, sys; os.lockf(os.open(sys.argv[1], os.O_RDONLY), os.F_TEST, 0)"
    return subprocess.run([sys.executable, "-c", code, path], stderr=subprocess.DEVNULL).returncode != 0

def claim(faults=(), exists=False, times=1):
    """Claims a start with some functions of os that fail so often, and says what is there afterwards."""
    started_record.os, transient_errors.time = os, Clock()
    transient_errors.complain = lambda text: None
    with Folder() as folder:
        job = Job(folder)
        job.open_folder()
        if exists:
            with open(folder + "/started.json", "w") as file: file.write("before")
        before = open_files()
        calls, own, left = [], {}, {name: times for name, _ in faults}
        def watch(name, code):
            real = getattr(os, name)
            def do(*given, **more):
                calls.append(name)
                if code is not None and left[name] > 0:
                    left[name] -= 1
                    if code == "short": return real(given[0], given[1][:5])
                    if code == "made": real(*given, **more)
                    raise OSError(ACTIONS.get(code, errno.EEXIST), os.strerror(ACTIONS.get(code, errno.EEXIST)))
                return real(*given, **more)
            return do
        for name in ("write", "fsync", "link", "unlink", "lockf"): own[name] = watch(name, dict(faults).get(name))
        started_record.os = StandIn(os, **own)
        error = None
        try:
            started_record.claim_start(job)
        except OSError as failed:
            error = errno.errorcode[failed.errno]
        started_record.os = os
        said = {"error": error, "calls": calls, "files": sorted(os.listdir(folder)), "open": open_files() - before}
        if os.path.exists(folder + "/started.json"):
            with open(folder + "/started.json") as file: text = file.read()
            if text.endswith("\\n"):
                record = json.loads(text)
                said["record"] = {
                    "pid": record["pid"] == os.getpid(),
                    "inode": record["inode"] == str(os.stat(folder).st_ino),
                    "locked": record["locked"],
                    "pid_namespace": record.get("pid_namespace") == os.readlink("/proc/self/ns/pid"),
                }
            else: said["record"] = text
        os.close(job.folder_fd)
        return said

def lock_lives():
    started_record.os = os
    with Folder() as folder:
        job = Job(folder)
        job.open_folder()
        started_record.claim_start(job)
        return [is_held(folder + "/started.json"), is_held(__import__("tempfile").mkstemp(dir=folder)[1])]

def without_namespaces():
    started_record.os = StandIn(os, readlink=failing(errno.ENOENT))
    try:
        return started_record._pid_namespace()
    finally:
        started_record.os = os
`)

const RECORD = { pid: true, inode: true, locked: true, pid_namespace: true }

describe('the record of a start', () => {
  test('is written whole, synced, and has its name by a link; it stays open', async () => {
    expect(await call('claim')).toEqual({
      error: null,
      calls: ['lockf', 'write', 'fsync', 'link', 'unlink'],
      files: ['started.json'],
      open: 1,
      record: RECORD,
    })
  })

  test('is locked as long as the supervisor lives', async () => {
    expect(await call('lock_lives')).toEqual([true, false])
  })

  test('says that it is not locked where there are no locks', async () => {
    expect(await call('claim', [['lockf', 'EPERM']])).toMatchObject({
      error: null,
      record: { ...RECORD, locked: false },
    })
  })

  test('names no PID namespace where there are none', async () => {
    expect(await call('without_namespaces')).toBe('')
  })

  test.each([
    ['the record of another start is there', [], true, 'EEXIST', ['started.json']],
    ['the disk is full', [['fsync', 'ENOSPC']], false, 'ENOSPC', []],
    ['the disk takes a part only', [['write', 'short']], false, 'ENOSPC', []],
    ['the record may not be written', [['write', 'EPERM']], false, 'EPERM', []],
    ['no link can be made', [['link', 'EPERM']], false, 'EPERM', []],
  ])('leaves nothing behind, and no open file, when %s', async (_what, faults, exists, error, files) => {
    expect(await call('claim', faults, exists)).toMatchObject({ error, files, open: 0 })
  })

  test('of another start stays as it is', async () => {
    expect(await call('claim', [], true)).toMatchObject({ record: 'before' })
  })

  test.each([
    ['written', 'fsync'],
    ['linked', 'link'],
  ])('is %s later when the disk fails for a while, and no open file is left over', async (_what, name) => {
    const claimed = await call('claim', [[name, 'EIO']], false, 3)
    expect(claimed).toMatchObject({ error: null, files: ['started.json'], open: 1, record: RECORD })
  })

  test('counts when a network file system has made the link but said that it was there', async () => {
    expect(await call('claim', [['link', 'made']])).toMatchObject({
      error: null,
      files: ['started.json'],
      record: RECORD,
    })
  })
})
