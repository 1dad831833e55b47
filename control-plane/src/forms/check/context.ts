import type { Answer, Asked } from '../../sources/question.js'
import type { Field, WizardStep } from '../fields/field.js'
import type { Evaluator } from './evaluator.js'
import type { VerifiedUpload } from '../values/uploads.js'
import type { PathStep } from '../fields/model-path.js'
import type { Resolved } from '../values/placeholders.js'
import type { PlainObject } from '../values/plain.js'
import type { CheckDetails } from './report.js'
import type { ShownForm } from './shown-form.js'

/** Most rows of all lists of a launch together. */
export const MAX_ROWS = 500

/** The input of a check: plain data, so that another thread can do the check. */
export interface CheckInput {
  readonly fields: readonly Field[]
  readonly wizard: readonly WizardStep[]
  /** Fields of the subforms that the form uses. */
  readonly subforms: Readonly<Record<string, readonly Field[]>>
  /** `rawFormData` of the launch. */
  readonly values: PlainObject
  /** The uploads that `files` of the launch names; null: no upload of this service. */
  readonly uploads: Readonly<Record<string, VerifiedUpload | null>>
  /** `varsFiles` of the form, over the constants of the configuration. */
  readonly constants: PlainObject
  /** The value of `$(__user__.…)`. */
  readonly user: PlainObject
  /** Milliseconds. */
  readonly now: number
  /** The result also says how a page has to show the form. */
  readonly isShowing?: boolean
  /** What sources answered so far, by the keys of the questions. */
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
  /** How a page has to show the form, if that was asked for. */
  readonly shown?: ShownForm
  /** What fields ask and has no answer yet. The result is final when there is none. */
  readonly asked?: readonly Asked[]
}

/** What the fields of one form, row or step share with all others of the same launch. */
export interface CheckContext extends Pick<CheckInput, 'subforms' | 'constants' | 'user' | 'uploads'> {
  readonly evaluator: Evaluator
  /** The number of rows that are still allowed. */
  readonly rows: { left: number }
  /** Fields whose default is being read at the moment. A default that needs itself would never end. */
  readonly openDefaults: ReadonlySet<Field>
  /**
   * True inside a row that is marked as deleted. Nobody fills it in, so nothing is required. What is there is checked.
   */
  readonly inDeletedRow: boolean
  /** What sources answered, by the keys of the questions. */
  readonly answers: ReadonlyMap<string, Answer>
  /** Collects the questions that have no answer yet, by their keys. */
  readonly asked: Map<string, Asked>
  /** Collects the value of each password field. */
  readonly passwords: Set<string>
  /** Called before a script or pattern of the form runs. So the message after a time-out can name the field. */
  readonly at: (field: string) => void
}

/** The values around a row or step, which `__parent__` means there. */
export interface ParentValues {
  resolve(path: readonly PathStep[]): Resolved
  /** The values as an object, for a script that names them. */
  object(script: string): PlainObject
}

/** For a field that lies in no other field. */
export const NO_PARENT: ParentValues = { resolve: () => ({ known: false, value: undefined }), object: () => ({}) }
