import { afterAll, beforeAll, expect, test } from 'vitest'
import { endJob } from '../../control-plane/src/jobs/end/ending.js'
import { admit } from '../../control-plane/src/jobs/limits/places.js'
import { insertJob } from '../../control-plane/src/store/jobs/new-job.js'
import { findPlaceHolders } from '../../control-plane/src/store/jobs/places.js'
import { queuedJob } from '../runners/queued-job.js'
import { type TwoNodes, startTwoNodes } from './node-fixture.js'

let two: TwoNodes

beforeAll(async () => {
  two = await startTwoNodes()
})
afterAll(() => two.close())

const GROUP = { concurrency_group: 'deploy', concurrency_limit: 2 }
const PARENT = { job_type: 'multistep', runner_id: null, dispatch: 'parked' } as const

test('two nodes that race for the places of a group never give more than there are, and leave none free', async () => {
  const nodes = [two.first, two.second]
  const jobs: number[] = []
  for (let number = 0; number < 9; number += 1) {
    // Parent jobs: the dispatchers of the nodes, which look for runners meanwhile, let them be.
    const row = { ...queuedJob(1, number.toString(16).repeat(32)), ...GROUP, ...PARENT }
    jobs.push(await two.first.store.write('test', (queries) => insertJob(queries, row)))
  }
  const ended: number[] = []
  while (ended.length < jobs.length) {
    await Promise.all(
      [...nodes, ...nodes].map(({ store }) => store.write('test', (queries) => admit(queries, 'deploy', 1))),
    )
    const holders = await findPlaceHolders(two.second.store.read, 'deploy')
    expect(holders).toEqual(jobs.slice(ended.length, ended.length + 2))
    // Each node ends one of them, and looks at the same time.
    await Promise.all(
      holders.map((id, index) =>
        (index === 0 ? two.first : two.second).store.write('test', async (queries) => {
          await endJob(queries, id, { status: 'success', reason: null, detail: null }, 2)
          await admit(queries, 'deploy', 1)
        }),
      ),
    )
    ended.push(...holders)
    expect((await findPlaceHolders(two.first.store.read, 'deploy')).length).toBeLessThanOrEqual(2)
  }
})
