import { expect, test } from 'vitest'
import type { AgentConnection } from '../../../control-plane/src/runners/socket/agent-connection.js'
import { createStrangers } from '../../../control-plane/src/runners/socket/strangers.js'

/** Requests of unknown agents whose decisions end when the test says so. */
function requests() {
  const strangers = createStrangers({ burst: 2, perSecond: 1 }, () => 0)
  const decided: string[] = []
  const ends = new Map<string, () => void>()
  const over: string[] = []
  const ask = (name: string, isEnded = false): AgentConnection => {
    // All that it looks at.
    const connection = { address: '127.0.0.1', socket: { ended: isEnded } } as unknown as AgentConnection
    const decide = (): Promise<void> => {
      decided.push(name)
      return new Promise((resolve) => ends.set(name, resolve))
    }
    void strangers.inTurn(connection, decide).then(() => over.push(name))
    return connection
  }
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  const ended = async (name: string): Promise<void> => {
    ends.get(name)?.()
    await settled()
  }
  return { strangers, ask, ended, settled, decided, over }
}

test('two are decided at a time, the others one after the other', async () => {
  const { ask, ended, settled, decided, over } = requests()
  for (const name of ['a', 'b', 'c', 'd']) ask(name)
  await settled()
  expect(decided).toEqual(['a', 'b'])
  await ended('b')
  expect([decided, over]).toEqual([['a', 'b', 'c'], ['b']])
  await ended('a')
  expect(decided).toEqual(['a', 'b', 'c', 'd'])
  await ended('c')
  await ended('d')
  ask('e')
  ask('f')
  await settled()
  expect(decided.slice(4)).toEqual(['e', 'f'])
})

test('who ends while waiting is over at once, and takes nobody a turn', async () => {
  const { strangers, ask, ended, settled, decided, over } = requests()
  ask('a')
  ask('b')
  const left = ask('c')
  ask('d', true)
  ask('e')
  strangers.ended(left)
  await settled()
  expect(over).toEqual(['c'])
  await ended('a')
  expect(decided).toEqual(['a', 'b', 'e'])
  await ended('b')
  await ended('e')
  expect(over).toEqual(['c', 'a', 'd', 'b', 'e'])
})

test('of very many addresses the oldest are forgotten, and not before', () => {
  const strangers = createStrangers({ burst: 2, perSecond: 1 }, () => 0)
  // All that it looks at.
  const mayAsk = (index: number) =>
    strangers.mayAsk({ address: `10.0.${index >> 8}.${index & 255}` } as unknown as AgentConnection)
  expect([mayAsk(0), mayAsk(0), mayAsk(0)]).toEqual([true, true, false])
  for (let index = 1; index < 10_000; index += 1) mayAsk(index)
  expect(mayAsk(0)).toBe(false)
  expect([mayAsk(10_000), mayAsk(0)]).toEqual([true, true])
  // The first thousand were forgotten, and the next one was not.
  expect([mayAsk(1000), mayAsk(1000)]).toEqual([true, false])
  expect([mayAsk(999), mayAsk(999)]).toEqual([true, true])
  // An address that came late is remembered.
  expect([mayAsk(9999), mayAsk(9999)]).toEqual([true, false])
})

test('addresses that sent nothing for a while are forgotten before those that still count', () => {
  let now = 0
  const strangers = createStrangers({ burst: 2, perSecond: 1 }, () => now)
  const mayAsk = (index: number) =>
    strangers.mayAsk({ address: `10.0.${index >> 8}.${index & 255}` } as unknown as AgentConnection)
  for (let index = 0; index < 10_000; index += 1) mayAsk(index)
  now = 1500
  for (let count = 0; count < 3; count += 1) mayAsk(0)
  expect([mayAsk(10_000), mayAsk(0)]).toEqual([true, false])
})
