import { lstatSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type * as v from 'valibot'
import { isErrno } from '@holdfast/host/system-errors'
import type { Environment } from '../ground.js'
import { ABSENT, codeOf, type Fact, readFact, unknown } from '../host/fact.js'

/**
 * The second place of an end is a folder outside of the spool, in memory. A supervisor writes `exit.json` and `end.json` of
 * a run there when the disk of the spool takes nothing. The files have the run id in their names.
 */
export type SecondPlaceFile = 'exit.json' | 'end.json'

/** Whoever may write into a folder decides about ends. So a folder that others may write into does not count. */
const WRITABLE_BY_OTHERS = 0o022

/**
 * The folders that may be the second place, the best one first. A supervisor takes the first one that it can use. The agent
 * looks into all of them, because its environment may have changed since the start of a job.
 */
export function secondPlacesOf(environment: Environment): string[] {
  // systemd names the folders of RuntimeDirectory= here, with colons between them.
  const given = environment.RUNTIME_DIRECTORY?.split(':')[0]
  const own = environment.XDG_RUNTIME_DIR
  const places = [given, '/run/holdfast-runner', own === undefined ? undefined : join(own, 'holdfast-runner')]
  return [...new Set(places.filter((place) => place?.startsWith('/') === true))] as string[]
}

/** What the second places say of a run. A folder that belongs to another user says nothing. */
export function lookInSecondPlaces<Schema extends v.GenericSchema>(
  places: readonly string[],
  runId: string,
  name: SecondPlaceFile,
  schema: Schema,
): Fact<v.InferOutput<Schema>> {
  let best: Fact<v.InferOutput<Schema>> = ABSENT
  for (const place of places) {
    const problem = problemOf(place)
    if (problem === 'not ours') continue
    const found = problem === null ? readFact(join(place, fileName(runId, name)), schema) : unknown(problem)
    if (found.kind === 'present') return found
    if (found.kind === 'unknown') best = found
  }
  return best
}

/** Removes what the second places have of a run. @throws the system's error */
export async function removeFromSecondPlaces(places: readonly string[], runId: string): Promise<void> {
  for (const place of places) {
    if (problemOf(place) !== null) continue
    for (const name of ['exit.json', 'end.json'] as const) await rm(join(place, fileName(runId, name)), { force: true })
  }
}

function fileName(runId: string, name: SecondPlaceFile): string {
  return `${runId}-${name}`
}

/** Why a folder says nothing: it is not this user's alone, or it cannot be looked at now (a code). Null: it counts. */
function problemOf(place: string): string | null {
  try {
    const found = lstatSync(place)
    const isOurs = found.isDirectory() && found.uid === process.geteuid?.()
    return isOurs && (found.mode & WRITABLE_BY_OTHERS) === 0 ? null : 'not ours'
  } catch (error) {
    // Where this user may not look, its supervisors could not write either.
    return isErrno(error, 'ENOENT', 'ENOTDIR', 'EACCES') ? 'not ours' : codeOf(error)
  }
}
