import type { Stats } from 'node:fs'
import { lstat, readFile, readlink, stat, symlink, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseJson } from '@holdfast/protocol'
import { writeDurably } from '@holdfast/host/durable'
import { isErrno, unlessMissing } from '@holdfast/host/system-errors'
import * as v from 'valibot'
import { codeOf } from '../host/fact.js'
import { describeError, type Logger } from '../log.js'
import type { JobFolder } from './job-folder.js'
import type { Spool } from './spool.js'
import { stateFolderAtStart } from './state-of-start.js'

/**
 * Helps playbooks whose state folder was moved while they run. Ansible looks for its files under the path of its start. So
 * a link must lead from there to the state folder, until these playbooks have ended:
 *
 *   nothing is at the old path   the agent makes the link, and removes it when no job needs it any more
 *   the old path leads here      a person has made the link, or moved nothing: all is well
 *   anything else                `problem` says what a person must do
 *
 * The links that the agent has made are noted in `moved-from.json`. No other link is ever removed.
 */
export interface MovedState {
  /** What a person must do for playbooks that run, with the command; null: nothing. */
  readonly problem: string | null
  /** Looks once, and then again and again as long as a job needs a link, or a link is to be removed. Never rejects. */
  look(): Promise<void>
  close(): Promise<void>
}

/** What it needs. */
export interface MovedStateDependencies {
  readonly statePath: string
  readonly spool: Pick<Spool, 'list'>
  readonly after: (milliseconds: number, task: () => void) => () => void
  readonly log: Logger
}

const LOOK_AGAIN_MS = 2_000

const linksSchema = v.array(v.object({ path: v.string(), target: v.string() }))
type Links = v.InferOutput<typeof linksSchema>

/** Nothing is looked at before `look`. */
export function createMovedState(deps: MovedStateDependencies): MovedState {
  return new WatchedState(deps)
}

class WatchedState implements MovedState {
  readonly #deps: MovedStateDependencies
  readonly #notes: string
  #problem: string | null = null
  #looking: Promise<void> = Promise.resolve()
  #lookNoMore = (): void => undefined
  #isClosed = false

  constructor(deps: MovedStateDependencies) {
    this.#deps = deps
    this.#notes = join(deps.statePath, 'moved-from.json')
  }

  get problem(): string | null {
    return this.#problem
  }

  async look(): Promise<void> {
    this.#lookNoMore()
    this.#looking = this.#looking
      .then(() => this.#lookOnce())
      .catch((error: unknown) => {
        // What cannot be looked at now says nothing. What was said before stays.
        this.#deps.log.warn(
          { error: describeError(error) },
          'cannot look whether the state folder was moved; tried again',
        )
        return true
      })
      .then((isToLookAgain) => {
        if (!isToLookAgain || this.#isClosed) return
        this.#lookNoMore = this.#deps.after(LOOK_AGAIN_MS, () => void this.look())
      })
    await this.#looking
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#lookNoMore()
    await this.#looking
  }

  /** @returns whether another look may find something to do */
  async #lookOnce(): Promise<boolean> {
    const needed = await this.#neededPaths()
    const links = await this.#noted()
    if (needed.size === 0 && links.length === 0) {
      this.#say(null)
      return false
    }
    const kept = await this.#removeUnneeded(links, needed)
    const problems: string[] = []
    for (const [path, jobs] of needed) {
      const problem = await this.#lead(path, jobs, kept)
      if (problem !== null) problems.push(problem)
    }
    this.#say(problems.length === 0 ? null : problems.join('; '))
    return needed.size + kept.length > 0
  }

