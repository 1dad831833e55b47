import { expect, test } from 'vitest'
import { StreamIntake } from '../../../control-plane/src/runners/streams/stream-intake.js'
import { AMPLE } from '../../support/ample-limits.js'

const NOTHING = { output: 0, events: 0, eventsCount: 0 }

test('what is committed is not counted twice while its writer still is at work', () => {
  const intake = new StreamIntake(NOTHING, () => 0, AMPLE)
  const frame = (text: string, offset: number) =>
    ({
      kind: 'stream',
      stream: 'output',
      final: false,
      epoch: 1,
      jobId: 1,
      offset,
      payload: Buffer.from(text),
    }) as const
  intake.take(frame('abc', 0))
  const batch = intake.batch()
  intake.writing = batch
  intake.committed(batch, { output: 3, events: 0, eventsCount: 0 })
  intake.take(frame('def', 3))
  expect(intake.batch().output.toString()).toBe('def')
})
