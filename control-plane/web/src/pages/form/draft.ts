import type { FormField, FormModel } from '@holdfast/client'
import { readJson, writeJson } from '@holdfast/client'
import { DRAFT_PREFIX } from '../../live/drafts.js'
import { session } from '../../live/session.js'
import type { Typed } from './sent-values.js'
import type { Values } from './form-parts.js'

/** What somebody began to enter into a form, as this browser keeps it. */
export interface Draft {
  /** In milliseconds since the epoch. */
  readonly at: number
  readonly typed: Typed
}

/** Entries are kept for so many days. */
export const MAX_DRAFT_DAYS = 7
/** Larger entries are not kept, because a browser keeps a few megabytes in all. */
const MAX_DRAFT_LENGTH = 200_000
const DAY_MS = 86_400_000

/**
 * Where the draft of a form is. Every user has drafts of their own.
 * @param from the job that is run again, or another source of the first values; null: a new launch
 */
export function draftKey(form: string, from: number | string | null): string {
  const { value } = session
  return `${DRAFT_PREFIX}${'user' in value ? value.user.id : ''}/${from ?? ''}/${form}`
}

/** What was begun; null: nothing, or too long ago. Drafts that are too old are removed. */
export function readDraft(key: string): Draft | null {
  return unlessForbidden(() => {
    for (const one of keysOfDrafts()) if (parsed(localStorage.getItem(one)) === null) localStorage.removeItem(one)
    return parsed(localStorage.getItem(key))
  })
}

/** Keeps what was entered, but no passwords and no files. */
export function keepDraft(key: string, form: FormModel, typed: Typed): void {
  const parts = form.parts.map(({ step, fields }) => [step ?? '', kept(form, fields, typed[step ?? ''] ?? {})] as const)
  // A password or a file alone is nothing to go on with.
  if (parts.every(([, values]) => Object.keys(values).length === 0)) return removeDraft(key)
  const text = writeJson({ at: Date.now(), typed: Object.fromEntries(parts) } satisfies Draft)
  unlessForbidden(() => {
    if (text.length <= MAX_DRAFT_LENGTH) localStorage.setItem(key, text)
  })
}

/** Removes a draft. */
export function removeDraft(key: string): void {
  unlessForbidden(() => localStorage.removeItem(key))
}

const isLeftOut = ({ type }: FormField) => type === 'password' || type === 'file'

/** Whether a subform asks for a password or a file, at any depth. It may contain itself. */
function asksSecretly(form: FormModel, subform: string | null, seen: readonly string[] = []): boolean {
  if (subform === null || seen.includes(subform)) return false
  const inside = form.subforms.get(subform) ?? []
  return inside.some((field) => isLeftOut(field) || asksSecretly(form, field.subform, [...seen, subform]))
}

/** What is written as YAML is one text, from which a password cannot be taken out. */
const mayHidePassword = (form: FormModel, { type, subform }: FormField) =>
  type === 'yaml' && asksSecretly(form, subform)

/** The values of these fields without passwords and files, also in the rows of lists. */
function kept(form: FormModel, fields: readonly FormField[], values: Values): Values {
  const entries = fields
    .filter((field) => !isLeftOut(field) && !mayHidePassword(form, field) && values[field.name] !== undefined)
    .map(({ name, subform }) => {
      const inside = subform === null ? undefined : form.subforms.get(subform)
      const value = values[name]
      const isRows = inside !== undefined && Array.isArray(value)
      return [name, isRows ? (value as Values[]).map((row) => kept(form, inside, row)) : value] as const
    })
  return Object.fromEntries(entries)
}

function keysOfDrafts(): string[] {
  return Object.keys(localStorage).filter((key) => key.startsWith(DRAFT_PREFIX))
}

/** @returns null when it is no draft, or too old */
function parsed(text: string | null): Draft | null {
  if (text === null) return null
  try {
    const draft = readJson(text) as Partial<Draft> | null
    if (typeof draft?.at !== 'number' || typeof draft.typed !== 'object' || draft.typed === null) return null
    return Date.now() - draft.at < MAX_DRAFT_DAYS * DAY_MS ? { at: draft.at, typed: draft.typed } : null
  } catch {
    return null
  }
}

/** A browser may keep nothing for the pages. Then there are no drafts. */
function unlessForbidden<Value>(use: () => Value): Value | null {
  try {
    return use()
  } catch {
    return null
  }
}
