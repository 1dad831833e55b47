import type { Job } from '@holdfast/client'
import { useEffect, useState } from 'preact/hooks'
import { addressOf } from '../../live/address.js'
import { api } from '../../live/api.js'
import type { OutputSource } from '../../live/output-source.js'
import { sourceOfBytes } from '../../live/pieces-source.js'
import { LogView } from '../../log/log-view.js'
import { Failure } from '../../parts/failure.js'
import { courseWords } from '../../words/en-course.js'
import { words } from '../../words/en.js'

interface PiecesProps {
  readonly job: Job
  readonly host: string | undefined
  /** The id of a task in the outline. */
  readonly task: number | undefined
}

/** The part of an output that was printed for one host, for one task, or for a task at a host. */
export function Pieces({ job, host, task }: PiecesProps) {
  const { id } = job
  const [source, setSource] = useState<OutputSource | null>(null)
  const [name, setName] = useState<string | null>(null)
  const [error, setError] = useState<Error | null>(null)
  const bytes = job.streams?.output.bytes
  const [readAt, setReadAt] = useState(bytes)
  const [turn, setTurn] = useState(0)
  const again = () => setTurn(turn + 1)
  useEffect(() => {
    const stop = new AbortController()
    setReadAt(bytes)
    setError(null)
    read(id, { host, task }, stop.signal).then(
      (found) => {
        if (stop.signal.aborted) return
        setSource(found.source)
        setName(found.name)
      },
      (failure: unknown) => stop.signal.aborted || setError(failure as Error),
    )
    return () => stop.abort()
  }, [turn])
  return (
    <>
      <p>
        {courseWords.only([name, host].filter(Boolean).join(', '))}{' '}
        <a href={addressOf(`/jobs/${id}`)}>{courseWords.all}</a>{' '}
        {readAt !== bytes && (
          <button type="button" onClick={again}>
            {courseWords.readAgain}
          </button>
        )}
      </p>
      {error && <Failure error={error} retry={again} />}
      {source && <LogView jobId={id} source={source} />}
    </>
  )
}

async function read(id: number, part: Pick<PiecesProps, 'host' | 'task'>, signal: AbortSignal) {
  const [response, outline] = await Promise.all([
    api.getJobOutputPieces({ id, ...part }, { signal }),
    part.task === undefined ? null : api.getJobOutline({ id }, { signal }),
  ])
  const record = outline?.records.find((one) => one.id === part.task)
  return {
    source: sourceOfBytes(new Uint8Array(await response.arrayBuffer())),
    name: part.task === undefined ? null : (record?.name ?? words.none),
  }
}
