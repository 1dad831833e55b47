import type { Field, WizardStep } from '../fields/field.js'
import type { Evaluator } from './evaluator.js'
import type { VerifiedUpload } from '../values/uploads.js'
import type { PathStep } from '../fields/model-path.js'
import type { Resolved } from '../values/placeholders.js'
import type { PlainObject } from '../values/plain.js'
import type { CheckDetails } from './report.js'

/** Rows of all lists of a launch together. */
export const MAX_ROWS = 500

/** What a check needs to know: plain data, so that it can be done in another thread. */
export interface CheckInput {
  readonly fields: readonly Field[]
  readonly wizard: readonly WizardStep[]
  /** Fields of the subforms that are reached from the form. */
  readonly subforms: Readonly<Record<string, readonly Field[]>>
  /** `rawFormData` of the launch. */
  readonly values: PlainObject
  /** What `files` of the launch says, looked up; null: no upload of this service. */
  readonly uploads: Readonly<Record<string, VerifiedUpload | null>>
  /** `varsFiles` of the form over the constants of the configuration. */
  readonly constants: PlainObject
  /** What `$(__user__.…)` stands for. */
  readonly user: PlainObject
  /** Milliseconds. */
  readonly now: number
}

/** What came of a check. The extra variables are only to be used when nothing is wrong. */
export interface CheckResult {
  readonly details: CheckDetails
  readonly extravars: Readonly<Record<string, unknown>>
  /** Names of credentials by the field that asked for them. */
  readonly credentials: Readonly<Record<string, unknown>>
  /** What password fields hold that are shown, each once: sent, computed, or a default. */
  readonly passwords: readonly string[]
}

/** What the fields of one form, row or step share with all others of the same launch. */
export interface CheckContext extends Pick<CheckInput, 'subforms' | 'constants' | 'user' | 'uploads'> {
  readonly evaluator: Evaluator
  /** Counts the rows that are still allowed. */
  readonly rows: { left: number }
  /** Fields whose default is being read around this place: one that leads back to itself would have no end. */
  readonly openDefaults: ReadonlySet<Field>
  /**
   * Inside a row that is marked as deleted: nobody fills it in any more, so nothing needs to be there. What is there is
   * checked.
   */
  readonly inDeletedRow: boolean
  /** Told the value of each password field. */
  readonly passwords: Set<string>
  /** Told before anything of the form's own runs, so that whoever waits too long knows for what. */
  readonly at: (field: string) => void
}

/** The values around a row or step: what `__parent__` means there. */
export interface Parent {
  resolve(path: readonly PathStep[]): Resolved
  /** As an object for a script that names it. */
  object(script: string): PlainObject
}

/** For a field that lies in no other field. */
export const NO_PARENT: Parent = { resolve: () => ({ known: false, value: undefined }), object: () => ({}) }
