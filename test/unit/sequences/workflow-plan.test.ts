import { describe, expect, test } from 'vitest'
import type { NodeState } from '../../../control-plane/src/sequences/kind.js'
import { type ForAllNodes, planWorkflow } from '../../../control-plane/src/sequences/workflows/plan.js'
import { createWorkflowKind } from '../../../control-plane/src/sequences/workflows/workflow-kind.js'
import type { NestedNode, Workflow, WorkflowNode } from '../../../control-plane/src/sequences/workflows/workflow.js'
import { type Links, approval, playbook } from './graph.js'

const FOR_ALL: ForAllNodes = {
  runner: 'south',
  credentials: { vm: 'esx' },
  ansibleCredentials: null,
  vaultCredentials: [],
  verbose: true,
  keepExtravars: false,
  allowJinjaInExtravars: false,
  playbookFiles: null,
}

function nested(identifier: string, workflow: string, links: Links = {}, more: Partial<NestedNode> = {}): NestedNode {
  const { playbook: _, runner: __, ...node } = playbook(identifier, links)
  const { extraData, ifExtraVar, extraVarsKey, needsAllParents } = node
  const own = { extraData, ifExtraVar, extraVarsKey, needsAllParents, links: node.links, identifier }
  return { ...own, type: 'workflow_job_template', workflow, ...more }
}

/** Workflows by name, and how often each was looked for. */
function folder(workflows: Readonly<Record<string, readonly WorkflowNode[]>>) {
  const asked: string[] = []
  return {
    asked,
    find(name: string) {
      asked.push(name)
      const nodes = workflows[name]
      const workflow: Workflow = { name, extraVars: name === 'Main' ? { from: 'file' } : {}, nodes: nodes ?? [] }
      return Promise.resolve(nodes === undefined ? { problem: `no ${name}` } : { workflow })
    },
  }
}

/** The kind, opened with the plan that a launch makes now. */
async function opened(workflows: Readonly<Record<string, readonly WorkflowNode[]>>) {
  const files = folder(workflows)
  const { plan } = await planWorkflow(files, 'Main', FOR_ALL)
  const later = folder({})
  return { sequence: createWorkflowKind({ workflows: later, outputLimitBytes: 1000 }).open(plan), later }
}

const state = (identifier: string, more: Partial<NodeState> = {}): NodeState => ({
  identifier,
  status: 'waiting',
  subjobId: null,
  startTime: null,
  endTime: null,
  reason: null,
  approval: null,
  dueTime: null,
  artifacts: {},
  ...more,
})
const facts = (extravars: Record<string, unknown> = {}) => ({ extravars, now: 0, serviceTime: 5000 })

describe('the plan of a workflow', () => {
  test('names the jobs of all nodes, also of workflows in it, each workflow once', async () => {
    const files = folder({
      Main: [
        playbook('a', {}, { runner: 'north', credentials: ['router'], verbosity: 2, skipTags: 'slow' }),
        playbook('nothing', {}, { doesNothing: 'it pulls a repository' }),
        approval('ask'),
        nested('in', 'Inner', {}, { extraVarsKey: 'part' }),
        nested('again', 'Inner'),
        nested('self', 'Main'),
        nested('gone', 'Gone'),
      ],
      Inner: [playbook('b'), nested('back', 'Main')],
    })
    const { nodes, problem, jobs } = await planWorkflow(files, 'Main', FOR_ALL)
    expect([nodes, problem]).toEqual([['a', 'nothing', 'ask', 'in', 'again', 'self', 'gone'], null])
    expect(jobs.map(({ settings }) => settings)).toMatchObject([
      {
        playbook: 'a.yml',
        runner: 'north',
        credentials: { vm: 'esx', router: 'router' },
        verbosity: 2,
        skipTags: 'slow',
        check: false,
        diff: false,
        verbose: true,
      },
      { playbook: 'b.yml', runner: 'south', credentials: { vm: 'esx' }, check: false, diff: false },
    ])
    const values = { part: { x: 1 }, y: 2 }
    expect(jobs.map((job) => job.values(values))).toEqual([{ ...values, from: 'file' }, { x: 1 }])
    expect(files.asked).toEqual(['Main', 'Inner', 'Gone'])
  })

  test('of a workflow that is not there says so, and has nothing to run', async () => {
    expect(await planWorkflow(folder({}), 'Main', FOR_ALL)).toMatchObject({ problem: 'no Main', nodes: [], jobs: [] })
  })

  test('is made of workflow forms only, and goes on after a rejection', async () => {
    const kind = createWorkflowKind({ workflows: folder({ Main: [playbook('a')] }), outputLimitBytes: 1000 })
    expect(await kind.plan({ ...FOR_ALL, type: 'workflow', workflow: 'Main' } as never)).toMatchObject({ nodes: ['a'] })
    expect(await kind.plan({ ...FOR_ALL, type: 'ansible' } as never)).toBeNull()
    expect(kind).toMatchObject({ jobType: 'workflow', endsWithRejection: false })
  })

  test('keeps the workflows of its nodes as they were', async () => {
    const { sequence, later } = await opened({ Main: [nested('in', 'Inner')], Inner: [playbook('b')] })
    expect(await sequence.childJob('in', [], facts())).toMatchObject({ nested: { nodes: ['b'], problem: null } })
    expect(later.asked).toEqual([])
  })
})

