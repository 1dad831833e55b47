import { credentialFieldsOf } from '../needs/credential-needs.js'
import type { NewJob } from '../../store/jobs/new-job.js'
import type { Form, FormContext } from '../../forms/form.js'
import { withoutDrafts } from '../../forms/sent/wizard-drafts.js'

/** A launch as it is asked for. */
export interface LaunchRequest {
  readonly formName: string
  readonly extravars: Readonly<Record<string, unknown>>
  /** Null: the launch has no field values. */
  readonly rawFormData: Readonly<Record<string, unknown>> | null
  /** Names of credentials, by the form's variables and credential fields. */
  readonly credentials: Readonly<Record<string, unknown>>
  /** By the key of the file field, the answer to the upload as the client repeats it. */
  readonly files: Readonly<Record<string, unknown>>
  /** Columns of the job that the request sets as they are. */
  readonly columns?: Partial<NewJob>
  /** What an earlier job passes to the job that repeats it. A client cannot set it. */
  readonly earlier?: EarlierJob
  /** Aborted when the client has closed the request. A launch whose values are not checked by then is dropped. */
  readonly signal?: AbortSignal
}

/** The part that only a relaunch has. */
export interface EarlierJob {
  /** Ids of the earlier job's uploads. They may be used again, whoever uploaded them. */
  readonly uploads: ReadonlySet<number>
  /**
   * Not null: the values are checked in every mode, because the variables have to be built from them. These variables
   * belong to no field. They are passed on as they are.
   */
  readonly besides: Readonly<Record<string, unknown>> | null
}

/**
 * A launch in the shape of this service. Pages of the product family send the values of a wizard as drafts. For a field
 * that names a credential they send any value of the field. A value that is not a name is left out, because the field
 * itself decides.
 */
export function inOwnShape(form: Form, subforms: FormContext['subforms'], request: LaunchRequest): LaunchRequest {
  const { rawFormData, credentials } = request
  const ofFields = new Set(credentialFieldsOf(form, subforms))
  const names = Object.entries(credentials).filter(([key, name]) => !ofFields.has(key) || typeof name === 'string')
  return {
    ...request,
    rawFormData: rawFormData && withoutDrafts(form, rawFormData, 'without skipped'),
    credentials: Object.fromEntries(names),
  }
}
