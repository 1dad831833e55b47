import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { waitFor } from '../support/wait.js'
import { type FakeService, PASSWORD, startFakeService, wholeRecord } from './fake-service.js'
import { type Person, newPerson } from './run-cli.js'

const RED = '\u001b[0;31m'
const OFF = '\u001b[0m'

let service: FakeService
let person: Person

beforeEach(async () => {
  service = await startFakeService()
  onTestFinished(() => service.stop())
  person = newPerson({ HOLDFAST_TOKEN: 'script-token', HOLDFAST_SERVER: service.address })
})

describe('following a job', () => {
  it('shows output as it comes, without colours in a pipe, and ends with the job', async () => {
    const job = service.addJob()
    const cli = person.start(['job', 'follow', '1'])
    await waitFor('the live stream', () => service.openStreams() === 1)
    service.append(job, `TASK [one] ***\n${RED}fatal${OFF}: ä`)
    await cli.shows('TASK [one] ***\nfatal: ä')
    service.append(job, `nd so on\n`)
    await cli.shows('änd so on\n')
    service.end(job, 'success')
    const { code, stdout, stderr } = await cli.ended
    expect(code).toBe(0)
    expect(stdout).toBe('TASK [one] ***\nfatal: änd so on\n')
    expect(stderr).toBe('Job 1 ended success after 3.40 s\n')
  })

  // No event tells of it. A stream that is silent for 45 s would be left, and the job read again.
  it('notices an end that came just before the live stream', { timeout: 40_000 }, async () => {
    const job = service.addJob()
    service.override = ({ path }) => {
      if (path !== '/events') return null
      const wasRead = service.seen.some((one) => one.path === '/job/1/output')
      if (!wasRead) return { status: 503, body: { error: 'Not now', code: 'x' } }
      job.status = 'success'
      return null
    }
    expect((await person.run(['job', 'follow', '1'])).code).toBe(0)
  })

  it.each([
    ['writes plain text', [], 'ä漢字 end\n'],
    ['prints plain text as JSON', ['--json'], 'ä漢字 end\n'],
    ['prints colours as JSON', ['--json', '--color'], `${RED}ä漢字${OFF} end\n`],
  ])('%s also when pieces end inside of characters and colours', async (_what, options, shown) => {
    const whole = Buffer.from(`${RED}ä漢字${OFF} end\n`)
    const job = service.addJob()
    const cli = person.start(['job', 'follow', '1', ...options])
    await waitFor('the live stream', () => service.openStreams() === 1)
    for (const byte of whole) {
      const asked = service.seen.length
      service.append(job, Buffer.from([byte]))
      await waitFor('the client to read', () => service.seen.length > asked)
    }
    service.end(job, 'success')
    const { stdout } = await cli.ended
    const textOf = (line: string) => (JSON.parse(line) as { text?: string }).text ?? ''
    expect(options.length === 0 ? stdout : stdout.trim().split('\n').map(textOf).join('')).toBe(shown)
  })

  it('keeps the bytes as they are with --color', async () => {
    const job = service.addJob({ output: Buffer.from(`${RED}x${OFF}\n`), status: 'success' })
    const { stdout } = await person.run(['job', 'follow', '1', '--color'])
    expect(stdout).toBe(job.output.toString())
  })

  it('shows colours on a terminal', async () => {
    service.addJob({ output: Buffer.from(`${RED}x${OFF}\n`), status: 'success' })
    expect((await person.run(['job', 'follow', '1'], { terminal: true })).stdout).toContain(`${RED}x${OFF}`)
  })

  it('reads a large output piece by piece', async () => {
    const output = Buffer.from('0123456789abcde\n'.repeat(200_000))
    service.addJob({ output, status: 'success' })
    expect((await person.run(['job', 'follow', '1'])).stdout === output.toString()).toBe(true)
  })

  it('ends where an answer says another length than it has', async () => {
    service.addJob({ output: Buffer.from('whole\n') })
    service.override = ({ path }) =>
      path === '/job/1/output' ? { status: 200, body: 'cut', headers: { 'x-next-offset': '6' } } : null
    const { code, stdout, stderr } = await person.run(['job', 'follow', '1'])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('Is a proxy changing its answers?')
  })

  it.each(['the job', 'its output'])(
    'shows nothing of another run that was given the number: %s tells',
    async (what) => {
      const job = service.addJob({ run_id: 'a'.repeat(32), output: Buffer.from('mine\n') })
      const cli = person.start(['job', 'follow', '1'])
      await cli.shows('mine')
      await waitFor('the live stream', () => service.openStreams() === 1)
      // The control plane was restored between the two requests.
      if (what === 'its output')
        service.override = ({ path }) => (path === '/job/1' ? { status: 200, body: wholeRecord(job) } : null)
      const other = service.addJob({ id: 1, run_id: 'b'.repeat(32), output: Buffer.from('another one is longer\n') })
      service.append(other, 'and goes on\n')
      const { code, stdout, stderr } = await cli.ended
      expect({ code, stdout }).toEqual({ code: 5, stdout: 'mine\n' })
      expect(stderr).toContain(`Job 1 is another job now (run ${'b'.repeat(32)})`)
      expect(stderr).toContain(`The job that was asked for is run ${'a'.repeat(32)}`)
    },
  )

  it.each([
    ['success', 0],
    ['failed', 10],
    ['warning', 11],
    ['aborted', 12],
    ['rejected', 13],
    ['abandoned', 14],
  ])('a job that ended %s gives the exit code %i', async (status, expected) => {
    service.addJob({ status })
    expect((await person.run(['job', 'follow', '1'])).code).toBe(expected)
  })
})

