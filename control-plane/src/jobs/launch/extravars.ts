import { MAX_ARGUMENTS_BYTES, isSafeRelativePath, jobOrderSchema } from '@holdfast/protocol'
import * as v from 'valibot'
import type { Caller } from '../../auth/sessions/caller.js'
import { ForbiddenError, RefusedValuesError } from '../../errors.js'
import type { Field } from '../../forms/fields/field.js'
import type { Form, PlaybookSettings } from '../../forms/form.js'
import { type Said, requireCommandWords, requirePlainNames } from './command-words.js'
import { type Playbook, argumentBytes } from '../record/playbook.js'

/** Reserved keys. They belong to the service. A client may send one only if the form declares a field of that name. */
const RESERVED = /^__.+__$/

const { entries: order } = jobOrderSchema
/** How long the texts of an order to a runner may be. Every runner would refuse a longer one, again and again. */
const CARRIED = [
  ['playbook', order.playbook],
  ['playbookSubPath', order.playbook_sub_path],
  ['inventory', order.inventory],
  ['tags', order.tags],
  ['skipTags', order.skip_tags],
  ['limit', order.limit],
] as const

/**
 * Selects the extra variables of a client that a launch uses. A reserved key counts only if the form declares a field
 * of that name, or if it is `__verbose__`.
 */
export function ofClient(
  form: Pick<Form, 'fields' | 'wizard'>,
  subforms: Readonly<Record<string, readonly Field[]>>,
  extravars: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const ofSteps = form.wizard.flatMap((step) => subforms[step.subform] ?? [])
  const declared = new Set([...form.fields, ...ofSteps].map((field) => field.name)).add('__verbose__')
  const counts = (key: string) => !RESERVED.test(key) || declared.has(key)
  return Object.fromEntries(Object.entries(extravars).filter(([key]) => counts(key)))
}

/**
 * Builds the extra variables of a job, and the playbook settings that follow from them. Each static property of the
 * form or step sets `__<property>__`, unless the values have that key already. The playbook settings are then taken
 * from these variables.
 * @param values built from checked field values, or the part of the client's extra variables that counts
 * @throws ForbiddenError when the values ask for the verbose mode and the roles do not allow it
 * @throws RefusedValuesError when a reserved key has a value of the wrong type, or a value that ansible could run
 */
export function playbookVariables(
  settings: PlaybookSettings,
  values: Readonly<Record<string, unknown>>,
  launcher: Pick<Caller, 'options'>,
): { readonly extravars: Record<string, unknown>; readonly playbook: Playbook } {
  // A plain assignment of the key `__proto__` would set the prototype of the object.
  const extravars = Object.fromEntries(Object.entries(values).filter(([key]) => key !== '__proto__'))
  requireVerboseAllowed(extravars, launcher)
  let playbook: Playbook = {
    playbook: relativePath('__playbook__', text('__playbook__', extravars, settings.playbook)),
    playbookSubPath: optionalPath(
      '__playbookSubPath__',
      optionalText('__playbookSubPath__', extravars, settings.playbookSubPath),
    ),
    inventory: inventory(extravars, settings.inventory),
    tags: listText('__tags__', extravars, settings.tags),
    skipTags: settings.skipTags ?? null,
    limit: listText('__limit__', extravars, settings.limit),
    ofForm: { inventory: false, limit: false },
    check: flag('__check__', extravars, settings.check),
    diff: flag('__diff__', extravars, settings.diff),
    verbose: isVerbose(extravars, settings.verbose),
    verbosity: settings.verbosity ?? 0,
    allowJinjaInExtravars: flag('__allowJinjaInExtravars__', extravars, settings.allowJinjaInExtravars),
    // The author of the form chooses the image, nobody else.
    executionImage: settings.executionImage ?? null,
    playbookFiles: settings.playbookFiles === null ? null : [...settings.playbookFiles],
    // The credentials are chosen later, from those that exist.
    ansibleCredentials: null,
    vaultCredentials: null,
  }
  requireCarried(playbook)
  const isSaid = (key: string) => extravars[key] !== undefined && extravars[key] !== null
  const said: Said = {
    inventories: isSaid('__inventory__') ? playbook.inventory.filter((entry) => !isOfAuthor(settings, entry)) : [],
    limit: isSaid('__limit__') && playbook.limit !== settings.limit,
    playbook: isSaid('__playbook__') && playbook.playbook !== settings.playbook,
    playbookSubPath: isSaid('__playbookSubPath__') && playbook.playbookSubPath !== settings.playbookSubPath,
  }
  requireCommandWords(playbook, said)
  if (!playbook.allowJinjaInExtravars) requirePlainNames(extravars)
  // A list of hosts means the same in the form and in the launch.
  const namesFile = said.inventories.some((entry) => !entry.includes(','))
  playbook = { ...playbook, ofForm: { inventory: !namesFile, limit: !said.limit } }
  extravars.__playbook__ = playbook.playbook
  if (playbook.playbookSubPath !== null) extravars.__playbookSubPath__ = playbook.playbookSubPath
  if (playbook.inventory.length > 0) extravars.__inventory__ = playbook.inventory
  if (playbook.tags !== null) extravars.__tags__ = playbook.tags
  if (playbook.limit !== null) extravars.__limit__ = playbook.limit
  for (const name of ['check', 'diff', 'verbose', 'allowJinjaInExtravars'] as const) {
    if (playbook[name]) extravars[`__${name}__`] = true
  }
  if (flag('__keepExtravars__', extravars, settings.keepExtravars)) extravars.__keepExtravars__ = true
  return { extravars, playbook }
}

