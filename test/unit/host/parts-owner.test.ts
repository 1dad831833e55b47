import { expect, test } from 'vitest'
import { createPartsOwner } from '../../../protocol/host/src/parts-owner.js'

test('parts are closed in reverse order, also when one of them cannot close', async () => {
  const closed: string[] = []
  const owner = createPartsOwner()
  owner.onClose(() => closed.push('log'))
  owner.onClose(async () => void closed.push('store'))
  owner.onClose(() => Promise.reject(new Error('the thread hangs')))
  owner.onClose(() => {
    throw new Error('the file is gone')
  })
  owner.onClose(async () => void closed.push('server'))
  expect(owner.isClosing).toBe(false)
  await expect(owner.close()).rejects.toThrow('the file is gone')
  expect([closed, owner.isClosing]).toEqual([['server', 'store', 'log'], true])
  // Its caller was told.
  await owner.close()
  expect(closed).toHaveLength(3)
})

test('a call while the parts are being closed waits for that, and gets its error, too', async () => {
  const owner = createPartsOwner()
  let fail: (error: Error) => void = () => undefined
  owner.onClose(() => new Promise<void>((_, reject) => (fail = reject)))
  const outcomes = [owner.close(), owner.close()].map((one) => one.catch(String))
  fail(new Error('the thread hangs'))
  expect(await Promise.all(outcomes)).toEqual(['Error: the thread hangs', 'Error: the thread hangs'])
})

test('a later call waits for the first one, and closes what was opened since', async () => {
  const closed: string[] = []
  const owner = createPartsOwner()
  let end: () => void = () => undefined
  owner.onClose(() => new Promise<void>((resolve) => (end = resolve)).then(() => void closed.push('slow')))
  const first = owner.close()
  owner.onClose(() => closed.push('late'))
  const second = owner.close()
  expect(closed).toEqual([])
  end()
  await first
  await second
  expect(closed).toEqual(['slow', 'late'])
})
