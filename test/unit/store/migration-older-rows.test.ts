import { Kysely, sql } from 'kysely'
import sqlite3 from 'sqlite3'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { migrate, migrationsNamed } from '../../../control-plane/src/store/migrations/index.js'
import type { Database } from '../../../control-plane/src/store/schema.js'
import { createSqliteDialect } from '../../../control-plane/src/store/sqlite/sqlite-dialect.js'
import { createStatements } from '../../../control-plane/src/store/sqlite/sqlite-statements.js'

let database: Kysely<Database>

beforeEach(async () => {
  const statements = createStatements(new sqlite3.Database(':memory:'))
  database = new Kysely<Database>({ dialect: createSqliteDialect([statements]) })
  return () => statements.close()
})

const run = (text: string, ...values: readonly unknown[]) => {
  const [first = '', ...others] = text.split('?')
  const parts = others.flatMap((part, index) => [sql`${values[index]}`, sql.raw(part)])
  return sql.join([sql.raw(first), ...parts], sql.raw('')).execute(database)
}
const rowsOf = async (text: string) => (await sql.raw<Record<string, unknown>>(text).execute(database)).rows

let steps: readonly string[]

beforeAll(async () => {
  const statements = createStatements(new sqlite3.Database(':memory:'))
  const present = new Kysely<Database>({ dialect: createSqliteDialect([statements]) })
  await migrate(present)
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(present)
  steps = rows.map(({ name }) => name)
  await statements.close()
})

/** Makes the tables as they were before a step. */
async function tablesBefore(step: string): Promise<void> {
  expect(steps).toContain(step)
  await migrate(database, migrationsNamed(steps.filter((name) => name < step)))
}

const JOB = {
  run_id: 'r',
  form: 'f',
  target: 'f',
  job_type: 'ansible',
  status: 'success',
  start_time: 1000,
  user_name: 'ann',
  user_type: 'local',
  dispatch: 'done',
  abort_requested: 0,
  extravars: '{}',
  credentials: '{}',
  playbook: '{}',
}

async function insert(table: string, values: Readonly<Record<string, unknown>>): Promise<void> {
  const columns = Object.keys(values)
  await run(
    `insert into "${table}" (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`,
    ...Object.values(values),
  )
}
const putJob = (values: Readonly<Record<string, unknown>>) => insert('job', { ...JOB, ...values })
const putUser = (id: number, username: string, createdAt: number) =>
  insert('user', {
    id,
    username,
    username_key: username.toLowerCase(),
    type: 'local',
    groups: '[]',
    enabled: 1,
    created_at: createdAt,
  })
const decidedBy = (name: string, time: number) =>
  JSON.stringify({ decided_by: name, decided_by_type: 'local', decided_at: time })