/** Whether the form itself names this inventory, as its `inventory` or as one of its choices. */
function isOfAuthor({ inventory, listedInventories = [] }: PlaybookSettings, entry: string): boolean {
  return inventory.includes(entry) || listedInventories.includes(entry)
}

/** Whether the values ask for the verbose mode. Every true value asks for it: "true" and 1, too. */
function isVerbose({ __verbose__: wanted }: Readonly<Record<string, unknown>>, fallback = false): boolean {
  return wanted === undefined || wanted === null ? fallback : Boolean(wanted)
}

/** @throws ForbiddenError */
export function requireVerboseAllowed(
  values: Readonly<Record<string, unknown>>,
  launcher: Pick<Caller, 'options'>,
): void {
  if (isVerbose(values) && !launcher.options.allowVerboseMode) {
    throw new ForbiddenError('verbose_not_allowed', 'Your roles do not allow the verbose mode')
  }
}

/** The variable with the launching user. @param keys `userExtravars` of the form; null: everything */
export function userVariable(caller: Caller, keys: readonly string[] | null): Record<string, unknown> {
  const user: Record<string, unknown> = {
    username: caller.username,
    id: caller.id,
    type: caller.type,
    ...(caller.email === null ? {} : { email: caller.email }),
    groups: caller.groups,
    roles: caller.roles,
    options: caller.options,
  }
  return keys === null ? user : Object.fromEntries(Object.entries(user).filter(([key]) => keys.includes(key)))
}

function refuse(key: string, expected: string): never {
  throw new RefusedValuesError('values_refused', `${key} must be ${expected}`, { invalid: [key] })
}

function optionalText(key: string, values: Readonly<Record<string, unknown>>, fallback: string | null): string | null {
  const value = values[key] ?? fallback
  if (value === null || value === '') return null
  return typeof value === 'string' ? value : refuse(key, 'text')
}

function text(key: string, values: Readonly<Record<string, unknown>>, fallback: string): string {
  return optionalText(key, values, fallback) ?? fallback
}

function flag(key: string, values: Readonly<Record<string, unknown>>, fallback: boolean): boolean {
  const value = values[key] ?? fallback
  return typeof value === 'boolean' ? value : refuse(key, 'true or false')
}

/** A text, or the texts that somebody chose of a list, with commas between them. */
function listText(key: string, values: Readonly<Record<string, unknown>>, fallback: string | null): string | null {
  const value = values[key]
  if (!Array.isArray(value)) return optionalText(key, values, fallback)
  const isText = (one: unknown): one is string => typeof one === 'string'
  return value.every(isText) ? value.join(',') || null : refuse(key, 'text or a list of texts')
}

/** @throws RefusedValuesError that says how long the text may be */
function requireCarried(playbook: Playbook): void {
  for (const [name, schema] of CARRIED) {
    const { issues } = v.safeParse(schema, playbook[name])
    // Only a node of a workflow has tags to skip.
    if (issues) refuse(name === 'skipTags' ? 'skip_tags' : `__${name}__`, issues[0].message)
  }
  if (argumentBytes(playbook) > MAX_ARGUMENTS_BYTES) {
    const all = 'inventories, tags and limit together'
    refuse('__inventory__', `shorter: ${all} may have at most ${MAX_ARGUMENTS_BYTES} bytes`)
  }
}

function inventory(values: Readonly<Record<string, unknown>>, fallback: readonly string[]): string[] {
  const value = values.__inventory__ ?? fallback
  const entries: unknown[] = Array.isArray(value) ? value : [value]
  return entries.map((entry) =>
    typeof entry === 'string' && entry !== '' ? entry : refuse('__inventory__', 'text or a list of texts'),
  )
}

function relativePath(key: string, path: string): string {
  const plain = path.replace(/^(\.\/)+/, '')
  return isSafeRelativePath(plain) ? plain : refuse(key, 'a path inside the playbook folder')
}

function optionalPath(key: string, path: string | null): string | null {
  return path === null ? null : relativePath(key, path.replace(/\/+$/, ''))
}
