import { describe, expect, test } from 'vitest'
import { type AdmissionStage, createAdmission } from '../../../control-plane/src/runners/socket/admission.js'
import type { AgentConnection } from '../../../control-plane/src/runners/socket/agent-connection.js'
import { FairPool } from '../../../control-plane/src/runners/socket/fair-pool.js'

const LIMITS = { most: 4, mostOfGroup: 3, reserveOf: () => 0 }

/** Members are texts such as `a1`; the letter is the group. @returns who had to go for each of them */
function addAll(pool: FairPool<string>, members: readonly string[]): (string | null)[] {
  return members.map((member) => pool.add(member, member.slice(0, 1)))
}

describe('a pool that groups share', () => {
  test('a group of 3 may have 3 members, and the fourth takes the place of its oldest', () => {
    const pool = new FairPool<string>(LIMITS)
    expect(addAll(pool, ['a1', 'a2', 'a3', 'a4', 'a5'])).toEqual([null, null, null, 'a1', 'a2'])
    expect(pool.size).toBe(3)
  })

  test('a pool of 4 holds 4, and then the oldest of the largest group goes', () => {
    const pool = new FairPool<string>(LIMITS)
    expect(addAll(pool, ['a1', 'b1', 'b2', 'c1', 'd1'])).toEqual([null, null, null, null, 'b1'])
    expect(pool.size).toBe(4)
  })

  test('where all groups are alike, the one that came first loses its oldest', () => {
    const pool = new FairPool<string>(LIMITS)
    expect(addAll(pool, ['a1', 'b1', 'c1', 'd1', 'e1', 'f1'])).toEqual([null, null, null, null, 'a1', 'b1'])
  })

  test('a group with a reserve counts as smaller by that number', () => {
    const pool = new FairPool<string>({ ...LIMITS, reserveOf: (group) => (group === 'a' ? 2 : 0) })
    expect(addAll(pool, ['a1', 'a2', 'a3', 'b1', 'c1'])).toEqual([null, null, null, null, 'a1'])
    expect(addAll(pool, ['d1'])).toEqual(['b1'])
  })

  test('a group that everybody has left is no group any more', () => {
    const pool = new FairPool<string>({ most: 2, mostOfGroup: 9, reserveOf: (group) => (group === 'a' ? 5 : 0) })
    addAll(pool, ['b1'])
    pool.delete('b1')
    expect(addAll(pool, ['a1', 'a2', 'a3'])).toEqual([null, null, 'a1'])
    expect(pool.size).toBe(2)
  })

  test('who leaves makes room, and whoever comes again is its youngest member', () => {
    const pool = new FairPool<string>(LIMITS)
    addAll(pool, ['a1', 'a2', 'a3'])
    pool.delete('a1')
    pool.delete('never there')
    expect([pool.size, ...addAll(pool, ['a4', 'a2', 'a5'])]).toEqual([2, null, null, 'a3'])
    expect(pool.size).toBe(3)
    for (const member of ['a2', 'a4', 'a5']) pool.delete(member)
    expect(pool.size).toBe(0)
    expect(addAll(pool, ['b1', 'b2', 'b3', 'c1'])).toEqual([null, null, null, null])
  })
})

describe('the stages of unproven connections', () => {
  function entered() {
    const evicted: string[] = []
    const names = new Map<AgentConnection, string>()
    const admission = createAdmission(
      { mostUnproven: 2, mostUnprovenOfAddress: 2, reserveOfKnownAddress: 5 },
      (address) => address === '10.0.0.1',
      (connection, stage) => void evicted.push(`${names.get(connection) ?? ''} ${stage}`),
    )
    /** A connection from an address; its address is all that is looked at. */
    const from = (address: string, name: string): AgentConnection => {
      const connection = { address } as unknown as AgentConnection
      names.set(connection, name)
      return connection
    }
    const enter = (address: string, name: string, stage: AdmissionStage = 'greeting') => {
      const connection = from(address, name)
      admission.enter(connection, stage)
      return connection
    }
    return { admission, evicted, enter }
  }

  test('each stage has places of its own, and a connection is in one stage', () => {
    const { admission, evicted, enter } = entered()
    const one = enter('10.0.0.2', 'one')
    enter('10.0.0.3', 'two')
    admission.enter(one, 'checking')
    expect([admission.size, evicted]).toEqual([2, []])
    enter('10.0.0.4', 'three')
    enter('10.0.0.5', 'four', 'queued')
    expect([admission.size, evicted]).toEqual([4, []])
    enter('10.0.0.6', 'five')
    expect([admission.size, evicted]).toEqual([4, ['two greeting']])
    admission.leave(one)
    expect(admission.size).toBe(3)
  })

  test('an address from which an approved runner came keeps its places against strangers', () => {
    const { evicted, enter } = entered()
    enter('10.0.0.1', 'known')
    enter('10.0.0.2', 'stranger')
    enter('10.0.0.3', 'newcomer')
    expect(evicted).toEqual(['stranger greeting'])
  })

  test('the addresses of one IPv6 network of 64 bits are one address', () => {
    const { evicted, enter } = entered()
    enter('2001:db8::1', 'one')
    enter('10.0.0.2', 'other')
    enter('2001:db8::2', 'two', 'checking')
    enter('2001:db8::3', 'three', 'checking')
    enter('2001:db8::4', 'four', 'checking')
    expect(evicted).toEqual(['two checking'])
  })
})
