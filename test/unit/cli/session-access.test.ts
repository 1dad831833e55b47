import { describe, expect, onTestFinished, test } from 'vitest'
import { sessionAccess } from '../../../control-plane/src/cli/client/access.js'
import type { SavedSession, SessionFile } from '../../../control-plane/src/cli/client/session-file.js'
import { NotSignedInError, UnreachableError } from '../../../control-plane/src/cli/errors.js'
import { startFakeService } from '../../cli/fake-service.js'

/** A session with the first pair of tokens, in a file that is held in memory. */
async function session(answer: { readonly status: number; readonly body: object }) {
  const service = await startFakeService()
  onTestFinished(() => service.stop())
  service.override = () => answer
  const first: SavedSession = { server: service.address, username: 'ada', token: 't1', refreshtoken: 'r1' }
  const saved: { now: SavedSession | null; locks: number } = { now: first, locks: 0 }
  const file: SessionFile = {
    path: 'nowhere',
    read: async () => saved.now,
    write: async (written) => void (saved.now = written),
    remove: async () => void (saved.now = null),
    exclusively(action) {
      saved.locks += 1
      return action()
    },
  }
  return { service, first, saved, access: sessionAccess(file, first) }
}

const good = { status: 200, body: { token: 't2', refreshtoken: 'r2' } }

describe('the tokens of a saved session', () => {
  test('are renewed once for all that ask at the same time, and saved', async () => {
    const { service, first, saved, access } = await session(good)
    expect(access.token).toBe('t1')
    await Promise.all([access.renew(), access.renew()])
    expect(access.token).toBe('t2')
    expect(saved).toEqual({ now: { ...first, token: 't2', refreshtoken: 'r2' }, locks: 1 })
    expect(service.seen.map(({ path, body }) => [path, body])).toEqual([['/token', { refreshtoken: 'r1' }]])
    await access.renew()
    expect(service.seen.at(-1)?.body).toEqual({ refreshtoken: 'r2' })
  })

  test('are those of the file when another process was quicker', async () => {
    const { service, first, saved, access } = await session(good)
    saved.now = { ...first, token: 'of another', refreshtoken: 'r9' }
    await access.renew()
    expect(access.token).toBe('of another')
    expect(service.seen).toEqual([])
  })

  test.each([
    ['nobody is signed in any more', () => null],
    ['somebody is signed in elsewhere', (first: SavedSession) => ({ ...first, server: 'http://other', token: 't8' })],
  ])('are over when %s', async (_when, savedOf) => {
    const { service, first, saved, access } = await session(good)
    saved.now = savedOf(first)
    await expect(access.renew()).rejects.toThrow(
      `The session of ada at ${first.server} is over. Sign in with: holdfast login --server ${first.server}`,
    )
    expect(service.seen).toEqual([])
    expect(access.token).toBe('t1')
  })

  test.each([
    ['are over when the server refuses them', 401, NotSignedInError],
    ['stay when the server was asked too often', 429, 'Too often'],
    ['stay when the server cannot answer', 503, UnreachableError],
  ])('%s', async (_what, status, error) => {
    const { first, saved, access } = await session({ status, body: { error: 'Too often' } })
    const renewed = access.renew()
    await expect(renewed).rejects.toThrow(error)
    if (status === 429) await expect(renewed).rejects.not.toBeInstanceOf(NotSignedInError)
    expect(saved.now).toEqual(first)
  })
})
