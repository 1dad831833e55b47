import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { isErrno } from '@holdfast/host/system-errors'
import { messageOf } from '../../errors.js'
import type { Clock } from '../../time/clock.js'
import { parseField } from '../fields/parse-field.js'
import type { FormError } from '../form.js'
import { YOUNG_MS } from './found-files.js'
import type { LaunchChecks } from '../sandbox/launch-checks.js'

/** The functions of an installation, which expressions call as `fnc.…`. */
export interface OwnFunctions {
  /** The file; null: there is none. */
  readonly text: string | null
  /** What they are called. */
  readonly names: readonly string[]
  /** Why none of them can be called; null: they can. */
  readonly problem: FormError | null
}

/** A larger file is refused. Each check of a form that calls a function reads all of it. */
const MAX_FILE_BYTES = 64 * 1024

/** What there is without a file. */
export const NO_OWN_FUNCTIONS: OwnFunctions = { text: null, names: [], problem: null }

/** Gives the functions as the file has them now. */
export type ReadOwnFunctions = () => Promise<OwnFunctions>

/**
 * Makes the reader of the file with an installation's functions. The file is loaded in the sandbox when it changed, which
 * tells the names and what is wrong with it.
 * @param path FORM_FUNCTIONS_PATH
 */
export function createOwnFunctions(path: string, clock: Clock, checks: Pick<LaunchChecks, 'check'>): ReadOwnFunctions {
  let known: { readonly fingerprint: string; readonly found: OwnFunctions } | null = null
  /** The newest text, and what was found in it. Many may ask at the same time, and soon after each other. */
  let newest: { readonly text: string; readonly found: Promise<OwnFunctions> } | null = null

  async function read(): Promise<OwnFunctions> {
    const { ino, size, mtimeMs, ctimeMs } = await stat(path)
    const fingerprint = `${ino} ${size} ${mtimeMs} ${ctimeMs}`
    if (known?.fingerprint === fingerprint) return known.found
    if (size > MAX_FILE_BYTES) return brokenBy(`it has more than ${MAX_FILE_BYTES / 1024} KiB`)
    const found = await inspectOnce(await readFile(path, 'utf8'))
    // A file that could change again without a trace is read again.
    if (clock.now() - Math.max(mtimeMs, ctimeMs) >= YOUNG_MS) known = { fingerprint, found }
    return found
  }

  function inspectOnce(text: string): Promise<OwnFunctions> {
    if (newest?.text === text) return newest.found
    const found = inspect(text)
    newest = { text, found }
    found.catch(() => {
      if (newest?.found === found) newest = null
    })
    return found
  }

  /** An expression that names all functions loads the file as every other one does. */
  async function inspect(text: string): Promise<OwnFunctions> {
    const expression = 'Object.keys(fnc)'
    const field = parseField({ name: 'names', type: 'expression', runLocal: true, expression })
    const values = { values: {}, uploads: {}, constants: {}, user: {} }
    const input = { fields: [field], wizard: [], subforms: {}, ...values, now: clock.now(), functions: text }
    const { extravars, details } = await checks.check(input, 'functions of forms')
    const [error] = details.validationErrors.names ?? []
    // The text stays. So the fields that call a function say what is wrong with it.
    if (error) return brokenBy(error.description.replace(/^its expression failed: /, ''), text)
    return { text, names: extravars.names as string[], problem: null }
  }

  function brokenBy(reason: string, text: string | null = null): OwnFunctions {
    const line = /, line (\d+): /.exec(reason)?.[1]
    const place = { file: basename(path), line: line === undefined ? null : Number(line), form: null }
    return { text, names: [], problem: { ...place, reason } }
  }

  return async () => {
    try {
      return await read()
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return NO_OWN_FUNCTIONS
      return brokenBy(messageOf(error))
    }
  }
}
