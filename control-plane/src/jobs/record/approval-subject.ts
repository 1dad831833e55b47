import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { InvalidInputError, NotFoundError, messageOf } from '../../errors.js'
import type { Form, FormContext, Forms } from '../../forms/form.js'
import type { JobRow } from '../../store/jobs/jobs.js'
import type { PlannedSequence, SequencePort } from './sequence-port.js'

const hash = v.nullable(v.string())

/**
 * What an approval is given for, as two hashes. `manifest_sha256` stands for the playbook folder. `form_sha256` stands
 * for the form as its file has it, its subforms, its constants, and the workflows that it runs. Null: the content could
 * not be read, so nobody knows what it was.
 */
export const approvalSubjectSchema = v.object({ manifest_sha256: hash, form_sha256: hash })

/** See {@link approvalSubjectSchema}. */
export type ApprovalSubject = Readonly<v.InferOutput<typeof approvalSubjectSchema>>

/** The columns of a job that decide which files it gets. */
export type SubjectJob = Pick<JobRow, 'form' | 'playbook' | 'parent_id' | 'job_type'>

/** Computes what the approval of a job would be given for now. */
export interface ApprovalSubjects {
  /** For a launch: uses exactly the form that the launch is checked with. */
  of(job: SubjectJob, form: Form, context: FormContext, planned: PlannedSequence | null): Promise<ApprovalSubject>
  /** Uses the form that has this name now. */
  now(job: SubjectJob): Promise<ApprovalSubject>
}

/** What this part needs of other parts. */
export interface ApprovalSubjectsDependencies {
  readonly forms: Pick<Forms, 'all' | 'find' | 'contextOf'>
  readonly planOf: SequencePort['planOf']
  /** The playbook folder. Unchanged files are not read again, and callers at the same time share one walk. */
  readonly files: { manifest(job: SubjectJob): Promise<{ readonly sha256: string }> }
  readonly log: { warn(fields: object, text: string): void }
}

/** Makes the part that computes what an approval is given for. */
export function createApprovalSubjects({ forms, planOf, files, log }: ApprovalSubjectsDependencies): ApprovalSubjects {
  async function manifestHash(job: SubjectJob): Promise<string | null> {
    try {
      return (await files.manifest(job)).sha256
    } catch (error) {
      if (!(error instanceof InvalidInputError)) throw error
      log.warn({ reason: messageOf(error) }, 'the playbook folder could not be read for an approval')
      return null
    }
  }

  async function formHash(form: Form, context: FormContext, planned: PlannedSequence | null): Promise<string> {
    const names = Object.keys(context.subforms).sort()
    const subforms = (await forms.all()).filter(({ type, name }) => type === 'subform' && names.includes(name))
    const parts = {
      form: form.source,
      subforms: subforms.map(({ source }) => source),
      constants: context.constants,
      // The steps of a multistep form are in the form itself.
      workflow: form.type === 'workflow' ? (planned?.plan ?? null) : null,
      ...(context.functions === undefined ? {} : { functions: context.functions }),
    }
    return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
  }

  async function formHashNow(name: string): Promise<string | null> {
    try {
      const form = await forms.find(name)
      return await formHash(form, await forms.contextOf(form), await planOf(form))
    } catch (error) {
      if (error instanceof NotFoundError) return null
      throw error
    }
  }

  return {
    async of(job, form, context, planned) {
      const [manifest, ofForm] = await Promise.all([manifestHash(job), formHash(form, context, planned)])
      return { manifest_sha256: manifest, form_sha256: ofForm }
    },
    async now(job) {
      const [manifest, ofForm] = await Promise.all([manifestHash(job), formHashNow(job.form)])
      return { manifest_sha256: manifest, form_sha256: ofForm }
    },
  }
}

/** What has changed, in words; empty: nothing. A hash that was not known counts as changed. */
export function subjectChanges(asked: ApprovalSubject, now: ApprovalSubject): string[] {
  const changed = (before: string | null, after: string | null) => before === null || before !== after
  return [
    ...(changed(asked.manifest_sha256, now.manifest_sha256)
      ? [`the playbook folder (${shortHash(asked.manifest_sha256)} → ${shortHash(now.manifest_sha256)})`]
      : []),
    ...(changed(asked.form_sha256, now.form_sha256)
      ? [`the form (${shortHash(asked.form_sha256)} → ${shortHash(now.form_sha256)})`]
      : []),
  ]
}

function shortHash(sha256: string | null): string {
  return sha256 === null ? 'unknown' : sha256.slice(0, 12)
}
