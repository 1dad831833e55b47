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

/** Draws what is asked for by number, or until there are as many as are asked for that the compiler does not refuse. */
export function* drawFrom(root: string, compiler: Compiler, options: Options): Generator<Drawn> {
  const all = mutationsOf(root).filter(({ path }) => options.room === null || roomOf(path).startsWith(options.room))
  let left = options.count
  for (const [index, mutation] of createChance(options.seed).shuffle(all).entries()) {
    const number = index + 1
    if (options.only ? number > Math.max(...options.only) : left <= 0) return
    if (options.only && !options.only.includes(number)) continue
    const refusal = compiler.refusal(mutation)
    if (refusal === null) left -= 1
    const text = readFileSync(join(root, mutation.path), 'utf8')
    yield { number, mutation, text, key: keyOf(text, mutation), refusal }
  }
}
