import { describe, expect, test } from 'vitest'
import type { Caller } from '../../../control-plane/src/auth/sessions/caller.js'
import { HoldfastError } from '../../../control-plane/src/errors.js'
import { NOTHING_WRONG } from '../../../control-plane/src/forms/check/report.js'
import type { Form } from '../../../control-plane/src/forms/form.js'
import { type LaunchDependencies, launchJob } from '../../../control-plane/src/jobs/launch/launch.js'
import type { LaunchRequest } from '../../../control-plane/src/jobs/launch/launch-request.js'
import { requireMayLaunch } from '../../../control-plane/src/jobs/launch/may-launch.js'
import { MASK } from '../../../control-plane/src/jobs/secrets/masking.js'
import { parseFormFile } from '../../../control-plane/src/forms/parse/parse-form.js'
import { approvalOf } from '../../../control-plane/src/jobs/record/approval.js'
import { findJob } from '../../../control-plane/src/store/jobs/jobs.js'
import { insertRunner } from '../../../control-plane/src/store/runners/runners.js'
import { listEvents } from '../../../control-plane/src/store/service/notification-events.js'
import type { Queries } from '../../../control-plane/src/store/store.js'
import { memoryDatabase } from '../../support/memory-database.js'
import { RUNNER_ROW } from '../../support/runner-row.js'
import { caller, form } from './launch-parts.js'

const NOW = 10_000
const APPROVAL = { title: 'Look at $(a)', message: null, roles: ['ops'], notifications: [], allowSelf: false }
const tells = (what: string) => ({ recipients: ['ann@x'], channels: ['email'], onStatus: [], onEvent: [what] })

async function made(given: Partial<Form> = {}, changes: Partial<LaunchDependencies> = {}) {
  const queries = await memoryDatabase()
  const runner = await insertRunner(queries, { ...RUNNER_ROW, is_default: 1 })
  const told: string[] = []
  let runs = 0
  const launched: Form = { ...form(), ...given } as Form
  const settings = form()
  const dependencies = {
    store: { read: queries, write: (_: string, task: (queries: Queries) => unknown) => task(queries) },
    forms: {
      find: () => Promise.resolve(launched),
      contextOf: () => Promise.resolve({ subforms: {}, constants: {} }),
    },
    live: { changed: (name: string) => void told.push(`changed ${name}`) },
    clock: { now: () => NOW },
    validation: 'off',
    unknownFields: 'refuse',
    checks: {
      check: ({ values }: { values: object }) =>
        Promise.resolve({ details: NOTHING_WRONG, extravars: values, credentials: {}, passwords: [] }),
    },
    maskPattern: /token/,
    log: { warn: () => undefined },
    runners: { jobQueued: (id: number) => void told.push(`queued for ${id}`) },
    sequences: {
      planOf: () =>
        Promise.resolve({
          plan: { steps: 'all' },
          nodes: ['one', 'two'],
          problem: null,
          jobs: [{ settings, values: (extravars: object) => extravars }],
        }),
      advance: (id: number) => void told.push(`advance ${id}`),
    },
    credentials: { has: (name: string) => Promise.resolve(name === 'known') },
    vault: { seal: () => Buffer.from('sealed') },
    subjects: { of: () => Promise.resolve({ manifest_sha256: 'm', form_sha256: 'f' }) },
    newRunId: () => String((runs += 1)).padStart(32, '0'),
    uploads: { path: '/uploads' },
    ...changes,
  } as unknown as LaunchDependencies
  const request = { formName: 'f', extravars: { a: 1 }, rawFormData: null, credentials: {}, files: {} }
  return {
    queries,
    dependencies,
    told,
    runner,
    /** The row of the new job, or the code of the refusal. */
    async launch(
      asked: Partial<LaunchRequest> = {},
      who: Caller = caller,
      origin: Parameters<typeof launchJob>[3] = null,
    ) {
      try {
        const { id } = await launchJob(dependencies, who, { ...request, ...asked }, origin)
        const job = await findJob(queries, id)
        if (!job) throw new Error(`there is no job ${id}`)
        return job
      } catch (error) {
        if (error instanceof HoldfastError) return error.code
        throw error
      }
    },
    jobs: async () => (await queries.selectFrom('job').select('id').execute()).length,
    events: async () => (await listEvents(queries, 10)).map(({ event }) => ('what' in event ? event.what : event.kind)),
  }
}

const PARENT = { type: 'multistep', steps: [] } as unknown as Partial<Form>

