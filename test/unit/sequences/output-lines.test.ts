import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { NodeState } from '../../../control-plane/src/sequences/kind.js'
import { writeStepsOutput } from '../../../control-plane/src/sequences/multistep/output-lines.js'
import { writeWorkflowOutput } from '../../../control-plane/src/sequences/workflows/output-lines.js'
import { readOutput } from '../../../control-plane/src/store/jobs/job-output.js'
import { appendServiceLine } from '../../../control-plane/src/store/jobs/job-streams.js'
import { insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import type { Store } from '../../../control-plane/src/store/store.js'
import { queuedJob } from '../../runners/queued-job.js'
import { temporaryFolder } from '../../store/nodes.js'
import { openTestStore } from '../../support/test-database.js'

type Event = Parameters<typeof writeWorkflowOutput>[2]

const LIMIT = 1000
let folder: Awaited<ReturnType<typeof temporaryFolder>>
let store: Store
let runs = 0
let parent = 0
let child = 0

beforeAll(async () => {
  folder = await temporaryFolder()
  store = await openTestStore(folder.path)
})
afterAll(async () => {
  await store.close()
  await folder.remove()
})
const newJob = () => {
  runs += 1
  const runId = String(runs).padStart(32, '0')
  return store.write('test', (queries) => insertJob(queries, queuedJob(1, runId)))
}
beforeEach(async () => {
  parent = await newJob()
  child = await newJob()
})

async function outputOf(id: number): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of readOutput(store.read, id, 0)) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

const node = (identifier: string, more: Partial<NodeState> = {}): NodeState => ({
  identifier,
  status: 'success',
  subjobId: null,
  startTime: 1,
  endTime: 2,
  reason: null,
  approval: null,
  dueTime: null,
  artifacts: {},
  ...more,
})

const banner = (text: string) => `${text} `.padEnd(79, '*')

describe('the output of a workflow', () => {
  async function written(...events: Event[]): Promise<string> {
    for (const event of events) {
      await store.write('test', (queries) => writeWorkflowOutput(queries, parent, event, LIMIT))
    }
    return outputOf(parent)
  }

  test('names each job that starts', async () => {
    expect(await written({ what: 'started', identifier: 'a', jobId: 7 })).toContain('Started [a] as job 7')
  })

  test('repeats the output of a job under a banner, as long as it has room', async () => {
    await store.write('test', (queries) => appendServiceLine(queries, child, 'from the job'))
    const ended = { what: 'ended', node: node('a', { subjobId: child }) } as const
    const text = await written(ended)
    expect(text).toContain(banner('WORKFLOW NODE [a] (success)'))
    expect(text).toContain('from the job')
    expect(text).not.toContain('[WARNING]')
    await store.write('test', (queries) => appendServiceLine(queries, child, 'x'.repeat(2 * LIMIT)))
    expect(await written(ended)).toContain(
      `[WARNING]: The output would be too long with that of 'a', which is in job ${child}`,
    )
  })

  test('says what a node published and does not hand on', async () => {
    expect(await written({ what: 'ended', node: node('a') })).not.toContain('hands on less')
    const lost = { artifacts: { lost: ["'big', which was too large", 'more'] } }
    expect(await written({ what: 'ended', node: node('a', lost) })).toContain(
      "[WARNING]: The node 'a' hands on less than it published: 'big', which was too large; more",
    )
  })

  test.each([
    ['skipped', `${banner('WORKFLOW NODE [a] (skipped)')}\nwhy`],
    ['failed', "[WARNING]: The node 'a' failed: why"],
    ['aborted', "[WARNING]: The node 'a' was aborted: why"],
  ] as const)('says why a node without a job is %s', async (status, text) => {
    expect(await written({ what: 'changed', change: { identifier: 'a', status, reason: 'why' } })).toContain(text)
  })

  test.each(['success', 'approve', 'do not run'] as const)('does not tell that a node is %s', async (status) => {
    expect(await written({ what: 'changed', change: { identifier: 'a', status, reason: null } })).toBe('')
  })

  test('ends with a recap that counts what there was', async () => {
    const statuses = ['success', 'success', 'failed', 'aborted', 'skipped', 'do not run', 'do not run'] as const
    const nodes = statuses.map((status, index) => node(`n${index}`, { status }))
    const text = await written({ what: 'over', nodes, status: 'failed' })
    expect(text).toContain(
      `${banner('WORKFLOW RECAP')}\nok=2 failed=1 aborted=1 skipped=1 not run=2\nThe workflow ended: failed`,
    )
    const good = await written({ what: 'over', nodes: [node('a')], status: 'success' })
    expect(good).toContain('\nok=1\nThe workflow ended: success')
  })
})

describe('the output of a multistep job', () => {
  const step = (name: string, goesOn: boolean) => ({ name, continue: goesOn })
  const plan = { steps: [step('a', false), step('b', true)] } as unknown as Parameters<typeof writeStepsOutput>[2]
  async function written(event: Event): Promise<string> {
    await store.write('test', (queries) => writeStepsOutput(queries, parent, plan, event))
    return outputOf(parent)
  }

  test.each<[string, Event, string]>([
    ['a step that starts', { what: 'started', identifier: 'a', jobId: 7 }, banner('STEP [a] (job 7)')],
    ['a good end', { what: 'ended', node: node('a', { subjobId: 7, reason: 'x' }) }, 'ok: [a] (job 7)\n'],
    ['a good end without a job', { what: 'ended', node: node('a') }, 'ok: [a]\n'],
    [
      'a failure',
      { what: 'ended', node: node('a', { subjobId: 7, status: 'failed', reason: 'why' }) },
      'failed: [a] (job 7): why\n',
    ],
    ['a failure without a reason', { what: 'ended', node: node('a', { status: 'failed' }) }, 'failed: [a]\n'],
    [
      'a failure after which it goes on',
      { what: 'ended', node: node('b', { status: 'aborted', reason: 'why' }) },
      'aborted: [b]: why\n...going on (continue)\n',
    ],
    [
      'the end of a step that the plan does not know',
      { what: 'ended', node: node('c', { status: 'failed' }) },
      'failed: [c]\n',
    ],
    [
      'a step that does not run',
      { what: 'changed', change: { identifier: 'a', status: 'do not run', reason: 'why' } },
      'skipping: [a]: why\n',
    ],
    [
      'one without a reason',
      { what: 'changed', change: { identifier: 'a', status: 'skipped', reason: null } },
      'skipping: [a]\n',
    ],
    [
      'a step that was given up',
      { what: 'changed', change: { identifier: 'a', status: 'aborted', reason: 'why' } },
      'aborted: [a]: why\n',
    ],
  ])('tells %s', async (_what, event, text) => {
    expect(await written(event)).toContain(text)
  })

  test('ends with a recap; steps that do not run count as skipped, and aborted ones are named when there are any', async () => {
    const nodes = (['success', 'failed', 'skipped', 'do not run'] as const).map((status) => node(status, { status }))
    expect(await written({ what: 'over', nodes, status: 'failed' })).toContain(
      `${banner('STEP RECAP')}\nok=1 failed=1 skipped=2\nThe job ended: failed`,
    )
    expect(await written({ what: 'over', nodes: [node('a', { status: 'aborted' })], status: 'aborted' })).toContain(
      'ok=0 failed=0 aborted=1 skipped=0',
    )
  })
})
