import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { type FakeJob } from './fake-service.js'
import { serviceOfFile } from './answering.js'

const { service, person } = await serviceOfFile()
let job: FakeJob
beforeEach(() => {
  job = service.addJob({ status: 'failed' })
})

const run = (args: string[], options = {}) => person.run(['job', 'relaunch', ...args], options)

describe('job relaunch', () => {
  it('as it ran sends no body and prints the sentence of the server', async () => {
    const { code, stdout, stderr } = await run(['1'])
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'Job 1 was launched again as job 2.\n', stderr: '' })
    expect(service.seen.at(-1)).toMatchObject({ method: 'POST', path: '/job/1/relaunch', body: undefined })
    expect([...(service.seen.at(-1)?.query ?? [])]).toEqual([])
  })

  it('with changes sends --values and then -e, in the order they are given, and --verbose in the query', async () => {
    const path = join(person.home, 'values.yml')
    writeFileSync(path, 'a: 1\nrows: [{gb: 2}]\n')
    expect((await run(['-e', 'a=text', '1', '--values', path, '-e', '{"pin": null}', '--verbose'])).code).toBe(0)
    expect(service.seen.at(-1)?.body).toEqual({ values: { a: 'text', rows: [{ gb: 2 }], pin: null } })
    expect(Object.fromEntries(service.seen.at(-1)?.query ?? [])).toEqual({ verbose: 'true' })
  })

  it('--json answers with one document', async () => {
    expect(JSON.parse((await run(['1', '--json'])).stdout)).toEqual({
      id: 2,
      message: 'Job 1 was launched again as job 2',
    })
  })

  it('--follow in a pipe writes the output to stdout and the rest to stderr, and ends with the exit code of the new job', async () => {
    const { code, stdout, stderr } = await run(['1', '--follow'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'again\n' })
    expect(stderr).toMatch(/^Job 1 was launched again as job 2\.\n.*Job 2 ended success/s)
  })

  it('--follow --json prints one object a line, the new job first', async () => {
    const { stdout } = await run(['1', '-f', '--json'])
    const lines = stdout.trimEnd().split('\n')
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ type: 'launched', id: 2 })
    expect(lines.length).toBeGreaterThan(1)
  })

  it('--follow on a terminal shows everything on the screen', async () => {
    const { code, stdout } = await run(['1', '--follow'], { terminal: true })
    expect(code).toBe(0)
    expect(stdout).toMatch(/Job 1 was launched again as job 2\..*again.*success/s)
  })

  it('of a running job ends with exit code 5 and the sentence of the server', async () => {
    job.status = 'running'
    const { code, stderr } = await run(['1'])
    expect({ code, stderr }).toEqual({ code: 5, stderr: 'holdfast: Job 1 has not ended but is running.\n' })
  })

  it('ends with exit code 5 for an unknown job, and 2 for a wrong id or a file that does not exist', async () => {
    expect(await run(['99'])).toMatchObject({ code: 5, stderr: 'holdfast: There is no job 99.\n' })
    const noId = await run(['one'])
    expect([noId.code, noId.stderr]).toEqual([2, expect.stringContaining(`"one" is not a job's id`)])
    const noFile = await run(['1', '--values', '/no/such/file'])
    expect([noFile.code, noFile.stderr]).toEqual([2, expect.stringContaining('--values /no/such/file: cannot be read')])
    expect(service.seen.filter(({ path }) => path.endsWith('/relaunch'))).toHaveLength(1)
  })

  it('refused with 422 ends with exit code 5 and names the missing fields', async () => {
    service.override = () => ({ status: 422, body: { error: 'Values refused', details: { missing: ['pin'] } } })
    expect(await run(['1'])).toMatchObject({
      code: 5,
      stderr: 'holdfast: Values refused.\n  pin: a value is needed\n',
    })
  })

  it('a lost answer ends with exit code 3 and says that the launch may have arrived', async () => {
    service.override = ({ path }) => (path.endsWith('/relaunch') ? { status: 502, body: {} } : null)
    const { code, stderr } = await run(['1'])
    expect([code, stderr]).toEqual([3, expect.stringContaining('The launch may have arrived nevertheless')])
  })
})
