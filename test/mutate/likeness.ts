import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** How alike two texts are by their words: 0 for nothing in common, 1 for the same words equally often. */
export type Likeness = (test: string) => number

/**
 * How much each of some test files speaks of the same things as a source. Rare words count more than frequent ones (tf-idf
 * and the cosine, as search engines rank documents). The words of a path count, too: a folder says what its files are about.
 */
export function likenessTo(root: string, path: string, tests: readonly string[]): Likeness {
  const counts = new Map(tests.map((test) => [test, wordCounts(root, test)]))
  const own = wordCounts(root, path)
  const holders = new Map<string, number>()
  for (const words of counts.values()) for (const word of words.keys()) holders.set(word, (holders.get(word) ?? 0) + 1)
  const weightOf = (word: string, count: number): number =>
    (1 + Math.log(count)) * Math.log(tests.length / (holders.get(word) ?? tests.length))
  const lengthOf = (words: ReadonlyMap<string, number>): number =>
    Math.hypot(...[...words].map(([word, count]) => weightOf(word, count)))
  const ownLength = lengthOf(own)
  return (test) => {
    const words = counts.get(test) ?? new Map<string, number>()
    let product = 0
    for (const [word, count] of own) {
      const other = words.get(word)
      if (other !== undefined) product += weightOf(word, count) * weightOf(word, other)
    }
    const lengths = ownLength * lengthOf(words)
    return lengths === 0 ? 0 : product / lengths
  }
}

/** Times that a word of the path counts as one of the text. */
const PATH_WEIGHT = 5

/** The words of a file in small letters, and how often each stands there. Names in camel case are several words. */
function wordCounts(root: string, path: string): Map<string, number> {
  const counts = new Map<string, number>()
  const add = (text: string, times: number): void => {
    const words = text.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toLowerCase()
    for (const [word] of words.matchAll(/[a-z]{3,}/g)) {
      // One word in the singular and the plural.
      const one = word.replace(/(?<=ch|sh|x)es$|(?<=[^s])s$/, '')
      counts.set(one, (counts.get(one) ?? 0) + times)
    }
  }
  add(readFileSync(join(root, path), 'utf8'), 1)
  add(path, PATH_WEIGHT)
  return counts
}