describe('a job that is given up while it is followed', () => {
  const REASON = "the runner 'edge' has been silent since 2026-11-20T08:00:00.000Z"

  it('ends with exit code 14, and says that the real outcome may still come and how to see it', async () => {
    const job = service.addJob({ output: Buffer.from('before\n') })
    const cli = person.start(['job', 'follow', '1'])
    await cli.shows('before')
    service.end(job, 'abandoned', REASON)
    const { code, stdout, stderr } = await cli.ended
    expect({ code, stdout }).toEqual({ code: 14, stdout: 'before\n' })
    expect(stderr).toBe(
      `Job 1 ended abandoned after 3.40 s: ${REASON}\n` +
        'Its playbook may still be running, and its real outcome replaces this as soon as the runner reports it. ' +
        'Wait for it with: holdfast job follow 1 --wait   End it with: holdfast job abort 1 --abandoned\n',
    )
  })

  it.each([
    ['success', null, 0],
    ['failed', 'ansible-playbook ended with 2', 10],
    ['aborted', 'aborted by ann', 12],
  ])('with --wait it shows what still comes, and ends with the real outcome %s', async (status, reason, expected) => {
    const job = service.addJob({ output: Buffer.from('before\n') })
    const cli = person.start(['job', 'follow', '1', '--wait'])
    await cli.shows('before')
    service.end(job, 'abandoned', REASON)
    await cli.says(`Job 1 was given up: ${REASON}. Waiting for its real outcome; Ctrl-C stops waiting.\n`)
    service.append(job, 'meanwhile\n')
    await cli.shows('meanwhile')
    service.end(job, status, reason ?? undefined)
    const { code, stdout, stderr } = await cli.ended
    expect({ code, stdout }).toEqual({ code: expected, stdout: 'before\nmeanwhile\n' })
    expect(stderr).toContain(`Job 1 ended ${status} after 3.40 s${reason ? `: ${reason}` : ''}\n`)
    expect(stderr).not.toContain('holdfast job follow')
  })

  it('with --wait it also waits for a job that was given up before, and Ctrl-C stops that', async () => {
    service.addJob({ status: 'abandoned', status_reason: REASON })
    const cli = person.start(['job', 'follow', '1', '--wait', '--json'])
    await cli.shows('"abandoned"')
    await waitFor('the live stream', () => service.openStreams() === 1)
    cli.process.kill('SIGINT')
    expect((await cli.ended).code).toBe(130)
  })

  it('launched with --follow --wait it ends with the real outcome', async () => {
    const cli = person.start(['job', 'launch', 'Hello world', '-f', '--wait'])
    const job = await waitFor('the launch', () => service.jobs.get(1))
    service.end(job, 'abandoned', REASON)
    await cli.says('Waiting for its real outcome')
    service.end(job, 'success')
    expect((await cli.ended).code).toBe(0)
  })
})

