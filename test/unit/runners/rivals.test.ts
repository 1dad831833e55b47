import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { BusListener } from '../../../control-plane/src/nodes/bus.js'
import type { BusMessage } from '../../../control-plane/src/nodes/messages.js'
import { SOLE_NODE } from '../../../control-plane/src/nodes/nodes.js'
import { createRegistry } from '../../../control-plane/src/runners/registration/connections/registry.js'
import { createRivals } from '../../../control-plane/src/runners/registration/join/rivals.js'
import type { AgentConnection } from '../../../control-plane/src/runners/socket/agent-connection.js'
import { openSqliteStore } from '../../../control-plane/src/store/sqlite/sqlite-store.js'
import { holdProcessTimers } from '../../support/held-process-timers.js'
import { insertTestRunner } from '../../support/runner-rows.js'
import type { Store } from '../../../control-plane/src/store/store.js'

/** Whether an older process of a runner still runs, here or at another node. The known one has generation 5. */
const ANSWER_MS = 500
const FINGERPRINT = 'SHA256:edge'

async function asking(node: string | null, isShared = true) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-rivals-'))
  const store = await openSqliteStore(join(folder, 'holdfast.db'))
  const runner = await store.write('test', (queries) =>
    insertTestRunner(queries, { name: 'edge', generation: 5, connected_node: node }),
  )
  const registry = createRegistry()
  const published: BusMessage[] = []
  const listeners = new Set<BusListener>()
  const asked: number[] = []
  let questions = 0
  const rivals = createRivals({
    store: store as Store,
    registry,
    random: (bytes) => Buffer.alloc(bytes, (questions += 1)),
    answerMs: ANSWER_MS,
    nodes: {
      ...SOLE_NODE,
      id: 'here',
      isShared,
      isAlive: (id) => id !== 'dead',
      bus: {
        ...SOLE_NODE.bus,
        publish: (message) => void published.push(message),
        subscribe(listener) {
          listeners.add(listener)
          return () => void listeners.delete(listener)
        },
      },
    },
  })
  onTestFinished(async () => {
    rivals.close()
    await store.close()
    rmSync(folder, { recursive: true })
  })
  return {
    rivals,
    runner,
    published,
    listeners,
    asked,
    receive: (message: BusMessage) => {
      for (const { received } of listeners) received(message)
    },
    /** The older process is connected here, and answers or not. */
    connect(answers: boolean) {
      const socket = {
        answers: (milliseconds: number) => {
          asked.push(milliseconds)
          return Promise.resolve(answers)
        },
      }
      const hello = { fingerprint: FINGERPRINT, payload: { generation: 5 } }
      registry.add({ accepted: true, runnerId: runner.id, hello, socket } as unknown as AgentConnection)
    },
    /** What is found out about a newer process of this generation. */
    answers: (generation: number) => rivals.answers({ fingerprint: FINGERPRINT, generation }),
  }
}

describe('a process that is connected here', () => {
  test.each([
    [6, true, true],
    [6, false, false],
    [5, true, false],
    [4, true, false],
  ])(
    'and a newcomer of generation %d: when it answers (%s), it is a rival: %s',
    async (generation, isThere, isRival) => {
      const { answers, connect, asked, published } = await asking('here')
      connect(isThere)
      expect(await answers(generation)).toBe(isRival)
      expect([asked, published]).toEqual([generation > 5 ? [ANSWER_MS] : [], []])
    },
  )
})

describe('a process that is not connected here', () => {
  test.each([
    ['is at no node', null, 6, true],
    ['was at this node', 'here', 6, true],
    ['was at a dead node', 'dead', 6, true],
    ['is not older than the newcomer', 'other', 5, true],
    ['can be nowhere else, because there is no other node', 'other', 6, false],
  ])('is not asked when it %s', async (_, node, generation, isShared) => {
    const { answers, published } = await asking(node, isShared)
    expect([await answers(generation), published]).toEqual([false, []])
  })

  test('is not asked when nobody knows it', async () => {
    const { rivals, published } = await asking('other')
    expect(await rivals.answers({ fingerprint: 'SHA256:unknown', generation: 9 })).toBe(false)
    expect(published).toEqual([])
  })

  test.each([true, false])('is asked by its node, whose answer counts: %s', async (answer) => {
    const { answers, published, receive, runner } = await asking('other')
    const found = answers(6)
    await expect.poll(() => published.length).toBe(1)
    const question = '01'.repeat(16)
    expect(published).toEqual([{ topic: 'rival', runner: runner.id, question }])
    // The answer to another question says nothing.
    receive({ topic: 'answers', question: '02'.repeat(16), answers: !answer })
    receive({ topic: 'answers', question, answers: answer })
    receive({ topic: 'answers', question, answers: !answer })
    expect(await found).toBe(answer)
  })

  test('does not run when its node gives no answer in a second more than it may take, or this one stops', async () => {
    const timers = holdProcessTimers()
    onTestFinished(() => timers.release())
    const { answers, published, rivals, listeners } = await asking('other')
    const asked = async (count: number) => {
      while (published.length < count) await new Promise((resolve) => setImmediate(resolve))
    }
    const late: (boolean | string)[] = []
    const found = answers(6).then((one) => late.push(one))
    await asked(1)
    timers.advance(ANSWER_MS + 999)
    await new Promise((resolve) => setImmediate(resolve))
    expect(late).toEqual([])
    timers.advance(1)
    await found
    expect(late).toEqual([false])
    const open = answers(6)
    await asked(2)
    rivals.close()
    expect([await open, listeners.size, timers.count()]).toEqual([false, 0, 0])
  })
})

describe('the question of another node', () => {
  test.each([true, false])('about a process that is here is answered: %s', async (isThere) => {
    const { connect, published, receive, runner, asked } = await asking('here')
    connect(isThere)
    receive({ topic: 'rival', runner: runner.id, question: 'q' })
    await expect.poll(() => published).toEqual([{ topic: 'answers', question: 'q', answers: isThere }])
    expect(asked).toEqual([ANSWER_MS])
  })

  test('about another process is left to its node', async () => {
    const { connect, published, receive, runner, asked } = await asking('here')
    connect(true)
    receive({ topic: 'rival', runner: runner.id + 1, question: 'q' })
    receive({ topic: 'runner', runner: runner.id })
    await new Promise((resolve) => setImmediate(resolve))
    expect([published, asked]).toEqual([[], []])
  })
})
