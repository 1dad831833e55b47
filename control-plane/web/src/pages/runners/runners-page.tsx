import type { Runner } from '@holdfast/client'
import { addressOf } from '../../live/address.js'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { session } from '../../live/session.js'
import { Content, Empty, PageTitle } from '../../parts/content.js'
import { ActionButton } from '../../parts/dialog.js'
import { Badge } from '../../parts/status.js'
import { Time, bytesText, durationText } from '../../parts/time.js'
import { runnerWords } from '../../words/en-runners.js'
import { JoinTokens } from './join-tokens.js'
import { Request } from './request.js'

/** Difference of clocks that is worth a word, in milliseconds. */
const SKEW_MS = 2000

/** What a runner has not sent is worth a word when it is more than what running jobs have just written, in bytes. */
const BACKLOG_BYTES = 1_000_000

/** The runners: who asks to join, who is there, and what they do. */
export function RunnersPage() {
  const answer = useAnswer('runners', ['runners', 'jobs'], (signal) => api.listRunners({}, { signal }))
  const { value } = session
  const isAdmin = value.state === 'in' && value.user.roles.includes('admin')
  return (
    <>
      <PageTitle text={runnerWords.title} />
      <Content answer={answer}>
        {({ records }) => {
          const requests = records.filter(({ state }) => state === 'waiting')
          const others = records.filter(({ state }) => state !== 'waiting')
          return (
            <>
              {requests.length > 0 && (
                <section aria-labelledby="requests">
                  <h2 id="requests">{runnerWords.requests}</h2>
                  <p class="soft">{runnerWords.requestsText}</p>
                  <ul class="cards">
                    {requests.map((runner) => (
                      <Request key={runner.id} runner={runner} done={answer.reload} mayDecide={isAdmin} />
                    ))}
                  </ul>
                </section>
              )}
              {records.length === 0 ? (
                <Empty text={runnerWords.empty} />
              ) : (
                others.length > 0 && <RunnerTable runners={others} isAdmin={isAdmin} done={answer.reload} />
              )}
            </>
          )
        }}
      </Content>
      {isAdmin && <JoinTokens />}
    </>
  )
}

interface TableProps {
  readonly isAdmin: boolean
  readonly done: () => void
}

function RunnerTable({ runners, isAdmin, done }: TableProps & { readonly runners: readonly Runner[] }) {
  return (
    <div class="table" role="region" aria-label={runnerWords.caption} tabIndex={0}>
      <table>
        <caption class="hidden">{runnerWords.caption}</caption>
        <thead>
          <tr>
            {Object.entries(runnerWords.columns).map(([name, text]) => (
              <th key={name} scope="col">
                {text}
              </th>
            ))}
            {isAdmin && <th scope="col">{runnerWords.actions}</th>}
          </tr>
        </thead>
        <tbody>
          {runners.map((runner) => (
            <RunnerRow key={runner.id} runner={runner} isAdmin={isAdmin} done={done} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function RunnerRow({ runner, isAdmin, done }: TableProps & { readonly runner: Runner }) {
  return (
    <tr>
      <td>
        <strong>{runner.name}</strong> {runner.is_default && <Badge tone="run" text={runnerWords.isDefault} />}
        {runner.description !== '' && <span class="soft reason">{runner.description}</span>}
      </td>
      <td>
        <RunnerState runner={runner} />
        {runner.clone !== null && <p class="notice bad">{runnerWords.clone}</p>}
        {Math.abs(runner.clock_skew_ms) > SKEW_MS && (
          <span class="soft reason">{runnerWords.skew(durationText(Math.abs(runner.clock_skew_ms)))}</span>
        )}
        {runner.spool_bytes > BACKLOG_BYTES && (
          <span class="soft reason">{runnerWords.backlog(bytesText(runner.spool_bytes))}</span>
        )}
      </td>
      <td>
        <a href={addressOf(`/jobs?runner=${encodeURIComponent(runner.name)}`)} title={runnerWords.jobsOf}>
          {runnerWords.ofMost(runner.running_jobs, runner.max_jobs)}
        </a>
      </td>
      <td>{runner.version}</td>
      <td class="number">
        <Time at={runner.last_seen} />
      </td>
      <td>{runner.host}</td>
      {isAdmin && (
        <td>
          <RunnerButtons runner={runner} done={done} />
        </td>
      )}
    </tr>
  )
}

function RunnerState({ runner }: { readonly runner: Runner }) {
  if (runner.state === 'denied') return <Badge tone="off" text={runnerWords.denied} />
  if (runner.state === 'revoked') return <Badge tone="bad" text={runnerWords.revoked} />
  if (!runner.enabled) return <Badge tone="off" text={runnerWords.disabled} />
  if (!runner.online) return <Badge tone="warn" text={runnerWords.offline} />
  return runner.draining ? (
    <Badge tone="wait" text={runnerWords.draining} />
  ) : (
    <Badge tone="ok" text={runnerWords.online} />
  )
}

function RunnerButtons({ runner, done }: { readonly runner: Runner; readonly done: () => void }) {
  const { id, name, enabled } = runner
  const remove = (
    <ActionButton
      text={runnerWords.remove}
      tone="danger"
      ask={{ title: runnerWords.removeTitle(name), text: runnerWords.removeText }}
      act={async () => {
        await api.deleteRunner({ id })
        done()
      }}
    />
  )
  if (runner.state !== 'approved') {
    return (
      <span class="buttons">
        {runner.state === 'revoked' && (
          <ActionButton
            text={runnerWords.reinstate}
            ask={{ title: runnerWords.reinstateTitle(name), text: runnerWords.reinstateText }}
            act={async () => {
              await api.reinstateRunner({ id })
              done()
            }}
          />
        )}
        {remove}
      </span>
    )
  }
  const change = async (body: { enabled?: boolean; is_default?: boolean }) => {
    await api.changeRunner({ id, body })
    done()
  }
  return (
    <span class="buttons">
      {runner.clone !== null && (
        <ActionButton
          text={runnerWords.accept}
          ask={{ title: runnerWords.acceptTitle(name), text: runnerWords.acceptText }}
          act={async () => {
            await api.acceptRunner({ id })
            done()
          }}
        />
      )}
      <ActionButton
        text={runner.is_default ? runnerWords.clearDefault : runnerWords.makeDefault}
        act={() => change({ is_default: !runner.is_default })}
      />
      <ActionButton text={enabled ? runnerWords.stop : runnerWords.start} act={() => change({ enabled: !enabled })} />
      <ActionButton
        text={runnerWords.revoke}
        tone="danger"
        ask={{ title: runnerWords.revokeTitle(name), text: runnerWords.revokeText }}
        act={async () => {
          await api.revokeRunner({ id })
          done()
        }}
      />
    </span>
  )
}
