import { type Job, RefusedError } from '@holdfast/client'
import { useLocation } from 'preact-iso/router'
import { addressOf } from '../../live/address.js'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { Content } from '../../parts/content.js'
import { CopyButton } from '../../parts/copy-button.js'
import { ActionButton } from '../../parts/dialog.js'
import { words } from '../../words/en.js'

/** Codes of a refusal that only says that the job is in the wrong state. The button is then left out. */
const NOT_NOW = /^(not_|job_|no_longer|already)/

/**
 * The buttons for a job. A button that may not be pressed says why.
 * @property done is called after an action, which then leads to no other page
 */
export function JobButtons({ job, done }: { readonly job: Job; readonly done?: () => void }) {
  const { route } = useLocation()
  const { id, can = {} } = job
  const isOpen = job.status === 'running' || job.status === 'approve'
  const because = (may: boolean | string | undefined) =>
    may === true || may === undefined ? null : (words.job.forbidden[String(may)] ?? words.job.forbidden.other ?? '')
  const shows = (may: boolean | string | undefined, isTime: boolean) =>
    isTime && (typeof may !== 'string' || !NOT_NOW.test(may) || words.job.forbidden[may] !== undefined)
  return (
    <span class="buttons">
      {job.abort_requested && isOpen && <span class="soft">{words.job.abortAsked}</span>}
      {shows(can.abort, isOpen) && !job.abort_requested && (
        <ActionButton
          text={words.job.abort}
          tone="danger"
          disabledBecause={because(can.abort)}
          ask={{ title: words.job.abortTitle(id), text: words.job.abortText }}
          receipt={words.job.abortDone(id)}
          act={async () => {
            await api.abortJob({ id })
            done?.()
          }}
        />
      )}
      {shows(can.relaunch, !isOpen) && job.parent_id === null && (
        <>
          <ActionButton
            text={words.job.relaunch}
            disabledBecause={because(can.relaunch)}
            ask={{ title: words.job.relaunchTitle(id), text: words.job.relaunchText }}
            receipt={words.job.relaunchDone(id)}
            explained={(error) => {
              const asked = fieldsAsked(error)
              if (asked.length > 0) route(formAddress(job, asked))
              return asked.length > 0
            }}
            act={async () => {
              const again = await api.relaunchJob({ id })
              if (done) done()
              else route(addressOf(`/jobs/${again.id}`))
            }}
          />
          {can.relaunch === true && (
            <a class="button" href={formAddress(job)}>
              {words.job.relaunchAs}
            </a>
          )}
        </>
      )}
      {shows(can.delete, !isOpen) && job.parent_id === null && (
        <ActionButton
          text={words.job.remove}
          disabledBecause={because(can.delete)}
          tone="danger"
          ask={{ title: words.job.removeTitle(id), text: words.job.removeText }}
          receipt={words.job.removeDone(id)}
          act={async () => {
            await api.deleteJob({ id })
            if (done) done()
            else route(addressOf('/jobs'))
          }}
        />
      )}
      <CopyButton text={() => location.origin + addressOf(`/jobs/${id}`)} label={words.job.copyLink} />
    </span>
  )
}

/** The form with the values of a job. @param asked fields that have to be filled in anew */
function formAddress({ form, id }: Job, asked: readonly string[] = []): string {
  const query = new URLSearchParams([['from', String(id)], ...asked.map((name) => ['ask', name])])
  return addressOf(`/forms/${encodeURIComponent(form)}?${query}`)
}

/** The fields whose values a job cannot be run again with, such as passwords, which are not kept. */
function fieldsAsked(error: Error): string[] {
  if (!(error instanceof RefusedError) || error.status !== 422) return []
  const { validationErrors = {}, rowErrors = {} } = (error.details ?? {}) as Readonly<
    Record<string, object | undefined>
  >
  return [...new Set([...Object.keys(validationErrors), ...Object.keys(rowErrors)])]
}

/** The buttons for a job of a list. The control plane is asked what one may do with it. */
export function JobMenu({ id, done }: { readonly id: number; readonly done: () => void }) {
  const answer = useAnswer(`job/${id}`, ['jobs'], (signal) => api.getJob({ id, output: false }, { signal }))
  return <Content answer={answer}>{(job) => <JobButtons job={job} done={done} />}</Content>
}
