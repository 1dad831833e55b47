import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { Content, Empty, PageTitle } from '../../parts/content.js'
import { EntryForm, textOf } from '../../parts/entry-form.js'
import { Table } from '../../parts/table.js'
import { words } from '../../words/en.js'
import { notificationWords as text } from '../../words/en-notifications.js'
import { AddTarget } from './add-target.js'
import { useDeliveries } from './deliveries.js'
import { Deliveries } from './deliveries-table.js'
import { TargetRow } from './target-row.js'
import { expectArrived } from './test-result.js'

/** Who is told of events, and what became of each notification. */
export function NotificationsPage() {
  const targets = useAnswer('notification targets', [], (signal) => api.listNotificationTargets({}, { signal }))
  const deliveries = useDeliveries()
  const done = () => {
    targets.reload()
    deliveries.answer.reload()
  }
  return (
    <>
      <PageTitle text={words.nav.notifications} />
      <section aria-labelledby="targets">
        <div class="section-head">
          <h2 id="targets">{text.targets}</h2>
          <AddTarget done={done} />
        </div>
        <p class="soft">{text.targetsText}</p>
        <Content answer={targets}>
          {({ records }) =>
            records.length === 0 ? (
              <Empty text={text.empty} />
            ) : (
              <div class="plans">
                <Table caption={text.caption} columns={[...Object.values(text.columns), text.actions]}>
                  {records.map((target) => (
                    <TargetRow key={target.id} target={target} done={done} />
                  ))}
                </Table>
              </div>
            )
          }
        </Content>
      </section>
      <TestMail done={done} />
      <Deliveries deliveries={deliveries} />
    </>
  )
}

function TestMail({ done }: { readonly done: () => void }) {
  return (
    <section aria-labelledby="mails">
      <h2 id="mails">{text.mail}</h2>
      <p class="soft">{text.mailText}</p>
      <EntryForm
        label={text.mail}
        submit={text.test}
        receipt={null}
        send={async (data) => {
          const to = textOf(data, 'to')
          const sent = await api.sendTestMail({ body: { to } }).finally(done)
          expectArrived(sent)
        }}
      >
        <label>
          {text.mailTo}
          <input name="to" type="email" autocomplete="off" required maxLength={254} />
        </label>
      </EntryForm>
    </section>
  )
}
