import type { Job } from '@holdfast/client'
import type { ComponentChildren } from 'preact'
import { addressOf } from '../../live/address.js'
import { Badge } from '../../parts/status.js'
import { Duration, Time, bytesText, durationText, timeText } from '../../parts/time.js'
import { userName } from '../../parts/user-name.js'
import { words } from '../../words/en.js'

/** Hosts of a task that are named; of the others the number is said. */
const HOSTS_NAMED = 3

/** Who, where, when, and where the job is now. */
export function JobFacts({ job }: { readonly job: Job }) {
  const isOpen = job.status === 'running' || job.status === 'approve'
  const { integrity, streams } = job
  return (
    <dl class="facts">
      <Fact name={words.job.user}>{userName(job.user, job.user_type)}</Fact>
      <Fact name={words.job.runner}>{job.runner ?? words.none}</Fact>
      <Fact name={words.job.start}>
        <Time at={job.start} />
      </Fact>
      {job.end !== null && (
        <Fact name={words.job.end}>
          <Time at={job.end} />
        </Fact>
      )}
      <Fact name={words.job.duration}>
        <Duration start={job.start} end={isOpen ? null : job.end} />
      </Fact>
      {job.parent_id !== null && (
        <Fact name={words.job.parent}>
          <a href={addressOf(`/jobs/${job.parent_id}`)}>{words.job.title(job.parent_id)}</a>
        </Fact>
      )}
      {job.subjobs.length > 0 && (
        <Fact name={words.job.parts}>
          {job.subjobs.map((id) => (
            <a key={id} class="part-link" href={addressOf(`/jobs/${id}`)}>
              {id}
            </a>
          ))}
        </Fact>
      )}
      {job.place && (
        <Fact name={words.job.now}>
          <Place place={job.place} />
        </Fact>
      )}
      {job.estimate && (
        <Fact name={words.job.left}>
          <Left estimate={job.estimate} />
        </Fact>
      )}
      {integrity?.state && streams && (
        <Fact name={words.job.integrity}>
          <span title={integrity.output_sha256 ?? undefined}>
            {bytesText(streams.output.bytes)}
            {integrity.state !== 'growing' && (
              <>
                {' '}
                <Badge
                  tone={integrity.state === 'verified' ? 'ok' : 'warn'}
                  text={words.job.integrityOf[integrity.state] ?? integrity.state}
                />
              </>
            )}
          </span>
        </Fact>
      )}
    </dl>
  )
}

function Place({ place }: { readonly place: NonNullable<Job['place']> }) {
  const { state, runner, before, until, tasks } = place
  const word = (words.place as Readonly<Record<string, unknown>>)[state]
  const parts = [
    typeof word === 'string' ? word : state,
    ...(runner ? [words.place.on(runner.name)] : []),
    ...(before !== null && before > 0 ? [words.place.before(before)] : []),
    ...(until === null ? [] : [words.place.until(timeText(until))]),
    ...(runner && !runner.online && runner.last_seen !== null ? [words.place.seen(timeText(runner.last_seen))] : []),
    ...tasks.map(({ task, hosts, count }) =>
      words.place.task(
        task ?? words.none,
        hosts.slice(0, HOSTS_NAMED).join(', '),
        Math.max(0, count - Math.min(hosts.length, HOSTS_NAMED)),
      ),
    ),
  ]
  return <>{parts.join(' · ')}</>
}

/** A bar for what is done, and in words what is left. */
function Left({ estimate }: { readonly estimate: NonNullable<Job['estimate']> }) {
  const { progress, left_seconds: left, shortest_seconds: shortest, longest_seconds: longest, runs } = estimate
  const spread = shortest === longest ? '' : words.left.spread(roughText(shortest), roughText(longest))
  const text = longest === 0 ? words.left.longer : words.left.about(roughText(left), spread)
  return (
    <span title={words.left.runs(runs)}>
      <progress value={progress} aria-label={words.job.left} /> {text}
    </span>
  )
}

/** Whole seconds below a minute, whole minutes above five: an estimate is no better. */
function roughText(seconds: number): string {
  if (seconds < 60) return `${seconds} s`
  return seconds < 300 ? durationText(seconds * 1000) : `${Math.round(seconds / 60)} min`
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