describe('a launched job', () => {
  test('is of its launcher, waits for its runner, and the runner hears of it after that', async () => {
    const { launch, told, runner } = await made()
    expect(await launch()).toMatchObject({
      form: 'f',
      job_type: 'ansible',
      status: 'running',
      dispatch: 'queued',
      start_time: NOW,
      end_time: null,
      user_id: caller.id,
      user_name: 'ann',
      user_type: 'local',
      runner_id: runner.id,
      approval: null,
      raw_form_data: null,
      schedule_id: null,
      schedule_name: null,
      time_limit_ms: null,
      concurrency_group: null,
      concurrency_limit: null,
    })
    expect(told).toEqual(['changed jobs', `queued for ${runner.id}`])
  })

  test('keeps the field values with which it was launched', async () => {
    const { launch } = await made()
    expect(await launch({ rawFormData: {} })).toMatchObject({ raw_form_data: '{}' })
  })

  test('keeps its passwords apart from its row, and masks what holds one', async () => {
    const fields = 'fields: [{name: pw, type: password}, {name: b, type: text}]'
    const text = `name: f\ntype: ansible\nplaybook: site.yml\nroles: [default]\n${fields}`
    const parsed = parseFormFile('f.yml', text).forms[0]?.form
    const { launch, queries } = await made(parsed)
    const values = { pw: 'a long password', b: 'holds a long password' }
    const job = await launch({ extravars: values, rawFormData: values })
    if (typeof job === 'string') throw new Error(job)
    expect(JSON.parse(job.raw_form_data ?? '')).toEqual({ b: MASK })
    expect(job.extravars).not.toContain('a long password')
    expect(await queries.selectFrom('job_secret').select('job_id').execute()).toEqual([{ job_id: job.id }])
    await launch({ extravars: { b: 'x' }, rawFormData: { b: 'x' } })
    expect(await queries.selectFrom('job_secret').select('job_id').execute()).toHaveLength(1)
  })

  test('has the time limit of its form', async () => {
    const { launch } = await made({ timeoutMs: 5000 })
    expect(await launch()).toMatchObject({ time_limit_ms: 5000 })
  })

  test('fails at once when it has no runner, and nobody is told that it waits', async () => {
    const { launch, told, queries } = await made({
      approval: APPROVAL,
      concurrency: { group: 'g', limit: 1, on: 'queue' },
    })
    await queries.updateTable('runner').set({ enabled: 0 }).execute()
    expect(await launch()).toMatchObject({
      status: 'failed',
      dispatch: 'done',
      status_reason: "The runner 'one' is turned off",
      approval: null,
      concurrency_group: null,
    })
    expect(told).toEqual(['changed jobs'])
  })

  test('that needs an approval is parked, and asks for it', async () => {
    const { launch, told, queries } = await made({ approval: APPROVAL, passwordFields: ['pw'] })
    const job = await launch({ extravars: { a: 1, pw: 'secret' } })
    expect(job).toMatchObject({ status: 'approve', dispatch: 'parked' })
    if (typeof job === 'string') throw new Error(job)
    expect(approvalOf(job)).toMatchObject({
      state: 'waiting',
      title: 'Look at 1',
      subject: { manifest_sha256: 'm', form_sha256: 'f' },
    })
    expect(await queries.selectFrom('awaited_approval').select('job_id').execute()).toEqual([{ job_id: job.id }])
    expect(told).toEqual(['changed jobs'])
  })

  test('is told to those whom the form names, as what it is', async () => {
    const launches = await made({ notifications: tells('launch') as never })
    await launches.launch()
    await launches.launch({ earlier: { uploads: new Set(), besides: null } })
    expect(await launches.events()).toEqual(['launch'])
    const again = await made({ notifications: tells('relaunch') as never })
    await again.launch()
    await again.launch({ earlier: { uploads: new Set(), besides: null } })
    expect(await again.events()).toEqual(['relaunch'])
  })

  test('of a schedule names it, and is stored together with that', async () => {
    const { launch } = await made()
    const stored: number[] = []
    const origin = {
      schedule: { id: 4, name: 'nightly' },
      stored: (_: unknown, id: number) => Promise.resolve(void stored.push(id)),
    }
    const job = await launch({}, caller, origin)
    expect(job).toMatchObject({ schedule_id: 4, schedule_name: 'nightly' })
    expect(stored).toEqual([typeof job === 'string' ? job : job.id])
  })
})

describe('a job of a group', () => {
  const GROUP = { group: 'g', limit: 1, on: 'queue' as const }

  test('gets a free place at once, and else waits for one', async () => {
    const { launch, told, runner } = await made({ concurrency: GROUP })
    const columns = { concurrency_group: 'g', concurrency_limit: 1 }
    expect(await launch()).toMatchObject({ dispatch: 'queued', has_place: 1, ...columns })
    expect(told.splice(0)).toEqual(['changed jobs', `queued for ${runner.id}`])
    expect(await launch()).toMatchObject({ status: 'running', dispatch: 'parked', has_place: 0, ...columns })
    expect(told).toEqual(['changed jobs'])
  })

  test('is refused where the form says that, and nothing is created', async () => {
    const { launch, jobs } = await made({ concurrency: { ...GROUP, on: 'refuse' } })
    await launch()
    expect(await launch()).toBe('group_full')
    expect(await jobs()).toBe(1)
  })

  test('gets no place before its approval', async () => {
    const { launch } = await made({ concurrency: GROUP, approval: APPROVAL })
    expect(await launch()).toMatchObject({ status: 'approve', dispatch: 'parked', has_place: 0 })
  })

  test('is a parent job, too', async () => {
    const { launch, told } = await made({ ...PARENT, concurrency: GROUP })
    const job = await launch()
    expect(job).toMatchObject({ dispatch: 'driven', has_place: 1 })
    expect(told).toEqual(['changed jobs', `advance ${typeof job === 'string' ? job : job.id}`])
  })
})

