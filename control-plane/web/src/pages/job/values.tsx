import type { Job } from '@holdfast/client'
import { writeJson } from '@holdfast/client'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { CopyButton } from '../../parts/copy-button.js'
import { Json } from '../../parts/copy.js'
import { Status } from '../../parts/status.js'
import { Time, localText } from '../../parts/time.js'
import { userName } from '../../parts/user-name.js'
import { courseWords } from '../../words/en-course.js'
import { words } from '../../words/en.js'
import { yamlText } from '../../parts/yaml-text.js'

/** What a job was launched with. */
export function Values({ job }: { readonly job: Job }) {
  const fields = useAnswer(`rawformdata/${job.id}`, [], (signal) => api.getJobRawformdata({ id: job.id }, { signal }))
  return (
    <div class="columns">
      <section>
        <h2>{words.job.fieldValues}</h2>
        {fields.value ? (
          <Copyable value={fields.value} label={words.job.fieldValues} />
        ) : (
          fields.error && <p class="soft">{words.job.noValues}</p>
        )}
      </section>
      <section>
        <h2>{words.job.extravars}</h2>
        <Copyable value={job.extravars} label={words.job.extravars} />
      </section>
      {Object.keys(job.credentials).length > 0 && (
        <section>
          <h2>{words.job.credentials}</h2>
          <Copyable value={job.credentials} label={words.job.credentials} />
        </section>
      )}
    </div>
  )
}

function Copyable({ value, label }: { readonly value: unknown; readonly label: string }) {
  return (
    <Json value={value} label={label}>
      <CopyButton text={() => writeJson(value, 2)} label={courseWords.copyJson} />
      <CopyButton text={() => yamlText(value)} label={courseWords.copyYaml} />
    </Json>
  )
}

/** Every status that a job had. */
export function History({ job }: { readonly job: Job }) {
  const moves = job.history ?? []
  const reason = words.job.launched(userName(job.user, job.user_type))
  const first = { time: job.start, from: null, to: moves[0]?.from ?? job.status, reason }
  return (
    <div class="table" role="region" aria-label={words.job.history} tabIndex={0}>
      <table>
        <caption class="hidden">{words.job.history}</caption>
        <thead>
          <tr>
            <th scope="col">{words.job.time}</th>
            <th scope="col">{words.job.from}</th>
            <th scope="col">{words.job.to}</th>
            <th scope="col">{words.job.reason}</th>
          </tr>
        </thead>
        <tbody>
          {[first, ...moves].map((move) => (
            <tr key={move.time + move.to}>
              <td class="number">
                <Time at={move.time} />
              </td>
              <td>{move.from === null ? words.none : <Status status={move.from} />}</td>
              <td>
                <Status status={move.to} />
              </td>
              <td>{localText(move.reason ?? words.none)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
