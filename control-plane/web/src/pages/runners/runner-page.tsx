import type { Runner } from '@holdfast/client'
import { useLocation, useRoute } from 'preact-iso/router'
import { addressOf } from '../../live/address.js'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { Content, PageTitle } from '../../parts/content.js'
import { ActionButton } from '../../parts/dialog.js'
import { EntryForm, textOf } from '../../parts/entry-form.js'
import { Fact } from '../../parts/fact.js'
import { Badge } from '../../parts/status.js'
import { Time, bytesText, durationText } from '../../parts/time.js'
import { runnerWords } from '../../words/en-runners.js'
import { words } from '../../words/en.js'
import { inGroups } from './fingerprint.js'
import { Request } from './request.js'
import { RunnerButtons } from './runner-buttons.js'
import { RunnerJobs } from './runner-jobs.js'
import { Marks, RunnerState } from './runner-state.js'
import { useRunners } from './runners-page.js'

const { page: text } = runnerWords

interface Part {
  readonly runner: Runner
  readonly done: () => void
}

/** One runner: all that is known of it, what an admin can set, and its jobs. */
export function RunnerPage() {
  const id = Number(useRoute().params.id)
  const { route } = useLocation()
  const answer = useAnswer(`runner ${id}`, ['runners', 'jobs'], (signal) => api.getRunner({ id }, { signal }))
  const all = useRunners().value?.records ?? []
  const leave = () => route(addressOf('/runners'))
  return (
    <>
      <PageTitle text={answer.value?.name ?? runnerWords.title}>
        {answer.value?.is_default && <Badge tone="run" text={runnerWords.isDefault} />}
      </PageTitle>
      <p class="buttons">
        <a href={addressOf('/runners')}>{text.back}</a>
      </p>
      <Content answer={answer}>
        {(runner) => (
          <>
            {runner.state === 'waiting' ? (
              <section aria-labelledby="request">
                <h2 id="request">{runnerWords.waiting}</h2>
                <Request runner={runner} all={all} done={answer.reload} gone={leave} />
              </section>
            ) : (
              <Marks runner={runner} all={all} />
            )}
            <Facts runner={runner} />
            {runner.state !== 'waiting' && <RunnerButtons runner={runner} done={answer.reload} gone={leave} />}
            {runner.state === 'approved' && <Limit runner={runner} done={answer.reload} />}
            {runner.state !== 'waiting' && <RunnerJobs runner={runner.name} />}
          </>
        )}
      </Content>
    </>
  )
}

function Facts({ runner }: { readonly runner: Runner }) {
  const { clock_skew_ms: skew, approved_at: approvedAt, approved_by: approvedBy } = runner
  const facts = [
    [runnerWords.columns.state, <RunnerState key="state" runner={runner} />],
    [runnerWords.columns.seen, <Time key="seen" at={runner.last_seen} />],
    [runnerWords.columns.jobs, runnerWords.ofMost(runner.running_jobs, runner.max_jobs)],
    [runnerWords.columns.host, runner.host],
    [text.address, runner.ip],
    [text.mode, text.modes[runner.mode] ?? runner.mode],
    [runnerWords.columns.version, runner.version],
    [text.contract, runner.contract],
    [text.ansible, runner.ansible_version],
    [text.isolation, runner.isolation],
    [text.clock, text.skew(durationText(Math.abs(skew)), skew)],
    [text.backlog, bytesText(runner.spool_bytes)],
    [text.requested, <Time key="requested" at={runner.requested_at} />],
    [
      text.approved,
      approvedAt !== null && [<Time key="approved" at={approvedAt} />, ` ${text.by(approvedBy ?? words.none)}`],
    ],
    [text.description, runner.description],
    [runnerWords.fingerprint, <code key="fingerprint">{inGroups(runner.fingerprint)}</code>],
  ] as const
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <Fact key={name} name={name}>
          {value || words.none}
        </Fact>
      ))}
    </dl>
  )
}

/** How many jobs it may run at once. */
function Limit({ runner: { id, max_jobs: most, agent_max_jobs: ofAgent }, done }: Part) {
  const set = async (maxJobs: number | null) => {
    await api.changeRunner({ id, body: { max_jobs: maxJobs } })
    done()
  }
  return (
    <section aria-labelledby="limit">
      <h2 id="limit">{text.limit}</h2>
      <p class="soft">{text.limitText(ofAgent)}</p>
      <EntryForm
        label={text.limit}
        submit={text.save}
        receipt={text.saved}
        send={(data) => set(Number(textOf(data, 'most')))}
      >
        <label>
          {text.most}
          <input key={most} name="most" type="number" min={0} max={10_000} defaultValue={String(most)} required />
        </label>
      </EntryForm>
      <ActionButton text={text.asAgent} receipt={text.saved} act={() => set(null)} />
    </section>
  )
}
