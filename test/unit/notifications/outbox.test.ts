import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DeliveryProblem } from '../../../control-plane/src/notifications/attempt.js'
import { createDeliveries } from '../../../control-plane/src/notifications/deliveries.js'
import { createOutbox, PAUSES_MS } from '../../../control-plane/src/notifications/outbox.js'
import { insertDelivery } from '../../../control-plane/src/store/service/notification-deliveries.js'
import type { Delivery } from '../../../control-plane/src/store/service/notification-deliveries.js'
import type { Store } from '../../../control-plane/src/store/store.js'
import { heldTimers } from '../../api/held-timers.js'
import { openTestStore } from '../../support/test-database.js'
import { waitFor } from '../../support/wait.js'

const START = 1_000_000
const MINUTE = 60_000

let folder: string
let store: Store
let now: number
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-outbox-'))
  store = await openTestStore(folder)
  now = START
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

/** Stores a delivery that is due at once. */
const put = (lane: string, event = 'job.ended') =>
  store.write('test', (queries) =>
    insertDelivery(
      queries,
      {
        uid: randomBytes(4).toString('hex'),
        lane,
        targetId: null,
        recipient: 'r',
        event,
        eventAt: 1,
        jobId: null,
        subject: null,
        body: 'b',
      },
      now,
    ),
  )
const all = () => store.read.selectFrom('notification_delivery').selectAll().orderBy('id').execute()

/** An outbox whose attempts end when the test says so. */
function outbox(atOnce?: (delivery: Delivery) => void) {
  const held = heldTimers()
  const running: { delivery: Delivery; signal: AbortSignal; channel: string; end: (error?: Error) => void }[] = []
  const metered: string[] = []
  const warned: string[] = []
  const attempt =
    (channel: string) =>
    (delivery: Delivery, { signal }: { readonly signal: AbortSignal }) => {
      if (atOnce) return Promise.resolve(delivery).then(atOnce)
      return new Promise<void>((resolve, reject) => {
        const end = (error?: Error) => (error ? reject(error) : resolve())
        signal.addEventListener('abort', () => reject(new Error('cut off')))
        running.push({ delivery, signal, channel, end })
      })
    }
  const made = createOutbox({
    store,
    clock: { now: () => now },
    timers: held.timers,
    random: randomBytes,
    log: { info: () => undefined, warn: (_, text) => void warned.push(text) },
    webhook: attempt('webhook'),
    mail: attempt('mail'),
    meter: (channel, outcome) => void metered.push(`${channel} ${outcome}`),
  })
  return { outbox: made, held, running, metered, warned }
}

describe('the attempts of a delivery', () => {
  test('are made again after pauses that grow, and then no more', async () => {
    expect(PAUSES_MS).toEqual([10_000, 30_000, ...[2, 10, 30, 60, 120, 240, 480].map((minutes) => minutes * MINUTE)])
    const id = await put('webhook:1')
    const {
      outbox: out,
      metered,
      warned,
    } = outbox(() => {
      throw new DeliveryProblem('it is away', false)
    })
    for (const [index, pause] of PAUSES_MS.entries()) {
      await out.look()
      await out.settled()
      const [row] = await all()
      expect(row).toMatchObject({
        state: 'waiting',
        attempts: index + 1,
        next_at: now + pause,
        problem: 'it is away',
        ended_at: null,
        lease: null,
      })
      now += pause - 1
      await out.look()
      await out.settled()
      expect((await all())[0]?.attempts).toBe(index + 1)
      now += 1
    }
    await out.look()
    await out.settled()
    expect(await all()).toMatchObject([
      { id, state: 'failed', attempts: 10, next_at: null, problem: 'it is away', ended_at: now },
    ])
    expect(metered).toEqual([...PAUSES_MS.map(() => 'webhook tried'), 'webhook failed'])
    expect(warned).toEqual(['a notification could not be delivered'])
  })

  test.each<[string, string, Error, string]>([
    ['a problem that stays', 'job.ended', new DeliveryProblem('no such place', true), 'no such place'],
    ['a test that fails', 'test', new DeliveryProblem('it is away', false), 'it is away'],
  ])('are over after %s', async (_what, event, error, problem) => {
    await put('mail', event)
    const { outbox: out, metered } = outbox(() => {
      throw error
    })
    await out.look()
    await out.settled()
    expect(await all()).toMatchObject([{ state: 'failed', attempts: 1, next_at: null, problem, ended_at: START }])
    expect(metered).toEqual(['mail failed'])
  })

  test('are over when one arrived, and any other error is a problem that may pass', async () => {
    await put('mail')
    let isBroken = true
    const {
      outbox: out,
      metered,
      warned,
    } = outbox(() => {
      if (isBroken) throw new Error('a strange error')
    })
    await out.look()
    await out.settled()
    expect(await all()).toMatchObject([{ state: 'waiting', problem: 'a strange error' }])
    isBroken = false
    now += 10_000
    await out.look()
    await out.settled()
    expect(await all()).toMatchObject([{ state: 'sent', attempts: 2, next_at: null, problem: null, ended_at: now }])
    expect([metered, warned]).toEqual([['mail tried', 'mail sent'], []])
  })

  test('have 10 seconds each, and are cut off then', async () => {
    await put('webhook:1')
    const { outbox: out, held, running } = outbox()
    await out.look()
    await waitFor('the attempt', () => running.length === 1)
    held.move(9_999)
    expect(running[0]?.signal.aborted).toBe(false)
    held.move(1)
    expect(running[0]?.signal.aborted).toBe(true)
    await out.settled()
    expect(await all()).toMatchObject([{ state: 'waiting', problem: 'cut off' }])
    // No timer of an attempt stays behind.
    expect(held.count()).toBe(0)
  })

  test('belong to a node for two minutes, and then to whoever looks', async () => {
    const id = await put('webhook:1')
    const [one, other] = [outbox(), outbox()]
    await one.outbox.look()
    await waitFor('the attempt', () => one.running.length === 1)
    expect(await all()).toMatchObject([{ attempts: 1, lease_until: START + 2 * MINUTE }])
    now += 2 * MINUTE - 1
    await other.outbox.look()
    await other.outbox.deliver(id)
    expect(other.running).toHaveLength(0)
    now += 1
    await other.outbox.look()
    await waitFor('the second attempt', () => other.running.length === 1)
    // The first node has lost it: its end counts for nothing.
    one.running[0]?.end()
    await one.outbox.settled()
    expect(await all()).toMatchObject([{ state: 'waiting', attempts: 2 }])
    other.running[0]?.end()
    await other.outbox.settled()
    expect(await all()).toMatchObject([{ state: 'sent' }])
  })
})

