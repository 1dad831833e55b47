import type { Schedule } from '@holdfast/client'
import { useLocation, useRoute } from 'preact-iso/router'
import { useState } from 'preact/hooks'
import { addressOf } from '../../live/address.js'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { Content, PageTitle } from '../../parts/content.js'
import { ActionButton } from '../../parts/dialog.js'
import { Fact } from '../../parts/fact.js'
import { Time } from '../../parts/time.js'
import { userName } from '../../parts/user-name.js'
import { scheduleWords as text } from '../../words/en-schedules.js'
import { words } from '../../words/en.js'
import { RunList } from './next-runs.js'
import { ScheduleDialog } from './schedule-dialog.js'
import { ActiveSwitch, LastResult, RemoveButton, type SchedulePart, isOwn, timesText } from './schedule-parts.js'
import { ScheduleValues } from './schedule-values.js'

/** One schedule: when it starts, what it launches, and what became of it. */
export function SchedulePage() {
  const id = Number(useRoute().params.id)
  const { route } = useLocation()
  const answer = useAnswer(`schedule ${id}`, ['jobs'], (signal) => api.getSchedule({ id }, { signal }))
  const { reload } = answer
  return (
    <>
      <PageTitle text={answer.value?.name ?? words.nav.schedules} />
      <p class="buttons">
        <a href={addressOf('/schedules')}>{text.back}</a>
      </p>
      <Content answer={answer}>
        {(schedule) => (
          <>
            <Facts schedule={schedule} done={reload} />
            <Buttons schedule={schedule} done={reload} gone={() => route(addressOf('/schedules'))} />
            <div class="columns">
              <section aria-labelledby="next">
                <h2 id="next">{text.nextRuns(schedule.time_zone)}</h2>
                {schedule.next_runs.length === 0 ? (
                  <p class="soft">{text.noNextRuns}</p>
                ) : (
                  <div class="card">
                    <RunList runs={schedule.next_runs} timeZone={schedule.time_zone} />
                  </div>
                )}
              </section>
              <ScheduleValues schedule={schedule} />
            </div>
          </>
        )}
      </Content>
    </>
  )
}

function Facts({ schedule, done }: SchedulePart) {
  const { form, user, user_type: type, last_run: lastRun, created_at: createdAt, missed, verbose } = schedule
  const names = text.facts
  const facts = [
    [
      names.form,
      <a key="form" href={addressOf(`/forms/${encodeURIComponent(form)}`)}>
        {form}
      </a>,
    ],
    [names.times, timesText(schedule)],
    [names.active, <ActiveSwitch key="active" schedule={schedule} done={done} />],
    [names.last, <LastResult key="last" schedule={schedule} />],
    [names.started, <Time key="started" at={lastRun} />],
    [names.missed, text.missed[missed]],
    [names.user, userName(user, type)],
    [names.made, <Time key="made" at={createdAt} />],
    ...(verbose ? ([[names.verbose, text.verbose]] as const) : []),
  ] as const
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <Fact key={name} name={name}>
          {value}
        </Fact>
      ))}
    </dl>
  )
}

function Buttons({ schedule, done, gone }: SchedulePart & { readonly gone: () => void }) {
  const { route } = useLocation()
  const [isChanging, setChanging] = useState(false)
  const { id, name, form } = schedule
  const disabledBecause = isOwn(schedule) ? null : text.ofAnother(userName(schedule.user, schedule.user_type))
  const close = () => setChanging(false)
  return (
    <div class="buttons section">
      <ActionButton
        text={text.change}
        receipt={null}
        disabledBecause={disabledBecause}
        act={() => Promise.resolve(setChanging(true))}
      />
      <ActionButton
        text={text.changeValues}
        receipt={null}
        disabledBecause={disabledBecause}
        act={() => Promise.resolve(route(addressOf(`/forms/${encodeURIComponent(form)}?schedule=${id}`)))}
      />
      <ActionButton
        text={text.runNow}
        receipt={null}
        disabledBecause={disabledBecause}
        ask={{ title: text.runNowTitle(name), text: text.runNowText }}
        act={async () => route(addressOf(`/jobs/${await launchNow(schedule)}`))}
      />
      <RemoveButton schedule={schedule} done={gone} />
      {isChanging && (
        <ScheduleDialog
          title={text.changeTitle(name)}
          submit={text.dialog.save}
          start={schedule}
          receipt={() => text.dialog.saved}
          close={close}
          send={async ({ name: newName, cron, at, time_zone: timeZone, missed }) => {
            const times = cron === null ? { at } : { cron }
            await api.changeSchedule({ id, body: { name: newName, ...times, time_zone: timeZone, missed } })
            close()
            done()
          }}
        />
      )}
    </div>
  )
}

/** Launches what the schedule launches. @returns the number of the job */
async function launchNow({ form, values, credentials, verbose }: Schedule): Promise<number> {
  const { id } = await api.launchJob({
    body: {
      formName: form,
      rawFormData: { ...credentials, ...values },
      extravars: verbose ? { ...values, __verbose__: true } : values,
      credentials,
    },
  })
  return id
}
