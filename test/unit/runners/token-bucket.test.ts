import { expect, test } from 'vitest'
import { reportedText } from '../../../control-plane/src/runners/socket/reported.js'
import { TokenBucket } from '../../../control-plane/src/runners/socket/token-bucket.js'

test('a rate of 2 at once and 4 a second takes 2, then says how long the next one is too early', () => {
  let now = 0
  const bucket = new TokenBucket({ burst: 2, perSecond: 4 }, () => now)
  expect([bucket.take(), bucket.take(), bucket.take(), bucket.take(2)]).toEqual([0, 0, 250, 750])
  expect(bucket.isFull).toBe(false)
  now = 1000
  expect([bucket.take(), bucket.take()]).toEqual([0, 250])
  // It is never fuller than full.
  now = 100_000
  expect([bucket.isFull, bucket.take(2), bucket.take(1)]).toEqual([true, 0, 250])
})

test('a text of a runner stays on one line, without characters that steer a terminal or turn the text around', () => {
  expect(reportedText('a\u001b[2Jb\r\nc\u2028d\u2029e\u202Ef\u202Ag\u2066h\u2069i j')).toBe('a [2Jb c d e f g h i j')
})
