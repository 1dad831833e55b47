import { likenessTo } from './likeness.js'
import { distancesTo, filesBelow } from './sources.js'

/** Test files that are for the whole product only, take minutes, or want what a sandbox does not have. */
const NEVER = /^test\/(scripts|systemd|chaos|fuzz|mutate|interface|bench|model)\//

/**
 * Where the wide tests of a program are, and how many files of each place at most: first those that run the whole
 * program, then those that are most likely to notice. Without the numbers, the first large folder would take every place.
 */
const WIDE: readonly (readonly [RegExp, readonly (readonly [string, number])[]])[] = [
  [
    /^runner-agent\/ansible\/.*(isolation|rights|users|leftovers)/,
    [
      ['test/agent/agent-isolation', 1],
      ['test/attacks/job-', 4],
      ['test/ansible/', 5],
    ],
  ],
  [
    /^runner-agent\/ansible\//,
    [
      ['test/agent/agent-run', 1],
      ['test/e2e/playbook-job', 1],
      ['test/agent/', 3],
      ['test/ansible/', 7],
    ],
  ],
  [
    /^runner-agent\//,
    [
      ['test/agent/agent-run', 1],
      ['test/e2e/playbook-job', 1],
      ['test/agent/', 6],
      ['test/unit/agent', 6],
    ],
  ],
  [
    /^control-plane\/src\/store\//,
    [
      ['test/store/', 6],
      ['test/api/', 8],
    ],
  ],
  [/^control-plane\/src\/(cli|check|backup)\//, [['test/cli/', 12]]],
  [
    /^control-plane\/src\/runners\//,
    [
      ['test/runners/', 8],
      ['test/nodes/', 3],
      ['test/e2e/', 3],
    ],
  ],
  [
    /^control-plane\//,
    [
      ['test/unit/http/client-source', 1],
      ['test/api/', 9],
      ['test/e2e/', 2],
      ['test/attacks/', 2],
      ['test/cli/', 2],
    ],
  ],
  [
    /^protocol\/host\//,
    [
      ['test/unit/host', 4],
      ['test/unit/agent/durable', 1],
      ['test/unit/', 5],
    ],
  ],
  [
    /^protocol\//,
    [
      ['test/unit/protocol', 4],
      ['test/agent/agent-run', 1],
      ['test/runners/', 4],
      ['test/unit/', 5],
    ],
  ],
]

/** How many imports on the way the likeness of two files outweighs, when they have all their words in common. */
const LIKENESS_WEIGHT = 30

export interface ChosenTests {
  readonly near: readonly string[]
  readonly wide: readonly string[]
}

/**
 * The tests that are near to a file: those that import it over the fewest others and speak of the same things. Behind them
 * those of its program.
 */
export function testsFor(root: string, path: string, mostNear: number): ChosenTests {
  const distances = distancesTo(root, path)
  const tests = filesBelow(root, 'test').filter((file) => file.endsWith('.test.ts') && !NEVER.test(file))
  const likeness = likenessTo(root, path, tests)
  const rankOf = (file: string): number => (distances.get(file) ?? 9) - LIKENESS_WEIGHT * likeness(file)
  const isNear = (file: string): boolean => distances.has(file) || isOfProgram(path, file)
  const near = sortedBy(tests.filter(isNear), rankOf).slice(0, mostNear)
  const places = WIDE.find(([program]) => program.test(path))?.[1] ?? [['test/', 12] as const]
  const others = sortedBy(tests, rankOf).filter((file) => !near.includes(file))
  const wide = places.flatMap(([place, most]) => others.filter((file) => file.startsWith(place)).slice(0, most))
  return { near, wide: [...new Set(wide)] }
}

/** Tests that start a program import nothing of it. */
function isOfProgram(path: string, test: string): boolean {
  if (path.endsWith('.py')) return test.startsWith('test/ansible/')
  return path.startsWith('control-plane/src/cli/') && test.startsWith('test/cli/')
}

function sortedBy(files: readonly string[], rankOf: (file: string) => number): string[] {
  return files
    .map((file) => [file, rankOf(file)] as const)
    .sort(([, one], [, other]) => one - other)
    .map(([file]) => file)
}
