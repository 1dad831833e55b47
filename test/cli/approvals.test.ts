import { describe, expect, it } from 'vitest'
import { waitFor } from '../support/wait.js'
import { type FakeJob } from './fake-service.js'
import { serviceOfFile } from './answering.js'

const ESCAPE = '\u001b'
const APPROVAL = {
  title: 'Deploy web-1',
  message: 'Look',
  roles: ['ops', 'dba'],
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

const waiting = (changes: Partial<FakeJob> = {}) =>
  service.addJob({ status: 'approve', approval: APPROVAL, output: Buffer.from('APPROVE [Deploy web-1]\n'), ...changes })

describe('deciding', () => {
  it.each([
    ['approve', 'approved', 'running'],
    ['reject', 'rejected', 'rejected'],
  ])('job %s: says that the job was %s', async (action, word, status) => {
    const job = waiting()
    expect(await person.run(['job', action, '1'])).toEqual({ code: 0, stdout: `Job 1 was ${word}\n`, stderr: '' })
    expect(job.status).toBe(status)
    expect(service.seen.at(-1)).toMatchObject({ method: 'POST', path: `/job/1/${action}` })
  })

  it('approves a job that has changed only when --force says so', async () => {
    waiting()
    await person.run(['job', 'approve', '1'])
    expect(service.seen.at(-1)?.query.has('force')).toBe(false)
    waiting()
    await person.run(['job', 'approve', '2', '--force'])
    expect(service.seen.at(-1)).toMatchObject({ method: 'POST', path: '/job/2/approve' })
    expect(service.seen.at(-1)?.query.get('force')).toBe('true')
  })

  it('--json prints the answer of the server', async () => {
    waiting()
    expect(JSON.parse((await person.run(['job', 'approve', '1', '--json'])).stdout)).toEqual({
      message: 'Job 1 was approved',
    })
  })

  it('a decision that comes too late ends with exit code 5 and the sentence of the server', async () => {
    service.addJob()
    const { code, stderr } = await person.run(['job', 'reject', '1'])
    expect({ code, stderr }).toEqual({ code: 5, stderr: 'holdfast: Job 1 does not wait.\n' })
    expect((await person.run(['job', 'approve', 'x'])).code).toBe(2)
  })
})

describe('job approvals', () => {
  it('lists the waiting jobs with title and roles, as plain text in a pipe', async () => {
    service.addJob()
    waiting({ approval: { ...APPROVAL, title: `evil\n${ESCAPE}[31mtitle` } })
    const { code, stdout } = await person.run(['job', 'approvals'])
    expect(code).toBe(0)
    const [head, row, ...rest] = stdout.split('\n')
    expect(head).toMatch(/^id {2}form +user +title +roles +waits$/)
    expect(row).toMatch(/^ 2 {2}Hello world {2}admin {2}evil title {2}ops, dba +\S/)
    expect(rest).toEqual([''])
    expect(stdout).not.toContain(ESCAPE)
    expect(service.seen.at(-1)?.query.get('waiting')).toBe('true')
  })

  it('is a framed table on a terminal, and --json prints the whole answer', async () => {
    waiting()
    expect((await person.run(['job', 'approvals'], { terminal: true })).stdout).toMatch(/│.*Deploy web-1.*│/)
    const { stdout } = await person.run(['job', 'approvals', '--json', '--records', '5'])
    expect(JSON.parse(stdout)).toMatchObject({ count: 1, records: [{ approval: APPROVAL, a_field_of_tomorrow: true }] })
    expect(service.seen.at(-1)?.query.get('records')).toBe('5')
  })

  it('says so when no job waits', async () => {
    expect((await person.run(['job', 'approvals'])).stdout).toBe('No job waits for an approval of yours.\n')
  })
})

describe('following a job that waits for its approval', () => {
  const WAITS = "Job 1 waits for an approval 'Deploy web-1' by ops, dba or an admin."

  it('says who may approve, goes on when the job is approved, and ends with the job', async () => {
    const job = waiting()
    const cli = person.start(['job', 'follow', '1'])
    await cli.says(WAITS)
    await cli.shows('APPROVE [Deploy web-1]')
    service.decide(job, 'approved', 'bob')
    await cli.says('Job 1 was approved by bob.')
    service.append(job, 'PLAY [all]\n')
    await cli.shows('PLAY [all]')
    service.end(job, 'success')
    const { code, stdout, stderr } = await cli.ended
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'APPROVE [Deploy web-1]\nPLAY [all]\n' })
    expect(stderr).toBe(`${WAITS}\nJob 1 was approved by bob.\nJob 1 ended success after 3.40 s\n`)
  })

  it('ends with exit code 13 when the job is rejected, also on a terminal', async () => {
    const job = waiting()
    const cli = person.start(['job', 'follow', '1'], { terminal: true })
    await cli.shows(WAITS)
    service.decide(job, 'rejected', 'bob')
    const { code, stdout } = await cli.ended
    expect(code).toBe(13)
    expect(stdout).toMatch(/Job 1 ended .*rejected.* after 3\.40 s: rejected by bob/)
    expect(stdout).not.toContain('was approved')
  })

  it('a job that was rejected before ends with exit code 13', async () => {
    service.addJob({
      status: 'rejected',
      status_reason: 'rejected by bob',
      approval: { ...APPROVAL, state: 'rejected' },
    })
    expect((await person.run(['job', 'follow', '1'])).code).toBe(13)
  })

  it.each([
    [['default'], 'by anyone.'],
    [[], 'by an admin.'],
  ])('roles %j: %s', async (roles, words) => {
    const job = waiting({ approval: { ...APPROVAL, title: null, roles } })
    const cli = person.start(['job', 'follow', '1'])
    await cli.says(`Job 1 waits for an approval ${words}`)
    service.decide(job, 'rejected', 'bob')
    expect((await cli.ended).code).toBe(13)
  })

  it('--json has the approval in the status lines, with the name of the user who gave it', async () => {
    const job = waiting()
    const cli = person.start(['job', 'follow', '1', '--json'])
    await cli.shows('"approve"')
    await waitFor('the live stream', () => service.openStreams() === 1)
    service.decide(job, 'approved', 'bob')
    await cli.shows('"running"')
    service.end(job, 'success')
    const { code, stdout } = await cli.ended
    expect(code).toBe(0)
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(lines.filter(({ type }) => type === 'status').slice(0, 2)).toEqual([
      { type: 'status', id: 1, status: 'approve', approval: APPROVAL },
      { type: 'status', id: 1, status: 'running', approval: { ...APPROVAL, state: 'approved', decided_by: 'bob' } },
    ])
  })

  it('Ctrl-C says that the job still waits and how to end it', async () => {
    waiting()
    const cli = person.start(['job', 'follow', '1'])
    await cli.says(WAITS)
    cli.process.kill('SIGINT')
    const { code, stderr } = await cli.ended
    expect(code).toBe(130)
    expect(stderr).toContain('job 1 still waits for its approval')
    expect(stderr).toContain('holdfast job reject 1')
  })
})
