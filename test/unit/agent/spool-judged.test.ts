import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { waitUntil } from '../../agent/waiting.js'
import { findJob } from './found-job.js'

test('the agent decides about a job of the spool after a minute without a control plane, and not before', async () => {
  const { jobs, wait, hasEnd, spooledAtChanges } = await findJob()
  expect(wait).toMatchObject({ ms: 60_000, isOver: false })
  expect(jobs.figures()).toMatchObject({ spooledJobs: 1, runningJobs: 0 })
  expect(hasEnd()).toBe(false)
  spooledAtChanges.length = 0
  wait.pass()
  await waitUntil('the job to be judged', hasEnd)
  // The figures change when it is judged, and when it has ended. It stays until a control plane has its end.
  await waitUntil('the end to be told', () => spooledAtChanges.length >= 2)
  expect(spooledAtChanges).toEqual([1, 1])
})

test('the agent waits for a control plane that answers and has not accepted the runner, however long', async () => {
  const { jobs, wait, hasEnd } = await findJob()
  jobs.wait()
  expect(wait.isOver).toBe(true)
  expect(hasEnd()).toBe(false)
})

test('a job whose folder was removed by hand does not count any more once that is certain', async () => {
  const { wait, folder, spooledAtChanges } = await findJob()
  rmSync(folder, { recursive: true })
  spooledAtChanges.length = 0
  wait.pass()
  await waitUntil('the job to be judged and removed', () => spooledAtChanges.length >= 2)
  expect(spooledAtChanges).toEqual([1, 0])
})
