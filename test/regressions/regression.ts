import { readFileSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'

/** A fault that somebody could put into the product by a mistake, as a patch with a head. */
export interface Regression {
  /** The name of its file, without the ending. */
  readonly name: string
  readonly path: string
  /** What the developer did. */
  readonly did: string
  /** What a user would notice. */
  readonly noticed: string
  /** The folder of the source that has the fault. */
  readonly room: string
  /** Test files that fail with it. Empty: no test was found that does. */
  readonly foundBy: readonly string[]
  /** Why no test finds it; null: a test does. */
  readonly whyNot: string | null
}

const ENDING = '.patch'

/**
 * Reads all regressions of a folder, by name.
 * @throws Error that names the file and what is missing in its head
 */
export function readRegressions(folder: string): Regression[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(ENDING))
  return names.sort().map((name) => readRegression(join(folder, name)))
}

function readRegression(path: string): Regression {
  const [head = ''] = readFileSync(path, 'utf8').split(/^diff --git /m, 1)
  const lines = head.split('\n').filter((line) => line.trim() !== '')
  const valuesOf = (key: string) =>
    lines.filter((line) => line.startsWith(`${key}: `)).map((line) => line.slice(key.length + 2).trim())
  const valueOf = (key: string): string => {
    const [value, another] = valuesOf(key)
    if (value === undefined || another !== undefined) throw new Error(`${path} needs one line '${key}: …' in its head`)
    return value
  }
  const stray = lines.find((line) => !/^(did|noticed|room|found-by): \S/.test(line))
  if (stray !== undefined) throw new Error(`${path} has a line in its head that nobody reads: ${stray}`)
  const found = valuesOf('found-by')
  const [first = ''] = found
  const none = /^none, because (.+)$/.exec(first)
  if (found.length === 0 || found.length > 3) throw new Error(`${path} needs one to three lines 'found-by: …'`)
  if (first.startsWith('none') && (!none || found.length > 1)) {
    throw new Error(`${path} needs 'found-by: none, because …' and no other line of that kind`)
  }
  return {
    name: basename(path, ENDING),
    path,
    did: valueOf('did'),
    noticed: valueOf('noticed'),
    room: valueOf('room'),
    foundBy: none ? [] : found,
    whyNot: none?.[1] ?? null,
  }
}
