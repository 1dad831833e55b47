import { type Job, type JobRecord, RefusedError } from '@holdfast/client'
import { useState } from 'preact/hooks'
import { api } from '../../live/api.js'
import { ActionButton } from '../../parts/dialog.js'
import { words } from '../../words/en.js'

/** Where a job that waits will run; approve or reject it. @property can why not, as the job says it; left out: the control plane will say */
export function Decision({
  job,
  done,
}: {
  readonly job: Pick<JobRecord, 'id'> & Pick<Job, 'can' | 'runs_on'>
  readonly done: () => void
}) {
  const { id, can = {} } = job
  const [isChanged, setChanged] = useState(false)
  const because = (may: boolean | string | undefined) =>
    may === true || may === undefined ? null : (words.job.forbidden[String(may)] ?? words.job.forbidden.other ?? '')

  async function approve(force: boolean) {
    try {
      await api.approveJob({ id, body: { force } })
      done()
    } catch (error) {
      // The playbook or the form has changed. The user has to confirm that they approve what is there now.
      if (error instanceof RefusedError && error.code === 'changed_since_asked') setChanged(true)
      throw error
    }
  }

  return (
    <>
      {job.runs_on && job.runs_on.length > 0 && <p>{words.approval.runsOn(job.runs_on.map(placeText).join('; '))}</p>}
      <div class="buttons">
        <ActionButton
          text={words.approval.approve}
          tone="main"
          disabledBecause={because(can.approve)}
          receipt={words.approval.approveDone(id)}
          act={() => approve(false)}
        />
        {isChanged && (
          <ActionButton
            text={words.approval.force}
            ask={{ title: words.approval.changed, text: words.approval.force }}
            receipt={words.approval.approveDone(id)}
            act={() => approve(true)}
          />
        )}
        <ActionButton
          text={words.approval.reject}
          tone="danger"
          disabledBecause={because(can.reject)}
          ask={{ title: words.approval.rejectTitle(id), text: words.approval.rejectText }}
          receipt={words.approval.rejectDone(id)}
          act={async () => {
            await api.rejectJob({ id })
            done()
          }}
        />
      </div>
    </>
  )
}

/** A runner, and the steps or nodes that are for it. */
function placeText({ runner, by_default, nodes }: NonNullable<Job['runs_on']>[number]): string {
  const name = runner ?? words.approval.noRunner
  return [by_default ? words.approval.defaultRunner(name) : name, nodes.join(', ')].filter(Boolean).join(': ')
}
