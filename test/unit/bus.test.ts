import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Post, type PostListener, createBus } from '../../control-plane/src/nodes/bus.js'
import { type BusMessage, readLetter, writeLetter } from '../../control-plane/src/nodes/messages.js'
import { heldTimers } from '../api/held-timers.js'

/** A bus whose letters are sent when the test says so. */
function openBus() {
  const held = heldTimers()
  const letters: string[] = []
  const warnings: string[] = []
  const waiting: { done(): void; failed(error: Error): void }[] = []
  let listener: PostListener | null = null
  let isClosed = false
  const post: Post = {
    send(letter) {
      // What the bus sends to itself is not for others.
      if (readLetter(letter)?.messages.length === 0) return Promise.resolve()
      letters.push(letter)
      return new Promise((done, failed) => waiting.push({ done, failed }))
    },
    close() {
      isClosed = true
      return Promise.resolve()
    },
  }
  const bus = createBus({
    nodeId: 'me',
    timers: held.timers,
    log: { info: () => undefined, warn: (_fields, text) => void warnings.push(text) },
    isAlone: () => true,
    openPost(given) {
      listener = given
      return post
    },
  })
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  return {
    bus,
    letters,
    warnings,
    isClosed: () => isClosed,
    arrive: (text: string) => listener?.arrived(text),
    connect: () => listener?.connected(),
    /** The letter under way is sent, and the time until the next one passes. */
    async sent(how: 'done' | 'failed' = 'done') {
      const one = waiting.shift()
      if (how === 'done') one?.done()
      else one?.failed(new Error('away'))
      await settled()
      held.move(1000)
    },
    messages: () => letters.flatMap((letter) => readLetter(letter)?.messages ?? []),
  }
}

const message = fc.oneof(
  fc.record({ topic: fc.constant('live' as const), name: fc.constantFrom('jobs', 'runners') }),
  fc.record({ topic: fc.constant('queued' as const), runner: fc.nat() }),
  fc.record({ topic: fc.constant('abort' as const), runner: fc.nat(), job: fc.nat(), run: fc.string() }),
)

test('every published message is in some letter, and PostgreSQL accepts every letter', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(message, { maxLength: 400 }), async (published: BusMessage[]) => {
      const { bus, letters, messages, sent } = openBus()
      for (const one of published) bus.publish(one)
      for (let letter = 0; letter < letters.length; letter += 1) await sent()
      const told = new Set(messages().map((one) => JSON.stringify(one)))
      expect(told).toEqual(new Set(published.map((one) => JSON.stringify(one))))
      for (const letter of letters) expect(Buffer.byteLength(letter)).toBeLessThan(8000)
    }),
    { numRuns: 30 },
  )
})

test('the first message is sent at once, and later ones once and together', async () => {
  const { bus, letters, messages, sent } = openBus()
  bus.publish({ topic: 'live', name: 'jobs' })
  expect(letters).toHaveLength(1)
  for (let count = 0; count < 100; count += 1) bus.publish({ topic: 'live', name: 'jobs' })
  bus.publish({ topic: 'queued', runner: 7 })
  expect(letters).toHaveLength(1)
  await sent()
  expect(letters).toHaveLength(2)
  expect(messages().slice(1)).toEqual([
    { topic: 'live', name: 'jobs' },
    { topic: 'queued', runner: 7 },
  ])
})

test('listeners get messages of other nodes, and unknown messages are left out', () => {
  const { bus, arrive, connect } = openBus()
  const heard: unknown[] = []
  const stop = bus.subscribe({ received: (one) => heard.push(one), missed: () => heard.push('missed') })
  arrive(writeLetter('other', ['{"topic":"queued","runner":1}', '{"topic":"of a later release"}', '{"topic":"live"}']))
  arrive(writeLetter('me', ['{"topic":"queued","runner":2}']))
  for (const rubbish of ['', 'no JSON', '[]', '{"from":1,"messages":[]}', '{"from":"x"}']) arrive(rubbish)
  connect()
  stop()
  arrive(writeLetter('other', ['{"topic":"queued","runner":3}']))
  expect(heard).toEqual([{ topic: 'queued', runner: 1 }, 'missed'])
})

test('waiting messages are sent before the bus closes', async () => {
  const { bus, letters, messages, sent, isClosed } = openBus()
  bus.publish({ topic: 'queued', runner: 1 })
  bus.publish({ topic: 'queued', runner: 2 })
  const closed = bus.close()
  await sent()
  expect(isClosed()).toBe(false)
  await sent()
  await closed
  expect(isClosed()).toBe(true)
  bus.publish({ topic: 'queued', runner: 3 })
  expect(letters).toHaveLength(2)
  expect(messages()).toHaveLength(2)
})

test('a letter that cannot be sent is logged once, and again after one that was sent', async () => {
  const { bus, warnings, sent } = openBus()
  for (const how of ['failed', 'failed', 'done', 'failed'] as const) {
    bus.publish({ topic: 'live', name: 'jobs' })
    await sent(how)
  }
  expect(warnings).toHaveLength(2)
})
