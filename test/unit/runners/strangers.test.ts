import { expect, test } from 'vitest'
import type { AgentConnection } from '../../../control-plane/src/runners/socket/agent-connection.js'
import { createStrangers } from '../../../control-plane/src/runners/socket/strangers.js'

test('unknown agents of one network, which may be a /64 of IPv6, share the rate of one address', () => {
  const strangers = createStrangers({ burst: 2, perSecond: 1 }, () => 0)
  const ask = (address: string) => strangers.mayAsk({ address } as AgentConnection)
  expect(['2001:db8::1', '2001:db8::2', '2001:db8::3', '2001:db8:0:1::1'].map(ask)).toEqual([true, true, false, true])
  expect(['192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.2'].map(ask)).toEqual([true, true, false, true])
})