describe('launching with --follow', () => {
  it('follows the new job', async () => {
    const cli = person.start(['job', 'launch', 'Hello world', '--follow'])
    const job = await waitFor('the launch', () => service.jobs.get(1))
    service.append(job, 'hello\n')
    service.end(job, 'failed', 'exit code 2')
    expect(await cli.ended).toEqual({
      code: 10,
      stdout: 'hello\n',
      stderr: 'Launched job 1 of Hello world.\nJob 1 ended failed after 3.40 s: exit code 2\n',
    })
  })

  it('with --json prints one object a line', async () => {
    const cli = person.start(['job', 'launch', 'Hello world', '-f', '--json'])
    const job = await waitFor('the launch', () => service.jobs.get(1))
    await cli.shows('"running"')
    service.append(job, `${RED}hello${OFF}\n`)
    await cli.shows('hello')
    service.end(job, 'success')
    const { stdout, stderr } = await cli.ended
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(lines).toMatchObject([
      { type: 'launched', id: 1 },
      { type: 'status', id: 1, status: 'running' },
      { type: 'output', offset: 0, text: 'hello\n' },
      { type: 'status', status: 'success' },
      { type: 'end', job: { id: 1, status: 'success' } },
    ])
    expect(stderr).toBe('')
  })
})

describe('when the control plane is away for a while', () => {
  it('says so, comes back by itself and shows every byte once', async () => {
    const job = service.addJob({ output: Buffer.from('before\n') })
    const cli = person.start(['job', 'follow', '1'])
    await cli.shows('before')
    await waitFor('the live stream', () => service.openStreams() === 1)
    await service.stop()
    await cli.says('The connection to the control plane is lost; the job goes on.')
    job.output = Buffer.concat([job.output, Buffer.from('meanwhile\n')])
    await service.start()
    await cli.says('Connected again.')
    await waitFor('the live stream', () => service.openStreams() === 1)
    service.append(job, 'after\n')
    service.end(job, 'success')
    const { code, stdout, stderr } = await cli.ended
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'before\nmeanwhile\nafter\n' })
    expect(stderr.match(/is lost/g)).toHaveLength(1)
  })

  it('renews its token on the way', async () => {
    const user = newPerson()
    await user.run(['login', '--server', service.address, '-u', 'a', '--password-stdin'], { input: PASSWORD })
    const job = service.addJob({ output: Buffer.from('before\n') })
    const cli = user.start(['job', 'follow', '1'])
    await cli.shows('before')
    await waitFor('the live stream', () => service.openStreams() === 1)
    service.expireTokens()
    await service.stop()
    await service.start()
    await waitFor('the live stream', () => service.openStreams() === 1)
    service.append(job, 'after\n')
    service.end(job, 'success')
    expect(await cli.ended).toMatchObject({ code: 0, stdout: 'before\nafter\n' })
    expect(service.usedTwice).toEqual([])
  })

  it('asks again for an answer that it cannot give now', async () => {
    const job = service.addJob({ output: Buffer.from('before\n') })
    const cli = person.start(['job', 'follow', '1'])
    await cli.shows('before')
    await waitFor('the live stream', () => service.openStreams() === 1)
    const refusals = [503, 429]
    service.override = ({ path }) => {
      const status = path === '/events' ? undefined : refusals.shift()
      return status ? { status, body: { error: 'Not now', code: 'x' } } : null
    }
    service.append(job, 'after\n')
    await cli.shows('after')
    service.end(job, 'success')
    expect(await cli.ended).toMatchObject({ code: 0, stdout: 'before\nafter\n' })
  })

  it('ends at once with exit code 3 for a server that was never there', async () => {
    await service.stop()
    expect((await person.run(['job', 'follow', '1'])).code).toBe(3)
  })

  it('ends with exit code 5 for a job that was deleted meanwhile', async () => {
    const job = service.addJob({ output: Buffer.from('before\n') })
    const cli = person.start(['job', 'follow', '1'])
    await cli.shows('before')
    await waitFor('the live stream', () => service.openStreams() === 1)
    service.jobs.delete(1)
    service.append(job, '')
    expect(await cli.ended).toMatchObject({ code: 5, stderr: 'holdfast: There is no job 1.\n' })
  })
})

it('Ctrl-C stops the command and not the job', async () => {
  service.addJob({ output: Buffer.from('before\n') })
  const cli = person.start(['job', 'follow', '1'])
  await cli.shows('before')
  await waitFor('the live stream', () => service.openStreams() === 1)
  cli.process.kill('SIGINT')
  const { code, stderr } = await cli.ended
  expect(code).toBe(130)
  expect(stderr).toContain('Stopped following; job 1 goes on.')
  expect(stderr).toContain('holdfast job abort 1')
  expect(service.seen.every(({ method }) => method === 'GET')).toBe(true)
})
