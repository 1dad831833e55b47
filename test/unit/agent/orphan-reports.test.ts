import { type AgentMessage, MAX_INLINE_BYTES } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import type { JobRun } from '../../../runner-agent/src/jobs/job-run.js'
import { createOrphanReports } from '../../../runner-agent/src/jobs/orphan-reports.js'

const LAUNCHED = { user: 'ann', user_type: 'local', time: 1, masked: {} }

/** A job of the spool. @param claim what its claim holds; without: it cannot be read */
function runOf(
  jobId: number,
  state: 'running' | 'ended' = 'running',
  claim?: object,
  claimed_at = '1970-01-01',
): JobRun {
  const order = { form: 'f', playbook: 'p.yml', manifest_sha256: 'm', launched: LAUNCHED, ...claim }
  const content = { order, claimed_at }
  const folder = {
    key: { jobId, runId: `run-${jobId}` },
    claim: () => (claim ? { kind: 'present', content } : { kind: 'torn' }),
  }
  return { folder, state } as unknown as JobRun
}

type Orphan = Extract<AgentMessage, { type: 'orphan' }>

function reportsTo(service: string | null = null) {
  const sent: Orphan[] = []
  const send = (message: AgentMessage) => void sent.push(message as Orphan)
  return { sent, reports: createOrphanReports({ send, foreignService: () => service }) }
}

const idsOf = (sent: readonly Orphan[]) => sent.map(({ job_id }) => job_id)

test('jobs that the control plane does not know are described one after the other, each once', () => {
  const { sent, reports } = reportsTo()
  const [one, two] = [runOf(1), runOf(2)]
  for (const run of [one, two, one, two]) reports.add(run)
  expect(idsOf(sent)).toEqual([1])
  reports.answered('run-2')
  expect(idsOf(sent)).toEqual([1])
  reports.answered('run-1')
  expect(idsOf(sent)).toEqual([1, 2])
  reports.answered('run-2')
  reports.add(one)
  expect(idsOf(sent)).toEqual([1, 2])
})

test('a job that is described anew waits once for its turn, however often that is asked for', () => {
  const { sent, reports } = reportsTo()
  const [one, two] = [runOf(1), runOf(2)]
  reports.add(one)
  reports.add(two)
  reports.add(two, 'anew')
  reports.answered('run-1')
  reports.answered('run-2')
  expect(idsOf(sent)).toEqual([1, 2])
  reports.add(two, 'anew')
  expect(idsOf(sent)).toEqual([1, 2, 2])
})

test('a described job that ends is described again as ended; one that was not described is not', () => {
  const { sent, reports } = reportsTo()
  reports.ended(runOf(3, 'ended'))
  expect(sent).toEqual([])
  reports.add(runOf(1))
  reports.answered('run-1')
  reports.ended(runOf(1, 'ended'))
  expect(sent.map(({ ended }) => ended)).toEqual([false, true])
})

test('a description has the variables of an own job that fit, and never those of another control plane', () => {
  const variables = { a: 1 }
  const described = (claim: object | undefined, service: string | null = null) => {
    const { sent, reports } = reportsTo(service)
    reports.add(runOf(1, 'running', claim))
    return sent[0]
  }
  expect(described({ extravars: { inline: variables } })).toMatchObject({
    service: null,
    description: { form: 'f', playbook: 'p.yml', extravars: variables, launched: LAUNCHED, claimed_at: 0 },
  })
  expect(described({ extravars: { inline: variables } }, 'other')).toMatchObject({
    service: 'other',
    description: { extravars: null },
  })
  expect(described({ extravars: { blob: 'x' } })?.description?.extravars).toBeNull()
  expect(described({ extravars: { inline: { a: 'x'.repeat(2 ** 20) } } })?.description?.extravars).toBeNull()
  expect(described(undefined)?.description).toBeNull()
})

test.each([
  [MAX_INLINE_BYTES, true],
  [MAX_INLINE_BYTES + 1, false],
])('variables of %i characters are part of a description: %s', (length, isPart) => {
  const variables = { a: '' }
  variables.a = 'x'.repeat(length - JSON.stringify(variables).length)
  const { sent, reports } = reportsTo()
  reports.add(runOf(1, 'running', { extravars: { inline: variables } }))
  expect(sent[0]?.description?.extravars).toEqual(isPart ? variables : null)
})

test.each([
  ['1970-01-02T00:00:00.000Z', 86_400_000],
  ['1969-12-31T00:00:00.000Z', 0],
  ['no time at all', 0],
])('a job that was claimed at %s has that time, as far as it is one', (claimedAt, expected) => {
  const { sent, reports } = reportsTo()
  reports.add(runOf(1, 'running', { extravars: { inline: {} } }, claimedAt))
  expect(sent[0]?.description?.claimed_at).toBe(expected)
})
