import type { NewSchedule } from '@holdfast/client'
import { useState } from 'preact/hooks'
import { useAction } from '../../live/action.js'
import { Dialog } from '../../parts/dialog.js'
import { Failure } from '../../parts/failure.js'
import { zone } from '../../parts/time.js'
import { scheduleWords } from '../../words/en-schedules.js'
import { words } from '../../words/en.js'
import { CronBuilder } from './cron-builder.js'
import { instantOf, wallTimeOf, zoneNames, zoneTimeText } from './zone-time.js'

const { dialog: text } = scheduleWords

/** When a schedule starts, and what it is called. */
export type Timing = Required<Pick<NewSchedule, 'name' | 'cron' | 'at' | 'time_zone' | 'missed'>>

const HOUR_MS = 3_600_000

/** The zone in which this page shows times. */
const ownZone = () => zone.value || new Intl.DateTimeFormat().resolvedOptions().timeZone

/** The times that a new schedule begins with. */
export function newTiming(name: string, kind: 'later' | 'regularly'): Timing {
  const soon = new Date(Math.ceil((Date.now() + 1) / HOUR_MS) * HOUR_MS).toISOString()
  const times = kind === 'later' ? { cron: null, at: soon } : { cron: '0 6 * * *', at: null }
  return { name, ...times, time_zone: ownZone(), missed: kind === 'later' ? 'run' : 'skip' }
}

/** What is entered. `whole` is what is sent; null: something is missing. */
function useTiming(start: Timing) {
  const [timing, setTiming] = useState(start)
  const [wall, setWall] = useState(() => (start.at === null ? '' : wallTimeOf(Date.parse(start.at), start.time_zone)))
  const at = start.at === null ? null : instantOf(wall, timing.time_zone)
  const isWhole = start.at === null ? timing.cron !== '' : at !== null
  const whole = { ...timing, at: at === null ? null : new Date(at).toISOString() }
  const set = (change: Partial<Timing>) => setTiming((before) => ({ ...before, ...change }))
  return { timing, set, wall, setWall, at, whole: isWhole ? whole : null }
}

/** Asks for the name and the times of a schedule: once, or again and again. */
export function ScheduleDialog({
  title,
  submit,
  start,
  receipt,
  send,
  explained,
  close,
}: {
  readonly title: string
  readonly submit: string
  readonly start: Timing
  readonly receipt: (name: string) => string
  readonly send: (timing: Timing) => Promise<void>
  /** Takes an error, and says whether the page shows it in another way. */
  readonly explained?: (error: Error) => boolean
  readonly close: () => void
}) {
  const { timing, set, wall, setWall, at, whole } = useTiming(start)
  const { isBusy, error, go } = useAction()
  const isOnce = start.at !== null
  return (
    <Dialog title={title} onClose={close}>
      <form
        class="stacked"
        aria-label={title}
        onSubmit={(event) => {
          event.preventDefault()
          if (whole) void go(() => send(whole), receipt(timing.name), explained)
        }}
      >
        <label>
          {text.name}
          <input
            type="text"
            required
            maxLength={200}
            autocomplete="off"
            value={timing.name}
            onInput={(event) => set({ name: event.currentTarget.value })}
          />
        </label>
        {isOnce && (
          <label>
            {text.date}
            <input
              type="datetime-local"
              required
              value={wall}
              onInput={(event) => setWall(event.currentTarget.value)}
            />
          </label>
        )}
        <ZoneField timing={timing} set={set} own={start.time_zone} />
        {isOnce ? (
          <p class="next-runs" role="status">
            {at === null ? text.noDate : zoneTimeText(at, timing.time_zone)}
          </p>
        ) : (
          <CronBuilder cron={start.cron ?? ''} timeZone={timing.time_zone} change={(cron) => set({ cron })} />
        )}
        <MissedField timing={timing} set={set} />
        {error && <Failure error={error} />}
        <div class="buttons">
          <button type="submit" class="main" aria-disabled={isBusy || whole === null}>
            {submit}
          </button>
          <button type="button" onClick={close}>
            {words.cancel}
          </button>
        </div>
      </form>
    </Dialog>
  )
}

interface FieldProps {
  readonly timing: Timing
  readonly set: (change: Partial<Timing>) => void
}

function ZoneField({ timing: { time_zone: timeZone }, set, own }: FieldProps & { readonly own: string }) {
  return (
    <label>
      {text.zone}
      <select value={timeZone} onChange={(event) => set({ time_zone: event.currentTarget.value })}>
        {zoneNames(own).map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  )
}

function MissedField({ timing, set }: FieldProps) {
  return (
    <label>
      {text.missed}
      <select
        value={timing.missed}
        onChange={(event) => set({ missed: event.currentTarget.value as Timing['missed'] })}
      >
        {Object.entries(text.missed_).map(([kind, word]) => (
          <option key={kind} value={kind}>
            {word}
          </option>
        ))}
      </select>
    </label>
  )
}
