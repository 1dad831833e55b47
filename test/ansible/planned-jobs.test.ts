import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { expect, onTestFinished, test } from 'vitest'
import { agentFolder, supervisorPython } from './job-folder.js'

/**
 * Removes what cron and at have of a job's user, in folders of the test. The files are those of this process's user: first
 * another user ends, then this one, with the name `job-1`. Prints what is left after each.
 */
const DRIVER = `
import os, sys
sys.path.insert(0, sys.argv[1])
from holdfast_job import leftovers
leftovers._CRON_TABLES = (sys.argv[2] + "/crontabs", sys.argv[2] + "/none")
leftovers._AT_JOBS = (sys.argv[2] + "/none", sys.argv[2] + "/at")
os.geteuid = lambda: int(sys.argv[3])
for name, uid in (("job-3", os.getuid() + 1), ("job-1", os.getuid())):
    leftovers.remove_planned(type("User", (), {"name": name, "uid": uid}))
    print(*sorted(os.listdir(sys.argv[2] + "/crontabs") + os.listdir(sys.argv[2] + "/at")))
`

function planned(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-planned-'))
  onTestFinished(() => {
    rmSync(folder, { recursive: true })
  })
  for (const path of ['crontabs', 'at', 'crontabs/job-10']) mkdirSync(join(folder, path))
  for (const path of ['crontabs/job-1', 'crontabs/job-2', 'at/a0001']) writeFileSync(join(folder, path), '')
  return folder
}

async function leftAfter(effectiveUser: number, folder = planned()): Promise<string[]> {
  const args = ['-I', '-S', '-c', DRIVER, agentFolder, folder, String(effectiveUser)]
  return (await execa(supervisorPython, args)).stdout.split('\n')
}

const ALL = 'a0001 job-1 job-10 job-2'

test('what a job planned with cron and at is removed at its end, and nothing of others', async () => {
  const folder = planned()
  expect(await leftAfter(0, folder)).toEqual([ALL, 'job-10 job-2'])
  // A second end finds nothing, and that is no error.
  expect(await leftAfter(0, folder)).toEqual(['job-10 job-2', 'job-10 job-2'])
})

test('an agent that is not root does not look there', async () => {
  expect(await leftAfter(1000)).toEqual([ALL, ALL])
})
