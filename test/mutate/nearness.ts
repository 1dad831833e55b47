import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { distancesTo, filesBelow } from './sources.js'

/** Test files that are for the whole product only, take minutes, or want what a sandbox does not have. */
const NEVER = /^test\/(scripts|systemd|chaos|fuzz|mutate|interface|bench|model)\//

/** Where the wide tests of a program are, those first that are most likely to notice. */
const WIDE: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^runner-agent\/ansible\/.*(isolation|rights|users|leftovers)/, ['test/agent/agent-isolation', 'test/attacks/job-']],
  [/^runner-agent\/ansible\//, ['test/ansible/', 'test/agent/agent-run', 'test/e2e/playbook-job']],
  [/^runner-agent\//, ['test/unit/agent', 'test/agent/agent-run', 'test/agent/', 'test/e2e/playbook-job']],
  [/^control-plane\/src\/store\//, ['test/store/', 'test/api/']],
  [/^control-plane\/src\/(cli|check|backup)\//, ['test/cli/']],
  [/^control-plane\/src\/runners\//, ['test/runners/', 'test/nodes/']],
  [/^control-plane\//, ['test/unit/http/client-source', 'test/api/', 'test/attacks/', 'test/cli/', 'test/e2e/']],
  [/^protocol\//, ['test/unit/protocol', 'test/unit/', 'test/runners/', 'test/agent/agent-run']],
]

export interface ChosenTests {
  readonly near: readonly string[]
  readonly wide: readonly string[]
}

/**
 * The tests that are near to a file: those that import it over the fewest others and speak of the same things. Behind them
 * those of its program.
 */
export function testsFor(root: string, path: string, most: { near: number; wide: number }): ChosenTests {
  const distances = distancesTo(root, path)
  const words = wordsOf(root, path)
  const tests = filesBelow(root, 'test').filter((file) => file.endsWith('.test.ts') && !NEVER.test(file))
  const rankOf = (file: string): number => {
    const text = readFileSync(join(root, file), 'utf8').toLowerCase()
    const spoken = words.filter((word) => text.includes(word)).length / Math.max(1, words.length)
    const named = words.some((word) => basename(file).includes(word)) ? 1 : 0
    return (distances.get(file) ?? 9) - 3 * named - 3 * spoken
  }
  const isNear = (file: string): boolean => distances.has(file) || isOfProgram(path, file)
  const near = sortedBy(tests.filter(isNear), rankOf).slice(0, most.near)
  const folders = WIDE.find(([program]) => program.test(path))?.[1] ?? ['test/']
  const wide = folders
    .flatMap((folder) => sortedBy(tests, rankOf).filter((file) => file.startsWith(folder)))
    .filter((file, index, all) => !near.includes(file) && all.indexOf(file) === index)
  return { near, wide: wide.slice(0, most.wide) }
}

/** Tests that start a program import nothing of it. */
function isOfProgram(path: string, test: string): boolean {
  if (path.endsWith('.py')) return test.startsWith('test/ansible/')
  return path.startsWith('control-plane/src/cli/') && test.startsWith('test/cli/')
}

/** What a file is about: the words of its name, and what it gives others. */
function wordsOf(root: string, path: string): string[] {
  const text = readFileSync(join(root, path), 'utf8')
  const exported = [...text.matchAll(/^export (?:async )?(?:function|class|const) (\w+)/gm)].map(
    ([, name]) => name ?? '',
  )
  const named = basename(path)
    .replace(/\.\w+$/, '')
    .split(/[-_]/)
  return [...new Set([...named, ...exported].map((word) => word.toLowerCase()).filter((word) => word.length > 3))]
}

function sortedBy(files: readonly string[], rankOf: (file: string) => number): string[] {
  return files
    .map((file) => [file, rankOf(file)] as const)
    .sort(([, one], [, other]) => one - other)
    .map(([file]) => file)
}
