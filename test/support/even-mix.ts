import { relative, sep } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Folders whose files take longest, in that order. On a fresh machine nothing is known of earlier runs, and a file of a minute
 * that begins as the last one is a minute in which everybody else has nothing to do.
 */
const LONG_FOLDERS = ['systemd', 'scripts', 'agent', 'chaos', 'e2e', 'browser', 'cli', 'ansible']

/** Starts the long files first; within a folder as vitest does. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = (file: TestSpecification) => {
      const [, folder = ''] = relative(this.ctx.config.root, file.moduleId).split(sep)
      const rank = LONG_FOLDERS.indexOf(folder)
      return rank < 0 ? LONG_FOLDERS.length : rank
    }
    return (await super.sort(files)).sort((one, other) => rankOf(one) - rankOf(other))
  }
}
