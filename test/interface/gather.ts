import { relative } from 'node:path'
import type { TestModule } from 'vitest/node'
import type { ShowingTest } from './verdict.js'

/** The tests that say which rules they show, in the order of their files. */
export function showingTests(modules: readonly TestModule[], root: string): ShowingTest[] {
  const sorted = [...modules].sort((one, other) => (one.moduleId < other.moduleId ? -1 : 1))
  return sorted.flatMap((module) => {
    const families = new Map<number | undefined, string>()
    return [...module.children.allTests()].flatMap((test) => {
      const { covers } = test.meta()
      if (covers === undefined) return []
      const line = test.location?.line
      const family = (line === undefined ? undefined : families.get(line)) ?? test.fullName
      families.set(line, family)
      const passed = test.result().state === 'passed'
      return [{ file: relative(`${root}/test`, module.moduleId), name: test.fullName, family, covers, passed }]
    })
  })
}
