import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addRunner } from '../runner-row.js'
import { type Answer, type TestServer, startServer } from '../server.js'

/** A seed that failed can be given again. */
const SEED = Number(process.env.HOLDFAST_SEED ?? Date.now() % 1_000_000)
/** Launches of each mode. */
const RUNS = Number(process.env.HOLDFAST_RUNS ?? 60)
const FORMS = 120

const FIELDS = {
  size: { type: 'radio', values: ['small', 'large'], default: 'small' },
  who: { type: 'text', required: true },
  code: { type: 'text', regex: { expression: '^[a-z]+$', description: 'small letters' } },
  count: { type: 'number', minValue: 1 },
  pin: { type: 'password' },
  __limit__: { type: 'text' },
  __tags__: { type: 'text' },
  __verbose__: { type: 'checkbox' },
  login: { type: 'text', asCredential: true },
  sum: { type: 'expression', runLocal: true, expression: "'it is ' + '$(code)'" },
  deep: { type: 'text', model: 'a.b' },
  conf: { type: 'yaml' },
  my_token: { type: 'text' },
  'first name': { type: 'text' },
  greeting: { type: 'expression', runLocal: true, expression: "'to ' + '$(first name)'", default: 'nobody' },
  reply: { type: 'expression', runLocal: true, expression: "'from $(greeting)'" },
  more: { type: 'text', dependencies: [{ name: 'size', values: ['large'] }] },
  most: { type: 'local_out', expression: "'$(more)!'", required: false },
  pick: { type: 'enum', runLocal: true, expression: "['a', '$(code)']", default: 'a' },
  place: {
    type: 'enum',
    values: [
      { id: 1, city: null },
      { id: 2, city: 'ber' },
    ],
    multiple: true,
  },
  city: { type: 'local_out', expression: "['$(place.city)', $(place.gone)]", default: ['none'] },
  hosts: {
    type: 'table',
    tableFields: [
      { name: 'host name', required: true },
      { name: 'cpus', type: 'number' },
    ],
  },
}

const FIELD_NAMES = Object.keys(FIELDS) as (keyof typeof FIELDS)[]

const some = <Value>(...values: Value[]) => fc.constantFrom(...values)
const credentialNames = some('known', 'gone', 'gone,known', 'forbidden')

const settings = fc.record(
  {
    runner: some('edge', 'edge', 'edge', 'off', 'gone', 'far'),
    tags: some('a,b', 'c'),
    limit: some('web', 'web:&db'),
    inventory: some('hosts,', 'inventories/prod'),
    check: fc.boolean(),
    keepExtravars: fc.boolean(),
    credentials: fc.record({ db: credentialNames }),
    ansibleCredentials: credentialNames,
    vaultCredentials: credentialNames,
  },
  { requiredKeys: [] },
)

const forms = fc
  .record({
    type: some('ansible', 'ansible', 'multistep'),
    roles: some(['public'], ['public'], ['public'], ['nobody']),
    settings,
    fields: fc.subarray(FIELD_NAMES, { maxLength: 7 }),
    limits: fc.record(
      {
        concurrency: fc.record({ group: some('one', 'two', 'three'), limit: some(1, 2), on: some('queue', 'refuse') }),
        approval: some({ title: 'Look at $(who)', roles: ['public'] }),
        userExtravars: some(['username'], []),
        launchValidation: some('enforce', 'log'),
      },
      { requiredKeys: [] },
    ),
    steps: fc.array(settings, { minLength: 1, maxLength: 2 }),
  })
  .map(({ type, roles, fields, limits, steps, settings: own }) => ({
    type,
    roles,
    ...limits,
    ...(type === 'ansible'
      ? { playbook: 'site.yml', ...own }
      : {
          steps: steps.map((step, index) => ({ name: `s${index}`, type: 'ansible', playbook: 'site.yml', ...step })),
        }),
    fields: fields.map((name) => ({ name, ...FIELDS[name] })),
  }))

/** For each field values that are right, and values that are not. */
const VALUES: Readonly<Record<keyof typeof FIELDS, readonly [readonly unknown[], readonly unknown[]]>> = {
  size: [
    ['small', 'large'],
    ['huge', null],
  ],
  who: [
    ['ann', 'ben'],
    ['', 5, '********'],
  ],
  code: [['abc', ''], ['ABC']],
  count: [
    [1, '7', ''],
    [0, 'seven'],
  ],
  pin: [['sesame', ''], []],
  __limit__: [['web'], ['sesame', '@/etc/passwd', '{{ a }}', 7]],
  __tags__: [['a', 'a,b'], ['sesame']],
  __verbose__: [[false], [true, 'yes']],
  login: [
    ['known', ''],
    ['gone', 'forbidden'],
  ],
  sum: [['it is abc'], ['it is not']],
  deep: [['x', 'sesame'], []],
  conf: [['a: 1', ''], ['a: [']],
  my_token: [['t'], ['********']],
  'first name': [['ann', '', null], [['ann']]],
  greeting: [['to ann'], ['to all']],
  reply: [[''], ['from me']],
  more: [['x', '', null], [7]],
  most: [[''], ['x!']],
  pick: [['a'], ['b', ['a']]],
  place: [[[1], [1, 2], [], null], [[3]]],
  city: [[''], ['x']],
  hosts: [
    [[{ 'host name': 'web1', cpus: '2' }], [], null],
    [[{ cpus: 1 }], [{ 'host name': 'web1', cpus: 'two' }], 'web1'],
  ],
}