describe('attempts at the same time', () => {
  test('are two of a lane, and the next begins when one ends', async () => {
    for (let number = 0; number < 4; number += 1) await put('webhook:1')
    await put('webhook:2')
    const { outbox: out, running } = outbox()
    await out.look()
    await waitFor('the attempts', () => running.length === 3)
    expect(running.map(({ delivery }) => delivery.lane).sort()).toEqual(['webhook:1', 'webhook:1', 'webhook:2'])
    await out.look()
    expect(running).toHaveLength(3)
    running.find(({ delivery }) => delivery.lane === 'webhook:1')?.end()
    await waitFor('the next one', () => running.length === 4)
    for (const { end } of running) end()
    await waitFor('the last one', () => running.length === 5)
    running[4]?.end()
    await out.settled()
    expect((await all()).map(({ state }) => state)).toEqual(['sent', 'sent', 'sent', 'sent', 'sent'])
  })

  test('are sixteen of a node', async () => {
    for (let number = 0; number < 20; number += 1) await put(`webhook:${number}`)
    const { outbox: out, running } = outbox()
    await out.look()
    await waitFor('the attempts', () => running.length === 16)
    await out.look()
    expect(running).toHaveLength(16)
    running[0]?.end()
    await waitFor('the next one', () => running.length === 17)
    for (let done = 0; done < 20; done += 1) {
      await waitFor('one more', () => running.length > done)
      running[done]?.end()
    }
    await out.settled()
    expect((await all()).filter(({ state }) => state === 'sent')).toHaveLength(20)
  })
})

describe('a stop', () => {
  test('waits two seconds for attempts, cuts them off, and begins no others', async () => {
    await put('webhook:1')
    const { outbox: out, held, running } = outbox()
    await out.look()
    await waitFor('the attempt', () => running.length === 1)
    const closed = out.close()
    await put('webhook:2')
    await out.look()
    held.move(1_999)
    expect(running.map(({ signal }) => signal.aborted)).toEqual([false])
    held.move(1)
    expect(running.map(({ signal }) => signal.aborted)).toEqual([true])
    await closed
    expect((await all()).map(({ attempts }) => attempts)).toEqual([1, 0])
    expect(held.count()).toBe(0)
  })

  test('with nothing under way ends at once, and leaves no timer', async () => {
    const { outbox: out, held } = outbox()
    await out.close()
    expect(held.count()).toBe(0)
  })
})

describe('the log of deliveries', () => {
  const log = (keepMs: number | null) =>
    createDeliveries({
      store,
      clock: { now: () => now },
      outbox: { deliver: () => Promise.resolve() },
      newUid: () => randomBytes(4).toString('hex'),
      keepMs,
    })

  test('is kept for its time after the end of a delivery, however much it is', async () => {
    const ended = (at: number, count: number) =>
      store.write('test', async (queries) => {
        for (let number = 0; number < count; number += 1) {
          const common = { lane: 'mail', targetId: null, recipient: 'r', subject: null, body: 'b' }
          const uid = randomBytes(8).toString('hex')
          const id = await insertDelivery(queries, { ...common, uid, event: 'x', eventAt: 1, jobId: null }, at)
          const end = { state: 'sent', next_at: null, ended_at: at } as const
          await queries.updateTable('notification_delivery').set(end).where('id', '=', id).execute()
        }
      })
    await ended(START - 1001, 501)
    await ended(START - 1000, 1)
    await put('mail')
    await log(null).sweep()
    expect(await all()).toHaveLength(503)
    await log(1000).sweep()
    expect(await all()).toMatchObject([{ ended_at: START - 1000 }, { state: 'waiting' }])
  })

  test('lets a delivery be sent again unless an attempt has it', async () => {
    const id = await put('webhook:1')
    const { outbox: out, running } = outbox()
    await out.look()
    await waitFor('the attempt', () => running.length === 1)
    await expect(log(null).retry(id)).rejects.toMatchObject({ code: 'delivery_runs' })
    running[0]?.end()
    await out.settled()
    now += 5
    expect(await log(null).retry(id)).toMatchObject({ state: 'waiting', attempts: 0, nextAt: now, endedAt: null })
    await expect(log(null).retry(id + 1)).rejects.toMatchObject({ code: 'no_such_notification' })
  })
})
