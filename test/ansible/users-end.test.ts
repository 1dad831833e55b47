import { once } from 'node:events'
import { execa } from 'execa'
import { expect, onTestFinished, test } from 'vitest'
import { nothingRunsOf, processesOfUsers } from '../agent/isolated-setting.js'
import { FIRST_JOB_USER } from '../support/job-users.js'
import { waitFor } from '../support/wait.js'
import { agentFolder, supervisorPython } from './job-folder.js'

const UID = FIRST_JOB_USER + 30

/** Processes that make as many others as they may, all the time. */
const RUNAWAY = `
import os, resource
resource.setrlimit(resource.RLIMIT_NPROC, (40, 40))
os.setgid(${UID}); os.setuid(${UID}); os.setsid()
if os.fork():
    os._exit(0)
while True:
    try:
        os.fork()
    except OSError:
        pass
`

/**
 * Processes that are gone as soon as they have a child. Whoever looks for them comes too late: one that is in the list of
 * the kernel has ended before anybody reads whose it was. The first process, which is root's, takes the ended ones away.
 */
const FLEETING = `
import ctypes, os
PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
if os.fork() == 0:
    os.setgid(${UID}); os.setuid(${UID}); os.setsid()
    print("begun", flush=True)
    while True:
        if os.fork():
            os._exit(0)
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
`

const END_ALL = `
import sys
sys.path.insert(0, sys.argv[1])
from holdfast_job import users
# Whether a look is too late depends on how busy the machine is: in a test it can be late each time.
if "never seen" in sys.argv:
    users.processes_of = lambda uid: []
print(users.JobUser({"uid": ${UID}, "gid": ${UID}, "name": "runaway", "groups": []}, "/nowhere").end_all())
`

test('the end of all processes of a user also ends those that fork all the time', async () => {
  const runaway = execa(supervisorPython, ['-c', RUNAWAY], { stdio: 'ignore' })
  onTestFinished(async () => {
    const end = `import os; os.setgid(${UID}); os.setuid(${UID}); os.kill(-1, 9)`
    await execa(supervisorPython, ['-c', end], { reject: false })
    await nothingRunsOf([UID])
  })
  await runaway
  await waitFor('many processes', () => processesOfUsers([UID]).length > 30)
  const { stdout } = await execa(supervisorPython, ['-I', '-S', '-c', END_ALL, agentFolder])
  expect(stdout).toBe('[]')
  expect(processesOfUsers([UID])).toEqual([])
})

test('the end of all processes of a user also ends those that live too short to be seen', async () => {
  const fleeting = execa(supervisorPython, ['-c', FLEETING], { buffer: false })
  onTestFinished(async () => {
    const end = `import os; os.setgid(${UID}); os.setuid(${UID}); os.kill(-1, 9)`
    await execa(supervisorPython, ['-c', end], { reject: false })
    await fleeting
  })
  await once(fleeting.stdout, 'data')
  const { stdout } = await execa(supervisorPython, ['-I', '-S', '-c', END_ALL, agentFolder, 'never seen'])
  expect(stdout).toBe('[]')
  await expect.poll(() => fleeting.exitCode, { timeout: 10_000 }).toBe(0)
})