const launches = fc.record({
  form: fc.nat({ max: FORMS - 1 }),
  caller: some('admin', 'ann', 'ann', 'ben'),
  /** Decides the values of the fields. */
  draws: fc.array(fc.nat({ max: 99 }), { minLength: 2 * FIELD_NAMES.length, maxLength: 2 * FIELD_NAMES.length }),
  strange: some<object>({}, {}, {}, {}, {}, {}, {}, {}, { strange: 1 }),
  extravars: some<object>({}, {}, { x: 1 }, { __verbose__: true }, { __tags__: 'z', x: 1 }),
  credentials: some<object>({}, {}, {}, { db: 'known' }, { db: 'gone,known' }, { db: 'forbidden' }, { odd: 'known' }),
  isScheduled: fc.boolean(),
  isAborted: fc.boolean(),
})
interface Body {
  readonly rawFormData: object
  readonly extravars: object
  readonly credentials: object
}
type Launch = typeof launches extends fc.Arbitrary<infer Value> ? Value : never

describe.each(['enforce', 'log'] as const)('with LAUNCH_VALIDATION=%s', (mode) => {
  let server: TestServer
  const tokens = new Map<string, string>()
  const forms = formsOfSeed()

  beforeAll(async () => {
    server = await startServer({
      settings: { LAUNCH_VALIDATION: mode, ACCESS_TOKEN_EXPIRATION: '2d' },
      forms: Object.fromEntries(forms.map((form, index) => [`f${index}.yaml`, JSON.stringify(form)])),
    })
    await server.writeConfig(
      JSON.stringify({
        roles: [
          { name: 'admin', groups: ['local/admins'] },
          { name: 'public', groups: ['local/users'], options: { allowJobRelaunch: true } },
          {
            name: 'few',
            groups: ['local/users'],
            runners: ['edge', 'off'],
            credentials: ['known', 'gone'],
          },
          { name: 'loud', groups: ['local/loud'], options: { allowVerboseMode: true, allowJobRelaunch: true } },
        ],
      }),
    )
    await server.writeCredentials(
      'credentials:\n  - { name: known, user: u, password: p }\n  - { name: forbidden, user: u, password: p }\n',
    )
    // Files that changed just now are read again for each request.
    server.clock.move(60_000)
    await addRunner(server, 'edge', { isDefault: true })
    await addRunner(server, 'off', { enabled: false })
    await addRunner(server, 'far')
    tokens.set('admin', server.admin)
    tokens.set('ann', (await server.addUser('ann', ['users'])).token)
    tokens.set('ben', (await server.addUser('ben', ['loud'])).token)
  })
  afterAll(() => server.close())

  const post = (path: string, caller: string, json: object) =>
    server.call('POST', path, { token: tokens.get(caller) ?? '', json })

  const evaluated = (form: string, caller: string, json: object) =>
    post(`/forms/${form}/evaluate`, caller, { ...json, wait: 60 })

  test('what an evaluation says is what the launch, the schedule and the relaunch do, word for word', async () => {
    const seen = new Map<string, number>()
    const property = fc.asyncProperty(launches, async (launch) => {
      const said = await played(launch)
      seen.set(said, (seen.get(said) ?? 0) + 1)
    })
    await fc.assert(property, { seed: SEED, numRuns: RUNS, endOnFailure: true })
    console.log(`seed ${SEED}, ${mode}: ${[...seen].map(([what, count]) => `${what} ${count}`).join(', ')}`)
    // Otherwise nothing was compared.
    expect((seen.get('a job') ?? 0) + (seen.get('a job that fails') ?? 0)).toBeGreaterThan(RUNS / 20)
    expect(seen.size).toBeGreaterThan(3)
  })

  /** Evaluates, launches, and compares. @returns what became of it */
  async function played({ form: index, caller, draws, strange, extravars, credentials, ...then }: Launch) {
    const form = `f${index}`
    const rawFormData = { ...valuesFor(forms[index]?.fields ?? [], draws), ...strange }
    const body = { rawFormData, extravars, credentials }
    const before = await evaluated(form, caller, body)
    const launched = await post('/job', caller, { formName: form, ...body })
    const outcome = outcomeOf(before)
    if (outcome.code === 'group_full' && launched.status === 200 && (await isOver(outcome.problem))) {
      return 'a place that became free'
    }
    expect(outcomeOf(launched), JSON.stringify({ form: forms[index], caller, body, said: before.body })).toEqual({
      ...outcome,
      problem: outcome.code === null ? null : outcome.problem,
    })
    if (then.isScheduled) await comparedSchedule(form, caller, body)
    if (launched.status !== 200) return outcome.code ?? ''
    const id = Number(launched.body.id)
    await comparedJob(id, before)
    if (then.isAborted) await comparedRelaunch(id, form, caller, body)
    return outcome.problem === null ? 'a job' : 'a job that fails'
  }

  /** Whether the jobs that a refusal names have ended since: a parent job ends a little after its last step has failed. */
  async function isOver(problem: string | null): Promise<boolean> {
    const [, named = ''] = /\(jobs? ([\d, ]+)/.exec(problem ?? '') ?? []
    const jobs = await Promise.all(
      named.split(', ').map((id) => server.call('GET', `/job/${id}?output=false`, { token: server.admin })),
    )
    return jobs.some(({ body }) => body.end !== null)
  }

  /** The job and all that it started are over: a group counts them until then. */
  async function ended(id: number) {
    await expect
      .poll(async () => {
        const { body: job } = await server.call('GET', `/job/${id}?output=false`, { token: server.admin })
        return job.end
      })
      .not.toBeNull()
  }

  /** The job has the variables, the runner and the reason that were told. */
  async function comparedJob(id: number, { body: { runs } }: Answer) {
    const { body: job } = await server.call('GET', `/job/${id}?output=false`, { token: server.admin })
    const { problem, runner, extravars } = runs as { problem: string | null; runner: string | null; extravars: object }
    const { __jobid__: _, ...variables } = job.extravars as Record<string, unknown>
    expect(variables).toEqual(extravars)
    if (job.job_type !== 'ansible') return
    expect(job).toMatchObject(problem === null ? { status_reason: null } : { status: 'failed', status_reason: problem })
    // A runner that is not known has only a name.
    if (runner !== null) expect(job.runner).toBe(runner)
  }

  /** A schedule is refused like its launch, but not for what will pass. */
  async function comparedSchedule(
    form: string,
    caller: string,
    { rawFormData, credentials }: Pick<Body, 'rawFormData' | 'credentials'>,
  ) {
    const { pin: _, ...values } = rawFormData as Record<string, unknown>
    const said = outcomeOf(
      await evaluated(form, caller, { rawFormData: { ...credentials, ...values }, extravars: values, credentials }),
    )
    const at = new Date(server.clock.now() + 3_600_000).toISOString()
    const answer = await post('/schedule', caller, { name: 'later', form, values, credentials, at })
    if (answer.body.code === 'too_many_schedules') return
    const isTaken = said.code === null || said.code === 'group_full'
    expect(outcomeOf(answer), JSON.stringify({ form, caller, values, credentials })).toEqual(
      isTaken ? { status: 'done', code: null, problem: null } : said,
    )
    if (answer.status === 200)
      await server.call('DELETE', `/schedule/${String(answer.body.id)}`, { token: server.admin })
  }

  /** A relaunch does what an evaluation with the kept values says. */
  async function comparedRelaunch(
    id: number,
    form: string,
    caller: string,
    { rawFormData, credentials, extravars }: Body,
  ) {
    await post(`/job/${id}/abort`, 'admin', {})
    await post(`/job/${id}/reject`, 'admin', {})
    await ended(id)
    const isPlain = Object.keys(credentials).length === 0 && !('pin' in rawFormData) && !('login' in rawFormData)
    const isChecked = mode === 'enforce' && !('strange' in rawFormData) && Object.keys(extravars).length === 0
    if (!isPlain || !isChecked) return
    const kept = await server.call('GET', `/job/${id}/rawformdata`, { token: tokens.get(caller) ?? '' })
    if (kept.status !== 200) return
    const said = outcomeOf(await evaluated(form, caller, { rawFormData: kept.body }))
    const again = outcomeOf(await post(`/job/${id}/relaunch`, caller, {}))
    expect(again).toEqual({ ...said, problem: said.code === null ? null : said.problem })
  }
})

/** What an answer says of a launch: whether it is refused, with which code, and in which words. */
function outcomeOf({ status, body }: Answer) {
  if (status !== 200) return { status: 'refused', code: String(body.code), problem: String(body.error) }
  const { runs } = body as { runs?: { refused: string | null; problem: string | null } }
  if (!runs || runs.refused === null) return { status: 'done', code: null, problem: runs?.problem ?? null }
  return { status: 'refused', code: runs.refused, problem: runs.problem }
}

/** Values for fields of a form. Most of them are right, so that many launches go on. */
function valuesFor(fields: readonly { readonly name: keyof typeof FIELDS }[], draws: readonly number[]) {
  const entries = fields.flatMap(({ name }, index): [string, unknown][] => {
    const [kind = 0, which = 0] = draws.slice(2 * index)
    const [right, wrong] = VALUES[name]
    const choices = kind < 8 ? wrong : right
    return kind > 85 && name !== 'who' ? [] : choices.length === 0 ? [] : [[name, choices[which % choices.length]]]
  })
  return Object.fromEntries(entries)
}

/** The forms of this seed. They are files, and files are read at the start. */
function formsOfSeed() {
  return fc.sample(forms, { seed: SEED, numRuns: FORMS }).map((form, index) => ({ name: `f${index}`, ...form }))
}
