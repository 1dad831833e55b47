import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { ServerMessage } from '@holdfast/protocol'

/** What `freeze/main.ts` has made of release 0.1.0. It is never made again once that release is published. */
export const FROZEN = join(import.meta.dirname, '0.1.0')

/** The database file of SQLite. */
export const frozenDatabase = (): Buffer => gunzipSync(readFileSync(join(FROZEN, 'holdfast.db.gz')))

/** A database of PostgreSQL with the same, as statements. */
export const frozenStatements = (): string => gunzipSync(readFileSync(join(FROZEN, 'postgres.sql.gz'))).toString('utf8')

/** What release 0.1.0 said about that database, by path. */
export const frozenAnswers = (kind: 'sqlite' | 'postgres'): Record<string, unknown> =>
  JSON.parse(gunzipSync(readFileSync(join(FROZEN, `answers-${kind}.json.gz`))).toString('utf8')) as Record<
    string,
    unknown
  >

/** What a control plane of release 0.1.0 said to a runner, in its order. */
export const frozenMessages = (): ServerMessage[] =>
  JSON.parse(readFileSync(join(FROZEN, 'control-plane.json'), 'utf8')) as ServerMessage[]

/** Unpacks the runner agent of release 0.1.0. @returns its program */
export function unpackAgent(folder: string): string {
  const place = join(folder, 'agent-0.1.0')
  mkdirSync(place)
  execFileSync('tar', ['-xzf', join(FROZEN, 'agent.tar.gz'), '-C', place])
  return join(place, 'bin/holdfast-runner.js')
}
