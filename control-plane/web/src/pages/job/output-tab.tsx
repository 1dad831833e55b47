import type { Job } from '@holdfast/client'
import { addressOf } from '../../live/address.js'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { Content, Empty } from '../../parts/content.js'
import { words } from '../../words/en.js'

/** The output of a job; of one that consists of other jobs, these. */
export function OutputTab({ job }: { readonly job: Job }) {
  const output = useAnswer(`output/${job.id}`, ['jobs'], (signal) => lastPartOf(job.id, signal))
  return (
    <Content answer={output}>
      {(text) =>
        text === '' ? (
          <Empty text={words.job.noOutput} />
        ) : (
          <>
            <pre class="output" tabIndex={0} role="region" aria-label={words.job.output}>
              {text}
            </pre>
            <p>
              <a href={addressOf(`/api/v2/job/${job.id}/download`)} download>
                {words.job.download}
              </a>
            </p>
          </>
        )
      }
    </Content>
  )
}

/** Enough for a person to read, and little enough for a browser. */
const MOST_BYTES = 256 * 1024

async function lastPartOf(id: number, signal: AbortSignal): Promise<string> {
  const { streams } = await api.getJob({ id, output: false }, { signal })
  const bytes = streams?.output.bytes ?? 0
  const answer = await api.getJobOutput({ id, offset: Math.max(0, bytes - MOST_BYTES) }, { signal })
  // Without its colours, which are escape sequences.
  return (await answer.text()).replace(/\x1b\[[0-9;]*m/g, '')
}