  /** The other paths under which playbooks look for their files, with the folders of their jobs. */
  async #neededPaths(): Promise<Map<string, JobFolder[]>> {
    const { statePath, spool } = this.#deps
    const needed = new Map<string, JobFolder[]>()
    for (const folder of await spool.list()) {
      if (!mayRun(folder)) continue
      const path = stateFolderAtStart(folder)
      if (path !== null && path !== statePath) needed.set(path, [...(needed.get(path) ?? []), folder])
    }
    return needed
  }

  /** Makes a path lead to the state folder. @returns what a person must do instead; null when it leads there */
  async #lead(path: string, jobs: readonly JobFolder[], links: Links): Promise<string | null> {
    const { statePath, log } = this.#deps
    const here = await stat(statePath)
    const there = await unlessMissing(stat(path), null)
    if (there !== null && isSame(there, here)) return null
    if (there?.isDirectory() === true && (await haveAll(path, jobs))) return null
    const found = await unlessMissing(lstat(path), null)
    const names = jobs.map(({ key }) => key.jobId).join(', ')
    const words = `the playbook of job ${names} looks for its files in ${path}, and the state folder is ${statePath} now`
    const command = `ln -s ${quoted(statePath)} ${quoted(path)}`
    if (found !== null) return `${words}; another thing is at the old path: move it away, and then run: ${command}`
    try {
      await symlink(statePath, path)
    } catch (error) {
      const first = isErrno(error, 'ENOENT') ? `mkdir -p ${quoted(dirname(path))} && ` : ''
      return `${words}; the agent cannot make a link there (${codeOf(error)}); run: ${first}${command}`
    }
    log.warn({ path, target: statePath, jobs: names }, 'the state folder was moved while playbooks run: made a link')
    links.push({ path, target: statePath })
    await this.#note(links)
    return null
  }

  /** @returns the notes of the links that are still needed, or that could not be removed */
  async #removeUnneeded(links: Links, needed: ReadonlyMap<string, unknown>): Promise<Links> {
    const { statePath, log } = this.#deps
    const kept: Links = []
    for (const link of links) {
      const isRight = needed.has(link.path) && link.target === statePath
      if (isRight || !(await isRemoved(link, log))) kept.push(link)
    }
    if (kept.length < links.length) await this.#note(kept)
    return kept
  }

  async #noted(): Promise<Links> {
    const text = await unlessMissing(readFile(this.#notes, 'utf8'), '[]')
    return parseJson(linksSchema, text)
  }

  async #note(links: Links): Promise<void> {
    await writeDurably(this.#notes, JSON.stringify(links))
  }

  #say(problem: string | null): void {
    if (problem === this.#problem) return
    if (problem === null) this.#deps.log.info('running playbooks find their files again')
    else this.#deps.log.error({ problem }, 'the state folder was moved while playbooks run')
    this.#problem = problem
  }
}

/**
 * Whether ansible may still run. What cannot be looked at counts as if it ran, and so does a lost supervisor: the job gets
 * its end soon.
 */
function mayRun(folder: JobFolder): boolean {
  const started = folder.started()
  if (started.kind === 'absent' || folder.end().kind === 'present') return false
  return started.kind !== 'present' || started.content.by !== 'agent'
}

/** The state folder was copied, and its original is still there: these playbooks use the original. */
async function haveAll(path: string, jobs: readonly JobFolder[]): Promise<boolean> {
  for (const { path: folder } of jobs) {
    const name = folder.slice(folder.lastIndexOf('/'))
    if ((await unlessMissing(stat(`${path}/spool/jobs${name}`), null)) === null) return false
  }
  return true
}

/** Removes a link of the agent. One that leads elsewhere by now belongs to somebody else. */
async function isRemoved({ path, target }: Links[number], log: Logger): Promise<boolean> {
  try {
    if ((await readlink(path)) === target) await unlink(path)
    log.info({ path }, 'no job needs the link from the old path of the state folder any more')
    return true
  } catch (error) {
    // It is gone, or something else has taken its place.
    if (isErrno(error, 'ENOENT', 'EINVAL', 'ENOTDIR')) return true
    log.warn({ path, error: describeError(error) }, 'cannot remove the link from the old path of the state folder')
    return false
  }
}

function isSame(one: Stats, other: Stats): boolean {
  return one.dev === other.dev && one.ino === other.ino
}

/** As a shell reads it as one word. */
function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`
}
