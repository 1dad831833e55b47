import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { NOTHING_ELSE, jobRecord as fakeRecord } from './fake-service.js'
import { serviceOfFile } from './answering.js'

const ESCAPE = '\u001b'
const APPROVAL = {
  message: null,
  notifications: [],
  allowSelf: false,
  state: 'waiting',
  decided_by: null,
  decided_by_type: null,
  decided_at: null,
  subject: { manifest_sha256: null, form_sha256: null },
  forced: false,
}

const { service, person } = await serviceOfFile()

describe('job launch', () => {
  it('lets later variables replace earlier ones', async () => {
    const json = join(person.home, 'vars.json')
    const yaml = join(person.home, 'vars.yml')
    writeFileSync(json, '{"a": 1, "b": {"c": [true]}}')
    writeFileSync(yaml, '# as ansible reads it\na: yes\nd: 0644\n')
    const args = ['-e', `@${json}`, '-e', `@${yaml}`, '-e', 'text=1 = 1', '-e', '{"z": null}', '--verbose']
    const { code, stdout } = await person.run(['job', 'launch', ...args, 'Hello world'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Launched job 1 of Hello world.\n' })
    const values = { a: true, b: { c: [true] }, d: 0o644, text: '1 = 1', z: null }
    expect(service.seen.at(-1)?.body).toEqual({
      formName: 'Hello world',
      extravars: { ...values, __verbose__: true },
      // Checked by a service that checks; the verbose switch is no field.
      rawFormData: values,
    })
  })

  it('answers JSON for programs', async () => {
    expect(JSON.parse((await person.run(['job', 'launch', '42', '--json'])).stdout)).toEqual({ id: 1 })
    expect(service.seen.at(-1)?.body).toMatchObject({ formName: '42' })
  })

  it.each([
    [403, 'Your roles do not allow this form'],
    [404, 'There is no form nope'],
    [422, 'The values are refused'],
  ])('refused with %i ends with exit code 5 and the sentence of the server', async (status, error) => {
    service.override = () => ({ status, body: { error, code: 'x' } })
    const { code, stderr } = await person.run(['job', 'launch', 'nope'])
    expect({ code, stderr }).toEqual({ code: 5, stderr: `holdfast: ${error}.\n` })
  })
})

describe('job list', () => {
  it('is plain text in a pipe', async () => {
    service.addJob({ status: 'success' })
    service.addJob({ form: `evil\n${ESCAPE}[31mname` })
    const { stdout } = await person.run(['job', 'list'])
    const [head, second, first, ...rest] = stdout.split('\n')
    expect(head).toMatch(/^id {2}form +status +start +took +user +runner$/)
    expect(second).toMatch(/^ 2 {2}evil name +running /)
    expect(first).toMatch(/^ 1 {2}Hello world +success +\S+ \S+ +3\.40 s {2}admin {2}local-runner$/)
    expect(rest).toEqual([''])
    expect(stdout).not.toContain(ESCAPE)
  })

  it('is a coloured table on a terminal, and without colours with NO_COLOR', async () => {
    service.addJob({ status: 'success' })
    const painted = await person.run(['job', 'list'], { terminal: true })
    expect(painted.stdout).toContain('│')
    expect(painted.stdout).toContain(`${ESCAPE}[32msuccess`)
    const plain = await person.run(['job', 'list'], { terminal: true, environment: { NO_COLOR: '1' } })
    expect(plain.stdout).toContain('success')
    expect(plain.stdout).not.toContain(ESCAPE)
  })

  it('sends its filters, and --json prints the whole answer', async () => {
    service.addJob()
    const of = ['--records', '5', '--user', 'ada', '--user-type', 'ldap', '--runner', 'r1', '--form', 'F']
    const when = ['--status', 'failed,aborted', '--search', 'disk', '--from', '2026-01-01', '--to', '2026-02-01']
    const filters = [...of, ...when]
    const { stdout } = await person.run(['job', 'list', '--json', ...filters])
    expect(Object.fromEntries(service.seen.at(-1)?.query ?? [])).toEqual({
      records: '5',
      user: 'ada',
      user_type: 'ldap',
      runner: 'r1',
      form: 'F',
      status: 'failed,aborted',
      q: 'disk',
      from: '2026-01-01',
      to: '2026-02-01',
    })
    expect(JSON.parse(stdout)).toMatchObject({ count: 1, records: [{ id: 1, a_field_of_tomorrow: true }] })
  })

  it('shows the kind of a user who is not local, because two users may have the same name', async () => {
    service.addJob({ user: 'jane', user_type: 'local', status: 'success' })
    service.addJob({ user: 'jane', user_type: 'ldap', status: 'success' })
    const [, newer, older] = (await person.run(['job', 'list'])).stdout.split('\n')
    expect(newer).toMatch(/ {2}jane \(ldap\) {2}/)
    expect(older).toMatch(/ {2}jane {2,}local-runner$/)
  })

  it('says so when there are no jobs', async () => {
    expect((await person.run(['job', 'list'])).stdout).toBe('No jobs.\n')
  })
})

describe('one job', () => {
  it('job show prints its fields', async () => {
    service.addJob({ status: 'failed', status_reason: 'exit code 2' })
    const { stdout } = await person.run(['job', 'show', '1'])
    expect(stdout).toMatch(/^status +failed$/m)
    expect(stdout).toMatch(/^status_reason +exit code 2$/m)
    expect(stdout).toMatch(/^took +3\.40 s$/m)
  })

  it('job show lists the child jobs: those that are there, and how many more there are', async () => {
    const parent = service.addJob()
    service.addJob({ form: 'the first step' })
    const shownWith = async (subjobs: readonly number[]) => {
      service.override = ({ path }) =>
        path === '/job/1' ? { status: 200, body: { ...fakeRecord(parent), ...NOTHING_ELSE, subjobs } } : null
      return (await person.run(['job', 'show', '1'])).stdout
    }
    // The job 3 was deleted.
    const few = await shownWith([2, 3])
    expect(few).toMatch(/^ *2 {2}the first step +running/m)
    expect(few).not.toContain('more')
    const many = await shownWith([...Array.from({ length: 100 }, () => 2), 4, 5])
    expect(many.match(/the first step/g)).toHaveLength(100)
    expect(many.trimEnd().split('\n').at(-1)).toBe('… and 2 more')
  })

  it('job show says what a job waits for, and by whom', async () => {
    const job = service.addJob()
    const words = async (place: unknown, more: object = {}) => {
      service.override = ({ path }) => {
        const record = { ...fakeRecord(job), ...NOTHING_ELSE, place, ...more }
        return path === '/job/1' ? { status: 200, body: record } : null
      }
      return /^waits for +(.*)$/m.exec((await person.run(['job', 'show', '1'])).stdout)?.[1]
    }
    const runner = { name: 'db-1', online: true, last_seen: null }
    const place = { state: 'queued', since: '2026-11-20T08:00:00.000Z', until: null, before: 2, runner, tasks: [] }
    expect(await words(place)).toBe('a free slot on the runner db-1; 2 jobs come first')
    const gone = { ...runner, online: false, last_seen: '2026-11-20T08:00:00.000Z' }
    expect(await words({ ...place, before: 0, runner: gone })).toMatch(
      /^the runner db-1, which is offline \(last seen 2026-/,
    )
    const approval = { ...APPROVAL, title: 'Go live?', roles: ['ops'] }
    expect(await words(null, { status: 'approve', approval })).toBe('an approval by ops or an admin: Go live?')
    expect(await words({ ...place, state: 'running' })).toBeUndefined()
    expect(service.seen.at(-1)?.query.get('output')).toBe('false')
  })

  it('job abort prints the sentence of the server; exit code 5 for an ended job', async () => {
    const job = service.addJob()
    expect(await person.run(['job', 'abort', '1'])).toMatchObject({ code: 0, stdout: 'Job 1 will be aborted\n' })
    job.status = 'success'
    expect(await person.run(['job', 'abort', '1'])).toMatchObject({
      code: 5,
      stderr: 'holdfast: Job 1 is not running.\n',
    })
  })

  it('job abort --abandoned asks for the end of an abandoned job; show and list say that it still runs', async () => {
    service.addJob({ status: 'abandoned', connected: true })
    service.addJob({ status: 'abandoned', connected: false })
    service.addJob({ status: 'abandoned' })
    expect(await person.run(['job', 'abort', '1'])).toMatchObject({ code: 5 })
    const { code, stdout } = await person.run(['job', 'abort', '1', '--abandoned'])
    expect([code, stdout]).toEqual([0, 'The abort of job 1 is kept\n'])
    const shown = await person.run(['job', 'show', '1'])
    expect(shown.stdout).toMatch(/^connected +true$/m)
    expect(shown.stdout).toMatch(/^abort_requested +true$/m)
    const { stdout: table } = await person.run(['job', 'list'])
    expect(table.match(/abandoned( \(connected\))?/g)).toEqual(['abandoned', 'abandoned', 'abandoned (connected)'])
    const json = JSON.parse((await person.run(['job', 'list', '--json'])).stdout) as { records: unknown[] }
    expect(json.records.at(-1)).toMatchObject({ id: 1, connected: true, abort_requested: true })
  })

  const events = [1, 2, 3, 4, 5].map((order) => ({
    order,
    type: 'runner_on_ok',
    play: 'p',
    task: `task ${order}`,
    host: 'localhost',
    duration: 0.25,
    time: '2026-11-20T08:00:00.000Z',
  }))

  it('job events shows nothing when the number was given to another run between two pages', async () => {
    service.addJob({ events, run_id: 'a'.repeat(32) })
    service.override = ({ query }) => {
      // The control plane was restored meanwhile.
      if (query.get('after') === '2') service.addJob({ id: 1, events, run_id: 'b'.repeat(32) })
      return null
    }
    const { code, stdout, stderr } = await person.run(['job', 'events', '1'])
    expect({ code, stdout }).toEqual({ code: 5, stdout: '' })
    expect(stderr).toContain(`Job 1 is another job now (run ${'b'.repeat(32)})`)
  })

  it.each(['show', 'follow', 'abort', 'events', 'download'])(
    'job %s of an unknown job ends with exit code 5',
    async (command) => {
      const { code, stderr } = await person.run(['job', command, '99'])
      expect({ code, stderr }).toEqual({ code: 5, stderr: 'holdfast: There is no job 99.\n' })
    },
  )
})

describe('answers that are not from a Holdfast server', () => {
  it('JSON of another shape ends with exit code 1', async () => {
    service.override = () => ({ status: 200, body: { hello: 'world' } })
    const { code, stderr } = await person.run(['job', 'list'])
    expect(code).toBe(1)
    expect(stderr).toContain('does not understand')
  })

  it('a redirect ends with exit code 2 and names the address to use', async () => {
    service.override = () => ({ status: 301, body: {}, headers: { location: 'https://jobs.example.com/' } })
    const { code, stderr } = await person.run(['job', 'list'])
    expect(code).toBe(2)
    expect(stderr).toContain('redirects to https://jobs.example.com/')
  })

  it('a server that cannot answer now gives exit code 3 and the request id', async () => {
    service.override = () => ({
      status: 503,
      body: { error: 'The database is away' },
      headers: { 'x-request-id': 'r-1' },
    })
    const { code, stderr } = await person.run(['job', 'list'])
    expect(code).toBe(3)
    expect(stderr).toContain('request r-1): The database is away.')
  })
})

it.each([
  ['job download', ['job', 'download', '1']],
  ['job output', ['job', 'output', '1']],
  ['job output --host', ['job', 'output', '1', '--host', 'web1']],
])('%s ends with exit code 3 when the connection breaks in the middle', async (_what, args) => {
  service.addJob({ output: Buffer.from('the first half\n') })
  service.breaksDownloads = true
  const { code, stderr } = await person.run(args)
  expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining(service.address) })
})

it('a reader that goes away early is no error', async () => {
  service.addJob({ output: Buffer.alloc(4_000_000, 'x\n') })
  const cli = person.start(['job', 'download', '1'])
  await cli.shows('x')
  cli.process.stdout.destroy()
  const { code, stderr } = await cli.ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
})
