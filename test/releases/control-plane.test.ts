import { type JobOrder, parseServerMessage } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { publish } from '../agent/playbooks.js'
import { createSetting, exactEnd } from '../agent/setting.js'
import { frozenMessages } from './frozen.js'
import { INSTALLATION } from './installation.js'

/** An agent of today, and what a control plane of release 0.1.0 says to it. */
describe('the words of a control plane of release 0.1.0', () => {
  const messages = frozenMessages()

  test('are of every part of the way of a job', () => {
    const types = new Set(messages.map(({ type }) => type))
    expect([...types]).toEqual(['challenge', 'proof', 'welcome', 'resume', 'offer', 'ack', 'abort'])
  })

  test.each(messages.map((message) => [message.type, message] as const))(
    'are understood as they were: %s',
    (_, said) => {
      expect(parseServerMessage(JSON.stringify(said))).toMatchObject(said)
    },
  )
})

test('an order of release 0.1.0 is carried out to its exact end', async () => {
  const setting = await createSetting()
  await setting.join()
  const manifest_sha256 = publish(setting.controlPlane, INSTALLATION.playbooks ?? {})
  const orders = frozenMessages().flatMap((message) => ('order' in message ? [message.order] : []))
  const ends = new Map<string, number | null>()
  for (const order of orders) {
    // The secrets were sealed for another runner.
    const here: JobOrder = { ...order, manifest_sha256, sealed: null }
    ends.set(order.form, (await exactEnd(setting.controlPlane, setting.controlPlane.offer(here))).exit_code)
  }
  expect([...ends]).toEqual([
    ['Greet', 0],
    ['Fail', 2],
  ])
})