describe('a parent job', () => {
  test('is stored with its plan, and goes on from there', async () => {
    const { launch, told, queries } = await made(PARENT)
    const job = await launch()
    if (typeof job === 'string') throw new Error(job)
    expect(job).toMatchObject({ job_type: 'multistep', status: 'running', dispatch: 'driven', runner_id: null })
    const nodes = await queries.selectFrom('sequence_node').select('identifier').orderBy('identifier').execute()
    expect(nodes).toEqual([{ identifier: 'one' }, { identifier: 'two' }])
    expect(told).toEqual(['changed jobs', `advance ${job.id}`])
  })

  test('of a form without a plan is refused', async () => {
    const { launch, jobs } = await made(PARENT, { sequences: { planOf: () => Promise.resolve(null) } as never })
    expect(await launch()).toBe('form_type_unsupported')
    expect(await jobs()).toBe(0)
  })
})

describe('a launch is refused', () => {
  const deep = () => {
    let value: object = {}
    for (let depth = 0; depth < 200; depth += 1) value = { value }
    return { value }
  }
  test.each<[string, Partial<LaunchRequest>, string]>([
    ['whose variables are nested too deep', { extravars: deep() }, 'too_deep'],
    ['whose field values are', { rawFormData: deep() }, 'too_deep'],
    ['whose credentials are', { credentials: deep() }, 'too_deep'],
    ['whose files are', { files: deep() }, 'too_deep'],
  ])('%s', async (_, asked, code) => {
    const { launch, jobs } = await made()
    expect(await launch(asked)).toBe(code)
    expect(await jobs()).toBe(0)
  })

  test.each<[string, Partial<Form>, Partial<LaunchRequest>, Partial<Caller>, string]>([
    ['of a form that is not for the caller', { roles: ['others'] }, {}, {}, 'form_not_allowed'],
    ['of a part of other forms', { type: 'subform' } as Partial<Form>, {}, {}, 'form_not_launchable'],
    ['of another type', { type: 'other' } as unknown as Partial<Form>, {}, {}, 'form_type_unsupported'],
    [
      'that is to be verbose and may not be',
      {},
      { extravars: { __verbose__: true } },
      { options: { ...caller.options, allowVerboseMode: false } },
      'verbose_not_allowed',
    ],
    ['on a runner that is not for the caller', {}, {}, { allowedRunners: ['other'] }, 'runner_not_allowed'],
    ['of steps on such a runner', PARENT, {}, { allowedRunners: ['other'] }, 'runner_not_allowed'],
  ])('%s', async (_, changes, asked, who, code) => {
    const { launch, jobs, told } = await made(changes)
    expect(await launch(asked, { ...caller, ...who })).toBe(code)
    expect(await jobs()).toBe(0)
    expect(told).toEqual([])
  })

  test.each<[string, Partial<LaunchDependencies>, Partial<LaunchRequest>, boolean]>([
    ['names a credential that is not there', { validation: 'enforce' }, {}, true],
    ['names it where nothing is checked', {}, {}, false],
    [
      'names it because the job before did',
      { validation: 'enforce' },
      { earlier: { uploads: new Set(), besides: null } },
      false,
    ],
  ])('that %s', async (_, dependencies, asked, isRefused) => {
    const { launch } = await made({ credentials: { db: 'known' } }, dependencies)
    const job = await launch({ rawFormData: {}, credentials: { db: 'gone' }, ...asked })
    expect(typeof job).toBe(isRefused ? 'string' : 'object')
  })
})

test('the verbose mode is refused before anybody looks at the values', async () => {
  const { dependencies } = await made()
  const request = { formName: 'f', extravars: { __verbose__: true } }
  const quiet = { ...caller, options: { ...caller.options, allowVerboseMode: false } }
  await expect(requireMayLaunch(dependencies, quiet, request)).rejects.toMatchObject({ code: 'verbose_not_allowed' })
  await expect(requireMayLaunch(dependencies, caller, request)).resolves.toMatchObject({ planned: null })
})

test('other requests get their turn before a launch begins to work', async () => {
  let hadTurn = false
  const find = () => {
    expect(hadTurn).toBe(true)
    return Promise.resolve(form())
  }
  const { launch, jobs } = await made(
    {},
    { forms: { find, contextOf: () => ({ subforms: {}, constants: {} }) } as never },
  )
  setImmediate(() => void (hadTurn = true))
  await launch()
  expect(await jobs()).toBe(1)
})
