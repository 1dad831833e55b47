import { expect, test } from 'vitest'
import { createPartsOwner } from '../../control-plane/src/ground/ground.js'
import { createPartsOwner as createAgentOwner } from '../../runner-agent/src/ground.js'

test.each([
  ['the control plane', createPartsOwner],
  ['the agent', createAgentOwner],
])('%s closes its parts in reverse order, also when one of them cannot close', async (_, createOwner) => {
  const closed: string[] = []
  const owner = createOwner()
  owner.onClose(async () => void closed.push('store'))
  owner.onClose(() => Promise.reject(new Error('the thread hangs')))
  owner.onClose(async () => void closed.push('server'))
  await expect(owner.close()).rejects.toThrow('the thread hangs')
  expect(closed).toEqual(['server', 'store'])
  await owner.close().catch(() => undefined)
  expect(closed).toHaveLength(2)
})
