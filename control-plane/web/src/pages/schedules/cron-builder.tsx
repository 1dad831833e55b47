import { useRef, useState } from 'preact/hooks'
import { Hinted } from '../../parts/hinted.js'
import { scheduleWords } from '../../words/en-schedules.js'
import { EVEN_MINUTES, type Plan, cronOf, planOf } from './cron-plan.js'
import { NextRunsOf } from './next-runs.js'

const { dialog: text, dayNames } = scheduleWords

/** A week begins on Monday. */
const WEEK = [1, 2, 3, 4, 5, 6, 0] as const
const DAYS_OF_MONTH = Array.from({ length: 31 }, (_, at) => at + 1)

/** Where somebody begins who has chosen nothing else. */
const USUAL: Chosen = { every: 15, time: '06:00', days: [1], day: 1 }

/** What was chosen so far, also for other kinds. */
interface Chosen {
  readonly every: number
  readonly time: string
  readonly days: readonly number[]
  readonly day: number | 'L'
}

/** A plan of another kind, with what was chosen before. */
function ofKind(kind: Plan['kind'], chosen: Chosen, before: Plan): Plan {
  const { every, time, days, day } = chosen
  switch (kind) {
    case 'minutes':
      return { kind, every }
    case 'week':
      return { kind, days, time }
    case 'month':
      return { kind, day, time }
    case 'cron':
      return { kind, text: cronOf(before) }
    case 'day':
    case 'weekdays':
      return { kind, time }
  }
}

/** Lets somebody choose times that come again and again, and says what they mean and when they come next. */
export function CronBuilder({
  cron,
  timeZone,
  change,
}: {
  /** The times to begin with. */
  readonly cron: string
  readonly timeZone: string
  /** @param cron empty while something is still to be chosen */
  readonly change: (cron: string) => void
}) {
  const [plan, setPlan] = useState(() => planOf(cron))
  const chosen = useRef<Chosen>({ ...USUAL, ...plan })
  const set = (next: Plan) => {
    chosen.current = { ...chosen.current, ...next }
    setPlan(next)
    change(cronOf(next))
  }
  return (
    <>
      <label>
        {text.often}
        <select
          value={plan.kind}
          onChange={(event) => set(ofKind(event.currentTarget.value as Plan['kind'], chosen.current, plan))}
        >
          {Object.entries(text.often_).map(([kind, word]) => (
            <option key={kind} value={kind}>
              {word}
            </option>
          ))}
        </select>
      </label>
      <PlanFields plan={plan} set={set} />
      <NextRunsOf cron={cronOf(plan)} timeZone={timeZone} />
    </>
  )
}

interface Fields<Some extends Plan> {
  readonly plan: Some
  readonly set: (plan: Plan) => void
}

function PlanFields({ plan, set }: Fields<Plan>) {
  switch (plan.kind) {
    case 'minutes':
      return (
        <label>
          {text.every}
          <select
            value={plan.every}
            onChange={(event) => set({ kind: 'minutes', every: Number(event.currentTarget.value) })}
          >
            {EVEN_MINUTES.map((count) => (
              <option key={count} value={count}>
                {count === 60 ? text.hour : text.minutes(count)}
              </option>
            ))}
          </select>
        </label>
      )
    case 'week':
      return (
        <>
          <Days plan={plan} set={set} />
          <TimeField plan={plan} set={set} />
        </>
      )
    case 'month':
      return (
        <div class="pair">
          <label>
            {text.day}
            <select
              value={plan.day}
              onChange={({ currentTarget: { value } }) => set({ ...plan, day: value === 'L' ? value : Number(value) })}
            >
              {DAYS_OF_MONTH.map((day) => (
                <option key={day}>{day}</option>
              ))}
              <option value="L">{text.lastDay}</option>
            </select>
          </label>
          <TimeField plan={plan} set={set} />
        </div>
      )
    case 'cron':
      return (
        <Hinted label={text.cron} hint={text.cronHint}>
          {(hint) => (
            <input
              class="mono"
              type="text"
              autocomplete="off"
              spellcheck={false}
              maxLength={100}
              required
              aria-describedby={hint}
              value={plan.text}
              onInput={(event) => set({ kind: 'cron', text: event.currentTarget.value })}
            />
          )}
        </Hinted>
      )
    case 'day':
    case 'weekdays':
      return <TimeField plan={plan} set={set} />
  }
}

function TimeField({ plan, set }: Fields<Extract<Plan, { readonly time: string }>>) {
  return (
    <label>
      {text.time}
      <input
        type="time"
        required
        value={plan.time}
        onInput={(event) => set({ ...plan, time: event.currentTarget.value })}
      />
    </label>
  )
}

function Days({ plan, set }: Fields<Extract<Plan, { readonly kind: 'week' }>>) {
  return (
    <fieldset class="days">
      <legend>{text.days}</legend>
      {WEEK.map((day) => (
        <label key={day} class="check">
          <input
            type="checkbox"
            checked={plan.days.includes(day)}
            onChange={({ currentTarget: { checked } }) =>
              set({ ...plan, days: checked ? [...plan.days, day] : plan.days.filter((one) => one !== day) })
            }
          />
          {dayNames[day]}
        </label>
      ))}
      {plan.days.length === 0 && <p class="field-errors">{text.noDays}</p>}
    </fieldset>
  )
}
