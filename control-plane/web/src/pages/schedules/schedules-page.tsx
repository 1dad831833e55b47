import type { Schedule } from '@holdfast/client'
import { addressOf } from '../../live/address.js'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { Content, Empty, PageTitle } from '../../parts/content.js'
import { Table } from '../../parts/table.js'
import { Time } from '../../parts/time.js'
import { userName } from '../../parts/user-name.js'
import { scheduleWords as text } from '../../words/en-schedules.js'
import { words } from '../../words/en.js'
import { ActiveSwitch, LastResult, RemoveButton, type SchedulePart, isOwn, timesText } from './schedule-parts.js'

/** The schedules that somebody sees: their own, and all of them for an admin. */
export function SchedulesPage() {
  // A start makes a job.
  const answer = useAnswer('schedules', ['jobs'], (signal) => api.listSchedules({}, { signal }))
  return (
    <>
      <PageTitle text={words.nav.schedules} />
      <Content answer={answer}>
        {({ records }) =>
          records.length === 0 ? (
            <Empty text={text.empty}>
              <p>{text.how}</p>
              <a class="button main" href={addressOf('/forms')}>
                {text.toForms}
              </a>
            </Empty>
          ) : (
            <>
              <p class="lead">{text.how}</p>
              <ScheduleTable schedules={records.toSorted(byNext)} done={answer.reload} />
            </>
          )
        }
      </Content>
    </>
  )
}

/** The next start first, and last those that start nothing. */
function byNext(one: Schedule, other: Schedule): number {
  const timeOf = ({ next_run: next }: Schedule) => (next === null ? Infinity : Date.parse(next))
  const [mine, others] = [timeOf(one), timeOf(other)]
  return mine === others ? one.id - other.id : mine - others
}

function ScheduleTable({ schedules, done }: { readonly schedules: readonly Schedule[]; readonly done: () => void }) {
  const { user, ...own } = text.columns
  const hasOthers = schedules.some((schedule) => !isOwn(schedule))
  const columns = [...Object.values(own), ...(hasOthers ? [user] : []), text.actions]
  return (
    <div class="plans">
      <Table caption={text.caption} columns={columns}>
        {schedules.map((schedule) => (
          <ScheduleRow key={schedule.id} schedule={schedule} done={done} hasOthers={hasOthers} />
        ))}
      </Table>
    </div>
  )
}

function ScheduleRow({ schedule, done, hasOthers }: SchedulePart & { readonly hasOthers: boolean }) {
  const { id, name, form, user, user_type: type, next_run: next } = schedule
  return (
    <tr class={schedule.paused ? 'paused' : undefined}>
      <td class="target">
        <a href={addressOf(`/schedules/${id}`)}>{name}</a>
      </td>
      <td>
        <a href={addressOf(`/forms/${encodeURIComponent(form)}`)}>{form}</a>
      </td>
      <td>{timesText(schedule)}</td>
      <td class="number" data-label={text.columns.next}>
        <Time at={next} />
      </td>
      <td data-label={text.columns.last}>
        <LastResult schedule={schedule} />
      </td>
      <td>
        <ActiveSwitch schedule={schedule} done={done} />
      </td>
      {hasOthers && <td data-label={text.columns.user}>{userName(user, type)}</td>}
      <td>
        <RemoveButton schedule={schedule} done={done} />
      </td>
    </tr>
  )
}
