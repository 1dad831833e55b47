import type { Answer, Asked } from '../../sources/question.js'
import type { Field, WizardStep } from '../fields/field.js'
import type { Evaluator } from './evaluator.js'
import type { LaunchUpload } from '../values/uploads.js'
import type { PathStep } from '../fields/model-path.js'
import type { Resolved } from '../values/placeholders.js'
import type { PlainObject } from '../values/plain.js'
import type { CheckDetails } from './report.js'
import type { ShownForm, ShownRow } from './shown-form.js'

/** Most rows of all lists of a launch together. */
export const MAX_ROWS = 500

/**
 * Most fields that need each other in a row, those of rows and steps included. All fields of one form may. Each of them
 * takes a part of the stack of the thread that checks.
 */
export const MAX_CHAIN = 1100

/** The input of a check: plain data, so that another thread can do the check. */
export interface CheckInput {
  readonly fields: readonly Field[]
  readonly wizard: readonly WizardStep[]
  /** Fields of the subforms that the form uses. */
  readonly subforms: Readonly<Record<string, readonly Field[]>>
  /** `rawFormData` of the launch. */
  readonly values: PlainObject
  /** The uploads that the launch names, by the full keys of their file fields. */
  readonly uploads: Readonly<Record<string, LaunchUpload>>
  /** `varsFiles` of the form, over the constants of the configuration. */
  readonly constants: PlainObject
  /** Values that the caller sent for placeholders, by their names. They come before constants of the same names. */
  readonly sentValues?: PlainObject
  /** The value of `$(__user__.…)`. */
  readonly user: PlainObject
  /** Milliseconds. */
  readonly now: number
  /** The result also says how a page has to show the form. */
  readonly isShowing?: boolean
  /** Rows of lists that the result has to show, too: each by the names and indexes that lead to it. */
  readonly rowsToShow?: readonly (readonly PathStep[])[]
  /** The file with the functions of the installation, if something of the form calls one. */
  readonly functions?: string | undefined
  /** The answers of sources so far, by the keys of the questions. */
  readonly answers?: ReadonlyMap<string, Answer>
}

/** The result of a check. The extra variables may only be used when there is no error. */
export interface CheckResult {
  readonly details: CheckDetails
  readonly extravars: Readonly<Record<string, unknown>>
  /** Names of credentials, by the field that asked for them. */
  readonly credentials: Readonly<Record<string, unknown>>
  /** Values of the password fields that are shown, each once: sent, computed, or a default. */
  readonly passwords: readonly string[]
  /** How a page has to show the form, if the caller asked for it. */
  readonly shown?: ShownForm
  /** The questions of fields without an answer yet. The result is final when there are none. */
  readonly asked?: readonly Asked[]
}

/** The facts that the fields of one form, row or step share with all others of the same launch. */
export interface CheckContext extends Pick<CheckInput, 'subforms' | 'constants' | 'user' | 'uploads'> {
  readonly evaluator: Evaluator
  /** The rows that have an upload. See `rowsWithFiles`. */
  readonly rowsWithFiles: ReadonlyMap<string, ReadonlyMap<number, string>>
  /** The number of rows that are still allowed. */
  readonly rows: { left: number }
  /** How many fields are being computed, because each of them needs the next one. */
  readonly chain: { length: number }
  /** Fields whose default is being read at the moment. A default that needs itself would never end. */
  readonly openDefaults: ReadonlySet<Field>
  /**
   * True inside a row that is marked as deleted. Nobody fills it in, so no value is required. Values that are there are
   * checked.
   */
  readonly inDeletedRow: boolean
  /** Values that the caller sent for placeholders. */
  readonly sentValues: PlainObject
  /** The answers of sources, by the keys of the questions. */
  readonly answers: ReadonlyMap<string, Answer>
  /** Collects the questions that have no answer yet, by their keys. */
  readonly asked: Map<string, Asked>
  /** Collects the value of each password field. */
  readonly passwords: Set<string>
  /** The names and indexes that lead to these fields. Empty for the fields of the form itself. */
  readonly place: readonly PathStep[]
  /** The keys of the places of rows to show. */
  readonly rowsToShow: ReadonlySet<string>
  /** Collects the rows to show. */
  readonly shownRows: ShownRow[]
  /** Called before a script or pattern of the form runs. So the message after a time-out can name the field. */
  readonly at: (field: string) => void
}

/** Two places with one key are the same place. An index may be a text. */
export function placeKeyOf(place: readonly PathStep[]): string {
  return JSON.stringify(place.map(String))
}

/** The values around a row or step, which `__parent__` means there. */
export interface ParentValues {
  resolve(path: readonly PathStep[]): Resolved
  /** The values as an object, for a script that names them. */
  object(script: string): PlainObject
}

/** For a field that is not inside another field. */
export const NO_PARENT: ParentValues = { resolve: () => ({ known: false, value: undefined }), object: () => ({}) }
