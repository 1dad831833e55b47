import type { Notification } from '@holdfast/client'
import { addressOf } from '../../live/address.js'
import { api } from '../../live/api.js'
import { Content, Empty } from '../../parts/content.js'
import { ActionButton } from '../../parts/dialog.js'
import { Badge } from '../../parts/status.js'
import { Table } from '../../parts/table.js'
import { Time, timeText } from '../../parts/time.js'
import { notificationWords as text } from '../../words/en-notifications.js'
import { words } from '../../words/en.js'
import { type DeliveryList, STATES } from './deliveries.js'

const TONES: Readonly<Record<string, 'ok' | 'wait' | 'bad'>> = { sent: 'ok', waiting: 'wait', failed: 'bad' }

/** What was sent, what waits, and why something did not arrive. */
export function Deliveries({ deliveries: { answer, state, show, more } }: { readonly deliveries: DeliveryList }) {
  return (
    <section aria-labelledby="deliveries">
      <h2 id="deliveries">{text.deliveries}</h2>
      <div class="filters">
        <label>
          {text.state}
          <select
            value={state ?? ''}
            onChange={({ currentTarget: { value } }) => show(STATES.find((one) => one === value) ?? null)}
          >
            <option value="">{text.all}</option>
            {STATES.map((one) => (
              <option key={one} value={one}>
                {text.states[one]}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Content answer={answer}>
        {({ records }) =>
          records.length === 0 ? (
            <Empty text={state === null ? text.noDeliveries : text.noSuch} />
          ) : (
            <div class="plans">
              <Table caption={text.deliveriesCaption} columns={[...Object.values(text.deliveryColumns), text.actions]}>
                {records.map((one) => (
                  <DeliveryRow key={one.id} delivery={one} done={answer.reload} />
                ))}
              </Table>
            </div>
          )
        }
      </Content>
      {more && (
        <p class="more">
          <button type="button" onClick={more}>
            {text.more}
          </button>
        </p>
      )}
    </section>
  )
}

function DeliveryRow({ delivery, done }: { readonly delivery: Notification; readonly done: () => void }) {
  const { id, event, event_at: at, recipient, job_id: job, state, attempts, next_attempt: next, problem } = delivery
  return (
    <tr>
      <td class="number">
        <Time at={at} />
      </td>
      <td>{text.eventNames[event] ?? event}</td>
      <td class="wraps" data-label={text.deliveryColumns.to}>
        {recipient}
      </td>
      <td>{job === null ? words.none : <a href={addressOf(`/jobs/${job}`)}>{text.job(job)}</a>}</td>
      <td>
        <Badge tone={TONES[state] ?? 'wait'} text={text.states[state] ?? state} />
        {(problem !== null || attempts > 1) && (
          <span class="soft reason">
            {[text.attempts(attempts), ...(next === null ? [] : [text.next(timeText(next))])].join(', ')}
          </span>
        )}
        {problem !== null && <span class="reason">{problem}</span>}
      </td>
      <td>
        <ActionButton
          text={text.again}
          receipt={text.sentAgain}
          act={async () => {
            await api.retryNotification({ id })
            done()
          }}
        />
      </td>
    </tr>
  )
}
