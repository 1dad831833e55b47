import type { AgeLimit } from '@holdfast/host/age-limit'
import type { Ages } from '../../control-plane/src/ages/age-limits.js'
import { createOldEntriesSweeper } from '../../control-plane/src/runners/registration/old-entries.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { SERVICE_CLOCKS } from '../../control-plane/src/store/service/service-clock.js'

/** A limit that the test decides about, for what does not depend on how limits are found. */
export const before = (time: number): AgeLimit => time as AgeLimit

/** The limits of a service that has always worked and has a right clock. */
export const agesBy = (clock: { now(): number }): Ages => ({
  of: (keepMs) => Promise.resolve(before(clock.now() - keepMs)),
})

/** Lets the service have worked for so long, as its clock for ages knows it. In milliseconds. */
export async function haveWorked({ write }: Pick<Store, 'write'>, ms: number): Promise<void> {
  await write('test.work', (queries) =>
    queries
      .updateTable('service_clock')
      .set(({ eb }) => ({ time: eb('time', '+', ms) }))
      .where('id', '=', SERVICE_CLOCKS.ages)
      .execute(),
  )
}

/** Removes old join tokens and old runs once, as the control plane does at its start. */
export async function removeOldEntries(store: Store, clock: { now(): number }): Promise<void> {
  const timers = { after: () => () => undefined, every: () => () => undefined }
  const sweeper = createOldEntriesSweeper({ store, ages: agesBy(clock), timers, log: { warn: () => undefined } })
  await sweeper.sweep()
  await sweeper.close()
}
