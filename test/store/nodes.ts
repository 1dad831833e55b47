import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DatabasePlace, openStore } from '../../control-plane/src/store/open-store.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { createTestDatabase } from '../support/test-database.js'

export const KINDS = ['sqlite', 'postgres'] as const satisfies readonly DatabasePlace['kind'][]

/** The stores of several nodes on one PostgreSQL database. */
export interface Nodes {
  readonly url: string
  readonly stores: readonly Store[]
  /** What each node does at the same moment as the others, several times. */
  atOnce<T>(act: (store: Store, turn: number) => Promise<T>, turns?: number): Promise<T[]>
  close(): Promise<void>
}

/** They are opened at the same moment, as nodes that are started together do. */
export async function openNodes(count: number): Promise<Nodes> {
  const { place, url, remove } = await createTestDatabase('', 'postgres')
  const stores = await Promise.all(Array.from({ length: count }, () => openStore(place)))
  return {
    url,
    stores: stores as Store[],
    atOnce: (act, turns = 1) =>
      Promise.all(
        Array.from({ length: turns * count }, async (_, turn) => {
          const store = stores[turn % count]
          if (!store) throw new Error('there is no such node')
          return act(store as Store, turn)
        }),
      ),
    async close() {
      await Promise.all(stores.map((store) => store.close()))
      await remove()
    },
  }
}

/** A folder for what a test writes. */
export async function temporaryFolder(): Promise<{ readonly path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'holdfast-store-'))
  return { path, remove: () => rm(path, { recursive: true }) }
}