describe('the passwords of an ended job of an older release', () => {
  const MASK = '********'

  test.each<[string, string[], unknown, unknown]>([
    ['are masked under their keys', ['pin'], { pin: 'abcd', host: 'web' }, { pin: MASK, host: 'web' }],
    [
      'are masked in texts that have them, from 4 characters on',
      ['pin'],
      { pin: 'abcd', note: 'it is abcd!', list: ['abcd', 'abc', 7, true, null] },
      { pin: MASK, note: MASK, list: [MASK, 'abc', 7, true, null] },
    ],
    [
      'of 3 characters are masked under their own key only',
      ['pin'],
      { pin: 'abc', note: 'it is abc!' },
      { pin: MASK, note: 'it is abc!' },
    ],
    ['may be numbers', ['pin'], { pin: 4711, port: 4711, other: 471 }, { pin: MASK, port: MASK, other: 471 }],
    [
      'may be below their key: every text and number there is one',
      ['app'],
      { app: { user: 'four', list: ['abcd', 12345], flag: true, none: null, empty: '' }, note: 'four of 12345' },
      { app: { user: MASK, list: [MASK, MASK], flag: true, none: null, empty: '' }, note: MASK },
    ],
    [
      'may be deep below other keys',
      ['pin'],
      { list: [{ pin: 'abcd' }], app: { db: { pin: 'efgh' } } },
      { list: [{ pin: MASK }], app: { db: { pin: MASK } } },
    ],
    ['that are empty stay, and hide nothing', ['pin'], { pin: '', note: '' }, { pin: '', note: '' }],
    [
      'that are empty stay beside others',
      ['pin', 'key'],
      { pin: '', key: 'abcd', note: 'x' },
      { pin: '', key: MASK, note: 'x' },
    ],
    [
      'that are neither text nor number stay',
      ['pin', 'key'],
      { pin: true, key: null, note: 'true' },
      { pin: true, key: null, note: 'true' },
    ],
    ['are not found by the place in a list', ['0'], { list: ['web'] }, { list: ['web'] }],
    [
      'are masked in what is said of the user, but no key of it names one',
      ['pin'],
      { pin: 'abcd', ansibleforms_user: { pin: 'efgh', note: 'abcd' } },
      { pin: MASK, ansibleforms_user: { pin: 'efgh', note: MASK } },
    ],
    [
      'are not taken from what is said of the user',
      ['pin'],
      { host: 'efgh', ansibleforms_user: { pin: 'efgh' } },
      { host: 'efgh', ansibleforms_user: { pin: 'efgh' } },
    ],
  ])('%s', async (_what, fields, before, after) => {
    await tablesBefore('012-job-secrets')
    await putJob({ extravars: JSON.stringify(before), password_fields: JSON.stringify(fields) })
    await migrate(database)
    const [job] = await rowsOf('select extravars, raw_form_data, approval from job')
    expect(JSON.parse(String(job?.['extravars']))).toEqual(after)
    expect(job).toMatchObject({ raw_form_data: null, approval: null })
  })

  test('are masked by their text in the form data, and in the approvals of the job and of its nodes', async () => {
    await tablesBefore('012-job-secrets')
    await putJob({
      extravars: '{"pin":"abcd"}',
      password_fields: '["pin"]',
      raw_form_data: '{"pin":"other","note":"abcd"}',
      approval: '{"title":"to abcd","pin":"other"}',
    })
    await putJob({ extravars: '{"pin":"efgh"}', password_fields: '["pin"]' })
    for (const id of [1, 2]) await insert('job_sequence', { job_id: id, version: 0, plan: '{}' })
    for (const [job, position, approval] of [
      [1, 0, '{"title":"abcd"}'],
      [1, 1, '{"title":"and abcd","pin":"other"}'],
      [1, 2, null],
      [2, 0, '{"title":"abcd"}'],
    ] as const) {
      await insert('sequence_node', { job_id: job, position, identifier: `n${position}`, status: 'success', approval })
    }
    await migrate(database)
    expect(await rowsOf('select raw_form_data, approval from job where id = 1')).toEqual([
      { raw_form_data: `{"pin":"other","note":"${MASK}"}`, approval: `{"title":"${MASK}","pin":"other"}` },
    ])
    expect(await rowsOf('select job_id, approval from sequence_node order by job_id, position')).toEqual([
      { job_id: 1, approval: `{"title":"${MASK}"}` },
      { job_id: 1, approval: `{"title":"${MASK}","pin":"other"}` },
      { job_id: 1, approval: null },
      { job_id: 2, approval: '{"title":"abcd"}' },
    ])
  })

  test('stay in a job that has not ended, and where the form had no password field', async () => {
    await tablesBefore('012-job-secrets')
    const extravars = '{"pin":"abcd"}'
    await putJob({ extravars, status: 'running', password_fields: '["pin"]' })
    await putJob({ extravars, status: 'approve', password_fields: '["pin"]' })
    await putJob({ extravars, password_fields: '[]' })
    await putJob({ extravars, password_fields: null })
    await migrate(database)
    expect(await rowsOf('select distinct extravars from job')).toEqual([{ extravars }])
  })

  test('are masked in every job, however many there are', async () => {
    await tablesBefore('012-job-secrets')
    await putJob({ extravars: '{"pin":"abcd"}', password_fields: '["pin"]' })
    const columns = `${Object.keys(JOB).join(', ')}, password_fields`
    for (let count = 0; count < 8; count += 1) {
      await run(`insert into job (${columns}) select ${columns} from job`)
    }
    await migrate(database)
    expect(await rowsOf('select count(*) as jobs, extravars from job group by extravars')).toEqual([
      { jobs: 256, extravars: `{"pin":"${MASK}"}` },
    ])
  })
})

describe('an approval of an older release', () => {
  test('names the account of its giver, in jobs and in nodes, if the account was there then', async () => {
    await tablesBefore('013-account-ownership')
    await putUser(7, 'bob', 200)
    await putJob({ approval: decidedBy('bob', 200) })
    await insert('job_sequence', { job_id: 1, version: 0, plan: '{}' })
    for (const [position, approval] of [
      decidedBy('bob', 201),
      decidedBy('bob', 199),
      decidedBy('eve', 201),
      '{"decided_by":null}',
    ].entries()) {
      await insert('sequence_node', { job_id: 1, position, identifier: `n${position}`, status: 'success', approval })
    }
    await migrate(database)
    const [job] = await rowsOf('select approval from job')
    expect(JSON.parse(String(job?.['approval']))).toMatchObject({ decided_by: 'bob', decided_by_id: 7 })
    const nodes = await rowsOf('select approval from sequence_node order by position')
    expect(nodes.map(({ approval }) => JSON.parse(String(approval)) as unknown)).toEqual([
      { decided_by: 'bob', decided_by_type: 'local', decided_at: 201, decided_by_id: 7 },
      { decided_by: 'bob', decided_by_type: 'local', decided_at: 199 },
      { decided_by: 'eve', decided_by_type: 'local', decided_at: 201 },
      { decided_by: null },
    ])
  })

  test('names it in every job, however many there are', async () => {
    await tablesBefore('013-account-ownership')
    await putUser(7, 'bob', 200)
    await putJob({ approval: decidedBy('bob', 200) })
    const columns = `${Object.keys(JOB).join(', ')}, approval`
    for (let count = 0; count < 10; count += 1) {
      await run(`insert into job (${columns}) select ${columns} from job`)
    }
    await migrate(database)
    expect(await rowsOf(`select count(*) as jobs from job where approval like '%"decided_by_id":7%'`)).toEqual([
      { jobs: 1024 },
    ])
  })
})

