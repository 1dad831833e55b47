import type { AgentMessage, CloseReasonName } from '@holdfast/protocol'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { createApprovalWatch } from '../../../runner-agent/src/approval-watch.js'
import type { UntrustedService } from '../../../runner-agent/src/identity/trust.js'
import type { Connection, Welcome, WorkMessage } from '../../../runner-agent/src/link/connection.js'

/** Where the agent stands with its control plane: what is passed on in each state, and what `/ready` says. */
function setting({ hasJoinToken = false } = {}) {
  const calls: string[] = []
  const sent: AgentMessage[] = []
  const host = { problem: null as string | null, draining: false, refused: null as UntrustedService | null }
  const note =
    (name: string) =>
    (...given: unknown[]): void => {
      const shown = given.filter((one) => typeof one !== 'object' || one === null)
      calls.push([name, ...shown.map(String)].join(' '))
    }
  const watch = createApprovalWatch({
    hostJobs: {
      wait: note('wait'),
      connected: note('connected'),
      disconnected: note('disconnected'),
      limit: note('limit'),
      take: note('take'),
      takeBlob: note('takeBlob'),
      figures: () => ({ runningJobs: 2, maxJobs: 5, draining: host.draining, spoolBytes: 77 }),
    } as never,
    trust: {
      approved: note('trusted'),
      get refused() {
        return host.refused
      },
    },
    name: 'rte',
    fingerprint: 'f',
    hasJoinToken,
    now: () => new Date(1234),
    problem: () => host.problem,
    log: pino({ level: 'silent' }),
  })
  const connection = { epoch: 1, send: (message: AgentMessage) => void sent.push(message), ping: note('ping') }
  const over = connection as unknown as Connection
  const welcome = (state: Welcome['state'], max_jobs: number | null = null) =>
    watch.events.up({ state, max_jobs } as Welcome, over)
  const settings = (state: Welcome['state'], max_jobs: number | null = null) =>
    watch.events.message({ type: 'settings', state, max_jobs } as WorkMessage)
  const refuse = (reason: CloseReasonName) => watch.events.refused?.(reason)
  return { watch, over, calls, sent, host, welcome, settings, refuse }
}

describe('a runner that is approved', () => {
  test('at its welcome notes whom it trusts before its jobs hear of the connection', () => {
    const { watch, calls, welcome } = setting()
    welcome('approved', 3)
    expect(calls).toEqual(['wait', 'limit 3', 'trusted', 'connected'])
    expect([watch.state, watch.notReady()]).toEqual(['approved', null])
  })

  test('while it is connected hears of a new limit, and its jobs go on over the same connection', () => {
    const { calls, welcome, settings } = setting()
    welcome('waiting')
    expect(calls).toEqual(['wait', 'limit null'])
    settings('approved', 4)
    expect(calls.slice(2)).toEqual(['limit 4', 'trusted', 'connected'])
    settings('approved', null)
    expect(calls.slice(5)).toEqual(['limit null'])
  })

  test('passes on work and parts of files, and tells its jobs when the connection is lost', () => {
    const { watch, calls, welcome } = setting()
    welcome('approved')
    calls.length = 0
    watch.events.message({ type: 'forget' } as WorkMessage)
    watch.events.blob({} as never)
    watch.events.down()
    expect(calls).toEqual(['take', 'takeBlob', 'disconnected'])
    expect(watch.state).toBe('down')
  })
})

describe('a runner that waits', () => {
  test('takes no work and no parts of files, and its jobs do not hear of the end of the connection', () => {
    const { watch, calls, welcome } = setting()
    welcome('waiting')
    calls.length = 0
    watch.events.message({ type: 'forget' } as WorkMessage)
    watch.events.blob({} as never)
    watch.events.down()
    expect(calls).toEqual([])
  })

  test('for a moment between two settings of a lost connection stays down', () => {
    const { watch, calls, settings } = setting()
    settings('approved')
    expect([watch.state, calls]).toEqual(['down', []])
  })
})

test('the control plane hears what the agent does at each heartbeat, and nothing without a connection', () => {
  const { watch, over, calls, sent, host, welcome } = setting()
  watch.sendStatus()
  expect(sent).toEqual([])
  welcome('waiting')
  calls.length = 0
  host.draining = true
  watch.events.heartbeat(over)
  expect(calls).toEqual(['ping'])
  const status = { type: 'status', running_jobs: 2, max_jobs: 5, draining: true, spool_bytes: 77, clock: 1234 }
  expect(sent).toEqual([status])
  watch.events.down()
  watch.sendStatus()
  expect(sent).toHaveLength(1)
})

describe('why the agent is not ready', () => {
  test('is said in its order: a problem, draining, and then where it stands', () => {
    const { watch, host, welcome } = setting()
    expect(watch.notReady()).toBe('not connected to the control plane')
    welcome('waiting')
    expect(watch.notReady()).toBe('waiting for approval')
    host.draining = true
    expect(watch.notReady()).toBe('draining')
    host.problem = 'no Python'
    expect(watch.notReady()).toEqual({ problem: 'no Python' })
  })

  test('names a join token that did not help', () => {
    const { watch, welcome } = setting({ hasJoinToken: true })
    welcome('waiting')
    expect(watch.notReady()).toBe('waiting for approval: the join token is unknown, used or expired')
    welcome('approved')
    expect(watch.notReady()).toBeNull()
  })

  test('names a control plane with another key, as long as there is no connection', () => {
    const { watch, host, welcome } = setting()
    host.refused = { shown: 'a', trusted: 'b' }
    expect(watch.notReady()).toBe('the control plane shows another key than the one that this runner trusts')
    welcome('approved')
    expect(watch.notReady()).toBeNull()
  })

  test.each<[CloseReasonName, string | null]>([
    ['denied', 'denied'],
    ['revoked', 'revoked'],
    ['rejected', 'rejected'],
    ['clone', 'refused as a clone'],
    ['going_away', null],
    ['handshake_timeout', null],
  ])('names a refusal as %s: %s, which is also an answer that jobs wait for', (reason, word) => {
    const { watch, calls, welcome, refuse } = setting()
    refuse(reason)
    const said = watch.notReady()
    expect(calls).toEqual(word === null ? [] : ['wait'])
    if (word === null) expect(said).toBe('not connected to the control plane')
    else expect(said).toEqual({ problem: expect.stringContaining(word) as string })
    welcome('approved')
    watch.events.down()
    expect(watch.notReady()).toBe('not connected to the control plane')
  })

  test('is no refusal of an older connection than the one that works', () => {
    const { watch, calls, welcome, refuse } = setting()
    welcome('approved')
    calls.length = 0
    refuse('clone')
    watch.events.down()
    expect(calls).toEqual(['disconnected'])
    expect(watch.notReady()).toBe('not connected to the control plane')
  })

  test('is the last refusal, and not one before it', () => {
    const { watch, refuse } = setting()
    refuse('rejected')
    refuse('going_away')
    expect(watch.notReady()).toBe('not connected to the control plane')
  })
})
