import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AnotherNode, type Product, startProduct } from '../support/product.js'
import { waitFor } from '../support/wait.js'

/** Schedules with two control planes, real processes on one database. Each due time starts one job, whoever is killed. */
const FORM = 'name: doomed\ntype: ansible\nroles: [public]\nplaybook: x.yml\nfields: []\n'
const SCHEDULES = 60

/** A start of a schedule behind the first ones waits inside of its transaction while somebody has this lock. */
const GATE = 4711
const GATE_FUNCTION = `create function gate() returns trigger language plpgsql as $$ begin
  perform pg_advisory_xact_lock_shared(${GATE});
  return new;
end $$`

let product: Product
let database: pg.Client
let ids: number[] = []

beforeAll(async () => {
  product = await startProduct({ withAgent: false, database: 'postgres', forms: { 'doomed.yml': FORM } })
  database = new pg.Client({ connectionString: product.databaseUrl ?? '' })
  await database.connect()
  for (let number = 0; number < SCHEDULES; number += 1) {
    // Its next time comes in January: within this test it is due when the test says so.
    const wish = { name: `yearly ${number}`, form: 'doomed', cron: '0 0 1 1 *', missed: 'run' }
    await product.admin.post('/schedule', wish)
  }
  ids = await numbers('select id as number from schedule order by id')
  await database.query(GATE_FUNCTION)
})
afterAll(async () => {
  await database?.end()
  await product?.close()
})

const numbers = async (text: string): Promise<number[]> =>
  (await database.query<{ number: string }>(text)).rows.map(({ number }) => Number(number))
const count = async (text: string) => (await numbers(`select count(*) as number from ${text}`))[0] ?? 0
const started = () => count('schedule where last_at is not null')
const waiting = () =>
  count(`pg_stat_activity where datname = current_database() and state = 'active' and wait_event_type = 'Lock'`)

/** The time of all schedules has come. @returns the highest number of a job before */
async function comeDue(): Promise<number> {
  const last = (await numbers('select coalesce(max(id), 0) as number from job'))[0] ?? 0
  await database.query('update schedule set next_at = $1, last_at = null, last_job_id = null', [Date.now()])
  return last
}

/** Every schedule has started one job since that one. */
async function expectOneJobEach(last: number): Promise<void> {
  await waitFor('every schedule to have started', async () => (await started()) === SCHEDULES)
  // A transaction that is not over by now would be over before this.
  await database.query('begin; lock table schedule in access exclusive mode; commit')
  expect(await numbers(`select schedule_id as number from job where id > ${last} order by schedule_id`)).toEqual(ids)
  expect(await count('schedule where last_problem is not null')).toBe(0)
}

/** Both nodes stand inside of the transaction that would start the schedule after these, until the gate is opened. */
async function stopBothBehind(most: number): Promise<{ readonly last: number; open(): Promise<void> }> {
  await database.query(`select pg_advisory_lock(${GATE})`)
  await database.query(`create trigger gate before update on schedule for each row
    when (old.last_at is null and new.last_at is not null and new.id > ${ids[most - 1]}) execute function gate()`)
  const last = await comeDue()
  await waitFor('both nodes to stand at the gate', async () => (await waiting()) === 2)
  expect(await started()).toBe(most)
  return {
    last,
    async open() {
      await database.query(`select pg_advisory_unlock(${GATE})`)
    },
  }
}

async function startOther(): Promise<AnotherNode> {
  await database.query('drop trigger if exists gate on schedule')
  return product.startAnotherNode()
}

test('two nodes look at the same time, and each schedule starts one job', async () => {
  const other = await startOther()
  await expectOneJobEach(await comeDue())
  await other.program.stop('SIGTERM')
})

test.each([
  ['first', 1],
  ['first', 31],
  ['other', 1],
  ['other', 47],
] as const)(
  'the %s node is killed inside of its start, after %i others: each schedule starts one job',
  async (who, most) => {
    const other = await startOther()
    const { last, open } = await stopBothBehind(most)
    await (who === 'first' ? product.controlPlane : other.program).stop('SIGKILL')
    await open()
    await expectOneJobEach(last)
    // The one that was killed comes back and finds nothing to start.
    if (who === 'first') await product.startControlPlane()
    await other.program.stop('SIGTERM')
    expect(await count(`job where id > ${last}`)).toBe(SCHEDULES)
  },
)

test('when both nodes are killed, a due schedule is started once when one comes back', async () => {
  const other = await startOther()
  const { last, open } = await stopBothBehind(10)
  await other.program.stop('SIGKILL')
  await product.controlPlane.stop('SIGKILL')
  await open()
  expect(await count(`job where id > ${last}`)).toBe(10)
  await product.startControlPlane()
  await expectOneJobEach(last)
})
