import { describe, expect, test } from 'vitest'
import { abortStep, collectEnded } from '../../../control-plane/src/sequences/ended-nodes.js'
import type { ParentJob, StoredNode } from '../../../control-plane/src/sequences/parent-job.js'

const NOW = 5000

function node(identifier: string, more: Partial<StoredNode> = {}): StoredNode {
  return {
    identifier,
    status: 'running',
    subjobId: 7,
    startTime: 1,
    endTime: null,
    reason: null,
    approval: null,
    dueTime: null,
    artifacts: {},
    subjob: null,
    ...more,
  }
}

function subjob(status: string, more: Partial<NonNullable<StoredNode['subjob']>> = {}): StoredNode['subjob'] {
  return { status, reason: null, endTime: null, isAbortRequested: false, isCutOff: false, ...more }
}

describe('the end of a job is that of its node', () => {
  test.each([
    ['success', { status: 'success', reason: null }],
    ['warning', { status: 'success', reason: null }],
    ['failed', { status: 'failed', reason: 'why' }],
    ['rejected', { status: 'failed', reason: 'why' }],
    ['aborted', { status: 'aborted', reason: 'why' }],
  ])('%s', (status, expected) => {
    const found = collectEnded([node('a', { subjob: subjob(status, { reason: 'why', endTime: 42 }) })], NOW)
    expect(found.ended).toEqual([
      { status: expected.status, node: expect.objectContaining({ ...expected, endTime: 42 }) as unknown },
    ])
    expect(found.nodes).toEqual([expect.objectContaining({ identifier: 'a', ...expected, endTime: 42 })])
    expect(found.lost).toEqual([])
  })

  test.each(['running', 'approve'])('a job that is %s has not ended', (status) => {
    const nodes = [node('a', { subjob: subjob(status) })]
    expect(collectEnded(nodes, NOW)).toEqual({ ended: [], lost: [], nodes })
  })

  test.each(['waiting', 'approve', 'success', 'failed', 'aborted', 'skipped', 'do not run'] as const)(
    'a node that is %s is left as it is, whatever its job says',
    (status) => {
      const nodes = [node('a', { status, subjob: subjob('failed') })]
      expect(collectEnded(nodes, NOW)).toEqual({ ended: [], lost: [], nodes })
    },
  )

  test('a job that is gone has failed, now', () => {
    const { ended } = collectEnded([node('a')], NOW)
    expect(ended).toMatchObject([{ status: 'failed', node: { reason: 'its job is gone', endTime: NOW } }])
  })

  test('ends are told in the order of their times, and those without a time come now', () => {
    const ends = [node('late', { subjob: subjob('success', { endTime: 300 }) })]
    ends.push(node('now'), node('early', { subjob: subjob('failed', { endTime: 100 }) }))
    const { ended, nodes } = collectEnded(ends, 200)
    expect(ended.map((one) => one.node.identifier)).toEqual(['early', 'now', 'late'])
    expect(nodes.map(({ identifier }) => identifier)).toEqual(['late', 'now', 'early'])
  })
})

describe('a job that was given up', () => {
  test('is told once, and its node waits for the real end', () => {
    const lost = node('a', { subjob: subjob('abandoned', { reason: 'silent' }) })
    expect(collectEnded([lost], NOW)).toEqual({ ended: [], lost: [lost], nodes: [lost] })
    const told = { ...lost, reason: 'waits for the real outcome of job 7' }
    expect(collectEnded([told], NOW)).toEqual({ ended: [], lost: [], nodes: [told] })
  })

  test.each([
    ['silent', 'silent; its end is not waited for'],
    [null, 'it was given up; its end is not waited for'],
  ])('has failed when its runner can report nothing any more (%s)', (reason, expected) => {
    const gone = node('a', { subjob: subjob('abandoned', { reason, isCutOff: true, endTime: 9 }) })
    expect(collectEnded([gone], NOW).ended).toMatchObject([
      { status: 'failed', node: { reason: expected, endTime: 9 } },
    ])
  })
})

describe('an abort of the parent job', () => {
  const job = { id: 3 } as ParentJob['job']
  const abort = (...nodes: StoredNode[]) => abortStep(nodes, { job })
  const notRun = (identifier: string) => ({ identifier, status: 'do not run', reason: 'job 3 was aborted' })

  test('keeps nodes that have not begun from running', () => {
    const step = abort(
      node('a', { status: 'waiting', subjobId: null }),
      node('b', { status: 'approve', subjobId: null }),
    )
    expect(step).toEqual({ changes: [notRun('a'), notRun('b')], passOn: [], isOver: true })
  })

  test.each(['success', 'failed', 'aborted', 'skipped', 'do not run'] as const)(
    'leaves a node that is %s as it is',
    (status) => {
      expect(abort(node('a', { status, subjob: subjob('abandoned') }))).toEqual({
        changes: [],
        passOn: [],
        isOver: true,
      })
    },
  )

  test('is passed on to each running job once, and waits for its end', () => {
    const running = node('a', { subjob: subjob('running') })
    const asked = node('b', { subjob: subjob('running', { isAbortRequested: true }) })
    expect(abort(running, asked, node('c', { status: 'waiting' }))).toEqual({
      changes: [notRun('c')],
      passOn: [running],
      isOver: false,
    })
    expect(abort(asked)).toEqual({ changes: [], passOn: [], isOver: false })
  })

  test('does not wait for a job that was given up, but is passed on to it', () => {
    const lost = node('a', { subjob: subjob('abandoned') })
    expect(abort(lost)).toEqual({
      changes: [
        {
          identifier: 'a',
          status: 'aborted',
          reason: 'job 3 was aborted; job 7 was given up and may still run until its runner comes back',
        },
      ],
      passOn: [lost],
      isOver: true,
    })
    const told = node('a', { subjob: subjob('abandoned', { isAbortRequested: true }) })
    expect(abort(told)).toMatchObject({ passOn: [], isOver: true })
    expect(abort(lost, node('b', { subjob: subjob('approve') }))).toMatchObject({ isOver: false })
  })
})
