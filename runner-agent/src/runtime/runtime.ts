import { existsSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { unlessMissing } from '@holdfast/host/system-errors'
import { describeError, type Logger } from '../log.js'
import { type AnsibleParts, PACKAGED_PARTS_FOLDER, partsIn } from '../package-info.js'
import type { JobFolder } from '../spool/job-folder.js'
import { MissingPartsError, type PartFiles, readPartFiles } from './part-files.js'
import { placeParts, UNFINISHED } from './placed-parts.js'

/**
 * The parts beside ansible, as playbooks use them: a copy in `<state folder>/runtime/<hash of the content>`. So a playbook
 * needs nothing of the package, which may be replaced or removed at any moment. A job keeps the copy that it was started
 * with. A copy is removed at a start of the agent when no job of the spool that runs names it.
 */
export interface Runtime {
  /** For the agent itself. Those of the package, as long as they could not be copied. */
  readonly parts: AnsibleParts
  /** For jobs. @throws MissingPartsError when not all of them are there: nothing may be started then */
  readonly partsOfJobs: AnsibleParts
  /** Why no playbook can be started, as a sentence; null: all parts are there. A copy is tried again meanwhile. */
  problem(): string | null
  /**
   * Copies the parts, or checks the copy that is there. May be called again.
   * @throws the system's error when they cannot be written: a full or read-only disk
   */
  prepare(): Promise<void>
  close(): Promise<void>
}

/** What the runtime needs. */
export interface RuntimeDependencies {
  readonly statePath: string
  /** The jobs of the spool. @throws an error when they cannot be listed */
  readonly jobs: () => Promise<readonly JobFolder[]>
  readonly log: Logger
}

/** Pause between two tries to copy the parts, in milliseconds. */
const TRY_AGAIN_MS = 1_000
const COPY = /^[0-9a-f]{64}$/
/** How the orders of a supervisor name the copy that it uses. The path before it changes when the state folder is moved. */
const NAMED_COPY = /\/runtime\/([0-9a-f]{64})\//g

/** Nothing is read or written before `prepare`. */
export function createRuntime(deps: RuntimeDependencies): Runtime {
  return new CopiedRuntime(deps)
}

class CopiedRuntime implements Runtime {
  readonly #deps: RuntimeDependencies
  readonly #root: string
  #placed: { readonly path: string; readonly parts: PartFiles } | null = null
  #failure: string | null = null
  #preparing: Promise<void> | null = null
  #triedAt = -Infinity

  constructor(deps: RuntimeDependencies) {
    this.#deps = deps
    this.#root = join(deps.statePath, 'runtime')
  }

  get parts(): AnsibleParts {
    return partsIn(this.#placed?.path ?? PACKAGED_PARTS_FOLDER)
  }

  get partsOfJobs(): AnsibleParts {
    const problem = this.problem()
    if (problem !== null) throw new MissingPartsError(problem)
    return this.parts
  }

  problem(): string | null {
    if (!this.#isNeeded) return null
    const missing = this.#missing()
    if (missing === null) return null
    this.#prepareSoon()
    return `${missing}; ${this.#failure ?? 'it is being copied'}`
  }

  async prepare(): Promise<void> {
    if (!this.#isNeeded) return
    this.#preparing ??= this.#copy().finally(() => {
      this.#preparing = null
      this.#triedAt = performance.now()
    })
    await this.#preparing
  }

  async close(): Promise<void> {
    await this.#preparing?.catch(() => undefined)
  }

  /** Ansible cannot be told a folder of callbacks whose path has such a character. There the package itself is used. */
  get #isNeeded(): boolean {
    return !/[:$]/.test(this.#root)
  }

  /** What of the copy is not there, as a sentence. */
  #missing(): string | null {
    if (this.#placed === null) return `the parts of the agent are not in ${this.#root} yet`
    const { path, parts } = this.#placed
    const missing = parts.files.find(({ name }) => !existsSync(join(path, name)))
    return missing === undefined ? null : `${join(path, missing.name)} is not there`
  }

  #prepareSoon(): void {
    if (this.#preparing !== null || performance.now() - this.#triedAt < TRY_AGAIN_MS) return
    this.prepare().catch((error: unknown) => {
      this.#failed(describeError(error))
    })
  }

  async #copy(): Promise<void> {
    // The package may be of another release by now. This process goes on with what it has read at first.
    const parts = this.#placed?.parts ?? (await this.#readPackage())
    if (parts === null) return
    const path = join(this.#root, parts.hash)
    await placeParts(path, parts)
    if (this.#failure !== null) this.#deps.log.info({ folder: path }, 'the parts of the agent are complete again')
    this.#failure = null
    const isFirst = this.#placed === null
    this.#placed = { path, parts }
    if (isFirst) await this.#removeOthers(parts.hash)
  }

  async #readPackage(): Promise<PartFiles | null> {
    try {
      return await readPartFiles(PACKAGED_PARTS_FOLDER)
    } catch (error) {
      const cause = 'the package is being replaced, or must be installed again'
      this.#failed(error instanceof MissingPartsError ? `${error.message}; ${cause}` : describeError(error))
      return null
    }
  }

  #failed(problem: string): void {
    if (problem !== this.#failure) this.#deps.log.error({ problem }, 'no playbook is started until all parts are there')
    this.#failure = problem
  }

  /** Removes copies of other releases, unless a job may still use them. If that is not known, they stay. */
  async #removeOthers(own: string): Promise<void> {
    const { log } = this.#deps
    try {
      const used = await this.#usedCopies()
      for (const name of await readdir(this.#root)) {
        const isOld = COPY.test(name) && name !== own && !used.has(name)
        if (isOld || name.endsWith(UNFINISHED)) await rm(join(this.#root, name), { recursive: true, force: true })
      }
    } catch (error) {
      log.warn({ error: describeError(error) }, 'old parts of the agent cannot be removed; the next start tries again')
    }
  }

  async #usedCopies(): Promise<Set<string>> {
    const used = new Set<string>()
    for (const folder of await this.#deps.jobs()) {
      if (folder.end().kind === 'present') continue
      const orders = await unlessMissing(readFile(folder.file('supervisor.json'), 'utf8'), '')
      for (const [, name] of orders.matchAll(NAMED_COPY)) if (name !== undefined) used.add(name)
    }
    return used
  }
}
