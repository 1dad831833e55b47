import { execa } from 'execa'
import { expect, onTestFinished, test } from 'vitest'
import { nothingRunsOf, processesOfUsers } from '../agent/isolated-setting.js'
import { FIRST_JOB_USER } from '../support/job-users.js'
import { waitFor } from '../support/wait.js'
import { agentFolder, supervisorPython } from './job-folder.js'

const UID = FIRST_JOB_USER + 30

/** Processes that replace each other at once: whoever ends them one by one comes too late. */
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

const END_ALL = `
import sys
sys.path.insert(0, sys.argv[1])
from holdfast_job.users import JobUser
print(JobUser({"uid": ${UID}, "gid": ${UID}, "name": "runaway", "groups": []}, "/nowhere").end_all())
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