describe('the nodes of a plan', () => {
  test('have their names, their links, and the runners of all their jobs', async () => {
    const { sequence } = await opened({
      Main: [
        playbook('a', { success: ['in'] }, { needsAllParents: true }),
        playbook('nothing', {}, { doesNothing: 'it does' }),
        nested('in', 'Inner'),
        nested('gone', 'Gone'),
        approval('ask'),
      ],
      Inner: [
        playbook('b', {}, { runner: 'north' }),
        playbook('c', {}, { runner: 'north' }),
        nested('in', 'Inner'),
        playbook('d'),
      ],
    })
    expect(sequence.nodes()).toEqual([
      {
        identifier: 'a',
        name: 'a.yml',
        type: 'job_template',
        links: { success: ['in'], failure: [], always: [] },
        needsAllParents: true,
        runners: ['south'],
      },
      expect.objectContaining({ identifier: 'nothing', runners: [] }),
      expect.objectContaining({ name: 'Inner', type: 'workflow_job_template', runners: ['north', 'south'] }),
      expect.objectContaining({ name: 'Gone', runners: [] }),
      expect.objectContaining({ name: 'ask', type: 'workflow_approval_template', runners: [] }),
    ])
  })

  test('have a job, or an approval, and not the other', async () => {
    const { sequence } = await opened({ Main: [playbook('a'), approval('ask')] })
    expect(sequence.approval('ask')).toMatchObject({ title: 'ask' })
    expect(await sequence.childJob('a', [], facts())).toMatchObject({ settings: { playbook: 'a.yml' }, nested: null })
    expect(() => sequence.approval('a')).toThrow('the node a asks for no approval')
    expect(() => sequence.approval('none')).toThrow('the plan has no node none')
    await expect(async () => sequence.childJob('ask', [], facts())).rejects.toThrow('the node ask has no job')
  })
})

describe('a decision', () => {
  const passesOn = state('a', { status: 'success', artifacts: { received: { r: 1 }, own: { go: true } } })

  test('passes data on: to jobs, to nodes that are skipped, and to approvals', async () => {
    const { sequence } = await opened({
      Main: [
        playbook('a', { success: ['b', 'c', 'ask'] }),
        playbook('b', {}, { ifExtraVar: 'go' }),
        playbook('c', {}, { ifExtraVar: 'stop' }),
        approval('ask'),
      ],
    })
    const nodes = [passesOn, state('b'), state('c'), state('ask')]
    const received = { received: { r: 1, go: true } }
    expect(sequence.decide(nodes, facts())).toMatchObject({
      start: ['b'],
      changes: [{ identifier: 'c', status: 'skipped', artifacts: received }],
      ask: null,
    })
    expect(await sequence.childJob('b', nodes, facts({ form: 1 }))).toMatchObject({
      values: { r: 1, go: true, from: 'file', form: 1 },
      artifacts: received,
    })
    const asks = [passesOn, state('b', { status: 'success' }), state('c', { status: 'skipped' }), state('ask')]
    expect(sequence.decide(asks, facts())).toEqual({
      start: [],
      changes: [{ identifier: 'ask', status: 'approve', reason: null, artifacts: received }],
      ask: 'ask',
      end: null,
    })
    expect(sequence.approvalValues?.('ask', asks, facts({ form: 1 }))).toEqual({
      r: 1,
      go: true,
      from: 'file',
      form: 1,
    })
  })

  test('gives an approval with a time limit the time when it ends', async () => {
    const { sequence } = await opened({ Main: [{ ...approval('ask'), timeoutSeconds: 1 }] })
    expect(sequence.decide([state('ask')], facts()).changes).toMatchObject([{ status: 'approve', dueTime: 6000 }])
    const forEver = await opened({ Main: [approval('ask')] })
    expect(forEver.sequence.decide([state('ask')], facts()).changes[0]).not.toHaveProperty('dueTime')
    const waits = (dueTime: number) => sequence.decide([state('ask', { status: 'approve', dueTime })], facts())
    expect(waits(5001)).toMatchObject({ changes: [], end: null })
    expect(waits(5000).changes).toEqual([
      { identifier: 'ask', status: 'failed', reason: 'nobody decided within 1 second' },
    ])
  })

  test('ends the workflow when an approval was rejected and nothing handles it', async () => {
    const { sequence } = await opened({ Main: [approval('ask'), playbook('b')] })
    const approvalOf = (decision: string) => ({ state: decision }) as unknown as NodeState['approval']
    const failed = (decision: string) =>
      sequence.decide(
        [
          state('ask', { status: 'failed', reason: 'no', approval: approvalOf(decision) }),
          state('b', { status: 'success' }),
        ],
        facts(),
      ).end
    expect(failed('rejected')).toEqual({ status: 'rejected', reason: 'no' })
    expect(failed('waiting')).toMatchObject({ status: 'failed' })
  })

  test('takes nothing from a parent of which nothing is stored yet', async () => {
    const { sequence } = await opened({ Main: [playbook('a', { always: ['b'] }), playbook('b')] })
    expect(await sequence.childJob('b', [], facts())).toMatchObject({ values: { from: 'file' } })
  })

  test('the artifacts of a node without a job are what it received', async () => {
    const { sequence } = await opened({ Main: [playbook('a')] })
    const ended = state('a', { status: 'failed', artifacts: { received: { r: 1 } } })
    expect(await sequence.artifactsOf?.({} as never, ended, [])).toEqual({ received: { r: 1 } })
  })
})
