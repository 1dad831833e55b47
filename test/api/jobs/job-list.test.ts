import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type JobFilter, listJobs } from '../../../control-plane/src/store/jobs/job-list.js'
import { plansOf } from '../../support/query-plans.js'
import { IS_ON_POSTGRES } from '../../support/test-database.js'
import { type TestServer, startServer } from '../server.js'

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.close())

const ann = { id: 2, name: 'ann', type: 'local' as const }
test.skipIf(IS_ON_POSTGRES).each<[string, JobFilter]>([
  ['nothing', {}],
  ['user', { user: ann }],
  ['runner', { runner: 'red' }],
  ['user and runner', { user: ann, runner: 'red' }],
  ['visibility', { visibleTo: ann }],
  ['visibility and user', { visibleTo: ann, user: ann }],
  ['visibility and runner', { visibleTo: ann, runner: 'red' }],
  ['all of them', { visibleTo: ann, user: ann, runner: 'red' }],
])('with any filter, the list is read from an index in its order: %s', async (_what, filter) => {
  const plans = await plansOf(join(server.folder, 'holdfast.db'), (queries) => listJobs(queries, filter, 1000))
  expect(plans).not.toEqual([])
  for (const plan of plans) {
    expect(plan).not.toMatch(/TEMP B-TREE/)
    const equal = Object.keys(filter).length > 0
    // The whole table is read only where every job is listed, and then from its newest end.
    expect(plan).toMatch(equal ? /SEARCH job USING INDEX/ : /SCAN job$/m)
    const { runner, ...users } = filter
    if (runner !== undefined) expect(plan).toMatch(/runner_name=\?/)
    if (users.visibleTo) expect(plan).toMatch(/user_id=\?/)
    else if (users.user) expect(plan).toMatch(/user_type=\? AND user_name=\?/)
  }
})