test('names of deleted accounts that left jobs are kept with the last of their ids; names that somebody has are not', async () => {
  await tablesBefore('020-account-names')
  await putUser(7, 'Bob', 200)
  for (const [name, id] of [
    ['Eve', 3],
    ['Eve', 5],
    ['Eve', null],
    ['old', null],
    ['BOB', 2],
    ['Bob', 7],
  ] as const) {
    await putJob({ user_name: name, user_id: id })
  }
  for (const [name, holder] of [
    ['designer', 'local/Bob'],
    ['other', 'local/gone'],
  ] as const) {
    await insert('lock', { name, holder, taken_at: 1, touched_at: 1 })
  }
  await migrate(database)
  expect(await rowsOf('select * from past_name order by username_key')).toEqual([
    { type: 'local', username_key: 'eve', user_id: 5 },
    { type: 'local', username_key: 'old', user_id: 0 },
  ])
  expect(await rowsOf('select name, holder_id from lock order by name')).toEqual([
    { name: 'designer', holder_id: 7 },
    { name: 'other', holder_id: null },
  ])
})

test('a job of an older release knows the key of its runner, if a runner was offered it', async () => {
  await tablesBefore('021-jobs-by-key')
  await insert('runner', {
    id: 4,
    name: 'one',
    state: 'approved',
    enabled: 1,
    is_default: 0,
    mode: 'outbound',
    fingerprint: 'aa:bb',
    identity_key: 'i',
    sealing_key: 's',
    host: 'h',
    ip: 'i',
    version: 'v',
    contract: 1,
    agent_max_jobs: 1,
    generation: 1,
    instance: 'i',
    epoch: 1,
    running_jobs: 0,
    draining: 0,
    spool_bytes: 0,
    clock_skew_ms: 0,
    requested_at: 1,
    last_seen: 1,
    description: '',
  })
  for (const [runner, dispatch] of [
    [4, 'offered'],
    [4, 'claimed'],
    [4, 'done'],
    [4, 'queued'],
    [9, 'done'],
    [null, 'done'],
  ] as const) {
    await putJob({ runner_id: runner, dispatch })
  }
  await migrate(database)
  const jobs = await rowsOf('select runner_key from job order by id')
  expect(jobs.map((job) => job['runner_key'])).toEqual(['aa:bb', 'aa:bb', 'aa:bb', null, null, null])
})

test('a job of an older release ran if a runner claimed it or sent something of it', async () => {
  await tablesBefore('029-jobs-that-ran')
  const cases = [
    ['one', 'claimed', 0, 0, null],
    ['one', 'done', 1, 0, null],
    ['one', 'done', 0, 1, null],
    ['one', 'done', 0, 0, null],
    [null, 'done', 1, 1, null],
    ['one', 'claimed', 1, 1, 8],
  ] as const
  for (const [index, [runner, dispatch, output, events, epoch]] of cases.entries()) {
    await putJob({ runner_name: runner, dispatch, held_epoch: epoch })
    await insert('job_stream', {
      job_id: index + 1,
      output_length: output,
      shown_length: output,
      events_length: events,
      events_count: events,
    })
  }
  await migrate(database)
  const jobs = await rowsOf('select held_epoch from job order by id')
  expect(jobs.map((job) => job['held_epoch'])).toEqual([0, 0, 0, null, null, 8])
})

test('a job and an orphan whose user has a type that no release knows belong to no account', async () => {
  await tablesBefore('034-user-types')
  for (const type of ['local', 'ldap', 'azuread', 'oidc', 'nis']) {
    await putJob({ user_type: type, user_id: 7 })
    const orphan = { job_number: 1, reason: 'unknown', ended: 0, output_bytes: 0, events_bytes: 0, reported_at: 1 }
    await insert('orphan', { ...orphan, runner_id: 4, run_id: type, user_type: type })
  }
  await migrate(database)
  const types = (table: string, order: string) => rowsOf(`select user_type from ${table} order by ${order}`)
  expect(await rowsOf('select user_type, user_id from job order by id')).toEqual([
    { user_type: 'local', user_id: 7 },
    { user_type: 'ldap', user_id: 7 },
    { user_type: 'azuread', user_id: 7 },
    { user_type: 'oidc', user_id: 7 },
    { user_type: 'local', user_id: null },
  ])
  expect(new Set((await types('orphan', 'run_id')).map((row) => row['user_type']))).toEqual(
    new Set(['local', 'ldap', 'azuread', 'oidc', null]),
  )
})

test('a new database has the rows with which the chain of the audit trail and the service clock begin', async () => {
  await migrate(database)
  const nothing = '0'.repeat(64)
  expect(await rowsOf('select * from audit_chain')).toEqual([
    { id: 1, head_position: 0, head_hash: nothing, anchor_position: 0, anchor_hash: nothing },
  ])
  expect(await rowsOf('select * from service_clock')).toEqual([{ id: 1, time: 1_000_000_000_000_000, turn: 0 }])
})
