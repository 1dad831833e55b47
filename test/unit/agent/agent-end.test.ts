import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import fsp from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { identifyProcess } from '../../../runner-agent/src/host/processes.js'
import { writeAgentEnd } from '../../../runner-agent/src/spool/agent-end.js'
import { createJobFolder } from '../../../runner-agent/src/spool/job-folder.js'

/** The next link fails as on a full disk. */
function fillDisk(): void {
  const full = Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' })
  const spy = vi.spyOn(fsp, 'link').mockRejectedValueOnce(full)
  syncBuiltinESMExports()
  onTestFinished(() => {
    spy.mockRestore()
    syncBuiltinESMExports()
  })
}

const running = identifyProcess(process.pid)
test.each([
  ['was never started', null, true],
  ['is known to be gone', { ...running, boot_id: 'another boot' }, true],
  ['runs', running, false],
  ['may run where the agent cannot see it', { ...running, pid_namespace: 'pid:[1]' }, false],
])('on a full disk, a playbook that %s makes room for its end with its work folder: %s', async (_, started, isGone) => {
  const parent = mkdtempSync(join(tmpdir(), 'holdfast-end-'))
  onTestFinished(() => {
    rmSync(parent, { recursive: true })
  })
  const folder = createJobFolder(join(parent, 'job'), { jobId: 1, runId: 'a'.repeat(32) })
  mkdirSync(folder.file('work'), { recursive: true })
  if (started !== null) writeFileSync(folder.file('started.json'), JSON.stringify(started))
  fillDisk()
  const writing = writeAgentEnd(folder, { cause: 'supervisor_lost', message: null }, new Date(0))
  if (isGone) expect(await writing).toMatchObject({ cause: 'supervisor_lost' })
  else await expect(writing).rejects.toThrow('ENOSPC')
  expect(existsSync(folder.file('work'))).toBe(!isGone)
})
