import type { Dispatch } from '../../control-plane/src/words/job-dispatch.js'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { EndRecord } from '@holdfast/protocol'
import { contradictionsOf } from '../../control-plane/src/runners/streams/older-copy.js'
import { answerInventory } from '../../control-plane/src/runners/held/spooled-jobs.js'
import { findJob } from '../../control-plane/src/store/jobs/jobs.js'
import { insertJob } from '../../control-plane/src/store/jobs/new-job.js'
import { RawAgent, newIdentity, restarted } from '../support/raw-agent.js'
import { type HubFixture, startHub } from './hub-fixture.js'
import { queuedJob } from './queued-job.js'

let fixture: HubFixture

beforeEach(async () => {
  fixture = await startHub()
})
afterEach(() => fixture.close())

/** An approved runner whose process has started for the fifth time, and the same from a copy of its second start. */
async function runnerAndCopy(name: string) {
  const identity = { ...newIdentity(name), generation: 5 }
  const agent = await RawAgent.join(fixture.url, identity)
  const { runner } = await fixture.byName(name)
  await fixture.hub.approve(runner.id, 'root')
  await agent.next('settings')
  return { id: runner.id, runner, agent, identity, copy: { ...restarted(identity), generation: 2 } }
}

const isRefused = async (identity: ReturnType<typeof newIdentity>) =>
  (await (await RawAgent.greet(fixture.url, identity)).waitForClose()).reason === 'clone'

test('an older copy is accepted after an admin accepted it, also after a restart; the process that it replaces is refused', async () => {
  const { id, agent, identity, copy } = await runnerAndCopy('edge')
  await expect(fixture.hub.acceptCopy(id, 'root')).rejects.toMatchObject({ code: 'runner_online' })
  await agent.leave()
  await expect(fixture.hub.acceptCopy(id, 'root')).rejects.toMatchObject({ code: 'no_clone' })
  expect(await isRefused(copy)).toBe(true)
  expect(await isRefused(copy)).toBe(true)
  await fixture.hub.acceptCopy(id, 'root')
  const later = restarted(copy)
  const restored = await RawAgent.join(fixture.url, later)
  expect((await restored.next('welcome')).state).toBe('approved')
  await restored.leave()
  expect(await isRefused(identity)).toBe(true)
  expect((await (await RawAgent.join(fixture.url, later)).next('welcome')).state).toBe('approved')
})

test('a newer start from a copy is let in while the runner has no job, and else after an admin accepted it', async () => {
  const { id, runner, agent, identity } = await runnerAndCopy('edge')
  await agent.leave()
  const moved = restarted(identity)
  await (await RawAgent.join(fixture.url, moved, { copied: true })).leave()
  await fixture.store.write('test', (queries) =>
    insertJob(queries, { ...queuedJob(id, 'a'.repeat(32)), dispatch: 'claimed', runner_key: runner.fingerprint }),
  )
  // It was let in, so it only comes back.
  await (await RawAgent.join(fixture.url, moved, { copied: true })).leave()

  const copy = restarted(moved)
  const greeted = await RawAgent.greet(fixture.url, copy, { copied: true })
  expect(await greeted.waitForClose()).toMatchObject({
    reason: 'clone',
    text: expect.stringContaining('is a copy') as string,
  })
  await (await RawAgent.join(fixture.url, moved)).leave()
  await fixture.hub.acceptCopy(id, 'root')
  expect((await (await RawAgent.join(fixture.url, restarted(copy), { copied: true })).next('welcome')).state).toBe(
    'approved',
  )
  expect(await isRefused(moved)).toBe(true)
})

test('a job that an older copy does not name may have run: it is not offered again, and nobody says that it never started', async () => {
  const { id, runner, agent, copy } = await runnerAndCopy('edge')
  await agent.leave()
  expect(await isRefused(copy)).toBe(true)
  await fixture.hub.acceptCopy(id, 'root')
  const { store, clock } = fixture
  const add = (digit: string, dispatch: Dispatch) =>
    store.write('test', (queries) =>
      insertJob(queries, { ...queuedJob(id, digit.repeat(32)), dispatch, runner_key: runner.fingerprint }),
    )
  const offered = await add('a', 'offered')
  const claimed = await add('b', 'claimed')
  const holder = { runnerId: id, keys: [runner.fingerprint], epoch: 2 } as const
  await answerInventory({ store, clock }, holder, [])
  for (const jobId of [offered, claimed]) {
    const job = await findJob(store.read, jobId)
    expect(job).toMatchObject({ status: 'failed', dispatch: 'done' })
    expect(job?.status_reason).toContain('knows no longer what became of the job')
  }
  // Only the first list is that of the copy: from then on it knows what it is offered.
  const next = await add('c', 'offered')
  expect(await answerInventory({ store, clock }, holder, [])).toMatchObject({ missing: [{ job_id: next }] })
})

test('the end of a copy is compared with the stored one: status, lengths and bytes', () => {
  const stored = {
    job: { status: 'success' as const, abort_requested_by: null },
    lengths: { output: 200, events: 100, eventsCount: 3 },
    full: { output: false, events: false },
    digests: { output: 'o', events: 'e' },
  }
  const record = (output: number, sha256: string, exitCode: number) =>
    ({
      cause: 'exited',
      exit_code: exitCode,
      message: null,
      output: { length: output, sha256, dropped_bytes: 0 },
      events: { length: 100, sha256: 'e', plugin_seen: true, errors: 0, dropped: 0 },
    }) as unknown as EndRecord
  const said = (...claim: Parameters<typeof record>) => contradictionsOf(record(...claim), stored, 'ada')
  expect(said(200, 'o', 0)).toBeNull()
  expect(said(120, 'o', 0)).toBeNull()
  expect(said(200, 'x', 0)).toContain('other bytes of output than those that are stored')
  expect(said(300, 'x', 0)).toContain('300 bytes of output where 200 are stored')
  expect(said(200, 'o', 2)).toContain('that it ended as failed (ansible-playbook ended with 2: a host failed)')
  // What was cut here because it was too much is longer there.
  const cut = { ...stored, full: { output: true, events: false } }
  expect(contradictionsOf(record(300, 'x', 0), cut, 'ada')).toBeNull()
})
