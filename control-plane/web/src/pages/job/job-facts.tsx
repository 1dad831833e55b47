import type { Job } from '@holdfast/client'
import { addressOf } from '../../live/address.js'
import { Fact } from '../../parts/fact.js'
import { Left, Place } from '../../parts/place.js'
import { Badge, isQueued } from '../../parts/status.js'
import { Duration, JobDuration, Time, bytesText } from '../../parts/time.js'
import { userName } from '../../parts/user-name.js'
import { words } from '../../words/en.js'

/** The list of the jobs of a user, or of a runner. */
function jobsOf(filter: 'user' | 'runner', name: string): string {
  return addressOf(`/jobs?${new URLSearchParams({ [filter]: name })}`)
}

/** Who, where, when, and where the job is now. */
export function JobFacts({ job }: { readonly job: Job }) {
  const { integrity, streams } = job
  return (
    <dl class="facts">
      <Fact name={words.job.user}>
        <a href={jobsOf('user', job.user)}>{userName(job.user, job.user_type)}</a>
      </Fact>
      {job.runner !== null && (
        <Fact name={words.job.runner}>
          <a href={jobsOf('runner', job.runner)}>{job.runner}</a>
        </Fact>
      )}
      <Fact name={words.job.start}>
        <Time at={job.start} />
      </Fact>
      {job.end !== null && (
        <Fact name={words.job.end}>
          <Time at={job.end} />
        </Fact>
      )}
      {job.began !== null && (
        <Fact name={words.job.duration}>
          <JobDuration job={job} />
        </Fact>
      )}
      {isQueued(job) && (
        <Fact name={words.job.waited}>
          <Duration start={job.start} end={null} />
        </Fact>
      )}
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
      {job.estimate && job.place?.state !== 'lost' && (
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
