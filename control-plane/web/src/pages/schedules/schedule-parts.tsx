import type { Schedule } from '@holdfast/client'
import { addressOf } from '../../live/address.js'
import { api } from '../../live/api.js'
import { session } from '../../live/session.js'
import { ActionButton } from '../../parts/dialog.js'
import { Badge, Status } from '../../parts/status.js'
import { Switch } from '../../parts/switch.js'
import { localText } from '../../parts/time.js'
import { scheduleWords as text } from '../../words/en-schedules.js'
import { words } from '../../words/en.js'
import { cronText } from './cron-plan.js'
import { zoneTimeText } from './zone-time.js'

/** What every part that changes a schedule gets. */
export interface SchedulePart {
  readonly schedule: Schedule
  readonly done: () => void
}

/** When a schedule starts, in plain words. */
export function timesText({ cron, at, time_zone: timeZone }: Schedule): string {
  if (cron !== null) return text.times.in(cronText(cron), timeZone)
  return text.times.once(at === null ? words.none : zoneTimeText(at, timeZone))
}

/** Whether the one who is signed in made the schedule. Nobody else may change what it launches. */
export function isOwn({ user, user_type: type }: Schedule): boolean {
  const { value } = session
  return 'user' in value && value.user.username === user && value.user.type === type
}

/** What became of the last start. */
export function LastResult({ schedule }: { readonly schedule: Schedule }) {
  const { last_run: lastRun, last_job: job, last_status: status = null, last_problem: problem } = schedule
  if (lastRun === null) return <span class="soft">{text.neverRan}</span>
  if (problem !== null) {
    return (
      <>
        <Badge tone="bad" text={text.noJob} />
        <span class="soft reason">{localText(problem)}</span>
      </>
    )
  }
  return (
    <span class="last">
      {status !== null && <Status status={status} />}
      {job !== null && status !== null && <a href={addressOf(`/jobs/${job}`)}>{text.job(job)}</a>}
      {status === null && words.none}
    </span>
  )
}

/** A switch that pauses a schedule and lets it go on. */
export function ActiveSwitch({ schedule: { id, name, paused, next_run: next }, done }: SchedulePart) {
  if (!paused && next === null) return <Badge tone="off" text={text.isOver} />
  return (
    <Switch
      label={text.active(name)}
      isOn={!paused}
      word={paused ? text.isPaused : text.isOn}
      receipt={paused ? text.resumed(name) : text.paused(name)}
      turn={async () => {
        await (paused ? api.resumeSchedule({ id }) : api.pauseSchedule({ id }))
        done()
      }}
    />
  )
}

/** Deletes a schedule, after a question. */
export function RemoveButton({ schedule: { id, name }, done }: SchedulePart) {
  return (
    <ActionButton
      text={text.remove}
      tone="danger"
      ask={{ title: text.removeTitle(name), text: text.removeText }}
      receipt={text.removed(name)}
      act={async () => {
        await api.deleteSchedule({ id })
        done()
      }}
    />
  )
}
