import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createChance } from '../chaos/kit/seed.js'
import type { Compiler } from './compile.js'
import { keyOf, type Mutation, roomOf } from './mutation.js'
import type { Options } from './options.js'
import { mutationsOf } from './sources.js'

/** A mutation of the sample. @property text of its file, unchanged */
export interface Drawn {
  /** From 1, in the order of the draw. It holds as long as the sources stay as they are. */
  readonly number: number
  readonly mutation: Mutation
  readonly text: string
  readonly key: string
  readonly refusal: string | null
}

/**
 * Draws what is asked for by number, or until there are as many as are asked for that the compiler does not refuse. What
 * is asked for by its keys is not drawn: each such change comes, in the order of the sources.
 */
export function* drawFrom(root: string, compiler: Compiler, options: Options): Generator<Drawn> {
  const { only, again } = options
  const all = mutationsOf(root).filter(({ path }) => options.room === null || roomOf(path).startsWith(options.room))
  const texts = new Map<string, string>()
  const textOf = (path: string): string => {
    const text = texts.get(path) ?? readFileSync(join(root, path), 'utf8')
    texts.set(path, text)
    return text
  }
  const asked = again && all.filter((mutation) => again.has(keyOf(textOf(mutation.path), mutation)))
  let left = options.count
  for (const [index, mutation] of (asked ?? createChance(options.seed).shuffle(all)).entries()) {
    const number = index + 1
    if (only ? number > Math.max(...only) : left <= 0) return
    if (only && !only.includes(number)) continue
    const refusal = compiler.refusal(mutation)
    if (refusal === null) left -= 1
    const text = textOf(mutation.path)
    yield { number, mutation, text, key: keyOf(text, mutation), refusal }
  }
}
