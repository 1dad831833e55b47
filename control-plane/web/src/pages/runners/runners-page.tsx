import type { Runner } from '@holdfast/client'
import { addressOf } from '../../live/address.js'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { isFor } from '../../live/session.js'
import { Content, Empty, PageTitle } from '../../parts/content.js'
import { Badge } from '../../parts/status.js'
import { Table } from '../../parts/table.js'
import { Time } from '../../parts/time.js'
import { runnerWords } from '../../words/en-runners.js'
import { JoinTokens } from './join-tokens.js'
import { Request } from './request.js'
import { RunnerButtons } from './runner-buttons.js'
import { Marks, RunnerState } from './runner-state.js'

/** The runners: who asks to join, who is there, and what they do. Only admins get them. */
export function RunnersPage() {
  const answer = useRunners()
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
                      <li key={runner.id}>
                        <Request runner={runner} all={records} done={answer.reload} />
                      </li>
                    ))}
                  </ul>
                </section>
              )}
              {records.length === 0 && <Empty text={runnerWords.empty} />}
              {others.length > 0 && (
                <Table
                  caption={runnerWords.caption}
                  columns={[...Object.values(runnerWords.columns), runnerWords.actions]}
                >
                  {others.map((runner) => (
                    <RunnerRow key={runner.id} runner={runner} all={records} done={answer.reload} />
                  ))}
                </Table>
              )}
            </>
          )
        }}
      </Content>
      {isFor('admin') && <JoinTokens />}
    </>
  )
}

/** Every runner and every request. */
export function useRunners() {
  return useAnswer('runners', ['runners', 'jobs'], (signal) => api.listRunners({}, { signal }))
}

function RunnerRow({
  runner,
  all,
  done,
}: {
  readonly runner: Runner
  readonly all: readonly Runner[]
  readonly done: () => void
}) {
  return (
    <tr>
      <td>
        <a class="plain" href={addressOf(`/runners/${runner.id}`)}>
          {runner.name}
        </a>{' '}
        {runner.is_default && <Badge tone="run" text={runnerWords.isDefault} />}
        {runner.description !== '' && <span class="soft reason">{runner.description}</span>}
      </td>
      <td>
        <RunnerState runner={runner} />
        <Marks runner={runner} all={all} />
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
      <td>
        <RunnerButtons runner={runner} done={done} />
      </td>
    </tr>
  )
}
