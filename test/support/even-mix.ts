import { relative, sep } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Folders whose files mostly wait, for programs, faults or browsers. Those that take longest come first. */
const WAITING_FOLDERS = ['systemd', 'chaos', 'scripts', 'agent', 'nodes', 'e2e', 'releases', 'browser']
/** The files that wait begin in this share of the run. A long one that begins last would keep all others waiting. */
const WAITING_SHARE = 0.8

/**
 * Mixes the files that wait with those that compute, evenly. Otherwise the processors would have nothing to do for half of
 * the run, and too much for the other half. Within each kind the order is that of vitest: longest first, where it knows.
 */
export class EvenMix extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = (file: TestSpecification) => {
      const [, folder = ''] = relative(this.ctx.config.root, file.moduleId).split(sep)
      return WAITING_FOLDERS.indexOf(folder)
    }
    const sorted = await super.sort(files)
    const waiting = sorted.filter((file) => rankOf(file) >= 0).sort((one, other) => rankOf(one) - rankOf(other))
    const computing = sorted.filter((file) => rankOf(file) < 0)
    const placed = [
      ...waiting.map((file, index) => ({ file, at: (WAITING_SHARE * index) / waiting.length })),
      ...computing.map((file, index) => ({ file, at: index / computing.length })),
    ]
    return placed.sort((one, other) => one.at - other.at).map(({ file }) => file)
  }
}
