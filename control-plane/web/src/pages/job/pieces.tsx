import type { JobOutline } from '@holdfast/client'
import type { ComponentType } from 'preact'
import { useMemo } from 'preact/hooks'
import { addressOf } from '../../live/address.js'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import type { OutputSource } from '../../live/output-source.js'
import { piecesOf } from '../../live/pieces-source.js'
import type { LogViewProps } from '../../log/extras-props.js'
import { Content } from '../../parts/content.js'
import { moreWords } from '../../words/en-log-more.js'
import { words } from '../../words/en.js'

interface PiecesProps {
  /** Shows an output. */
  readonly LogView: ComponentType<LogViewProps>
  readonly whole: OutputSource
  readonly view: LogViewProps
  readonly host: string | undefined
  /** The id of a task in the outline. */
  readonly task: number | undefined
}

/** The part of an output that was printed for one host, for one task, or that tells of some outcomes. */
export function Pieces(props: PiecesProps) {
  const { task, view } = props
  const id = view.jobId
  const answer = useAnswer(`pieces/${id}/${task}`, [], async (signal) => {
    const { records } = task === undefined ? { records: [] } : await api.getJobOutline({ id }, { signal })
    return { record: records.find((one) => one.id === task) }
  })
  return <Content answer={answer}>{({ record }) => <Part {...props} record={record} />}</Content>
}

function Part({
  LogView,
  whole,
  view,
  host,
  task,
  record,
}: PiecesProps & { readonly record?: JobOutline['records'][number] }) {
  const { jobId: id, outcomes } = view
  const name = record?.name ?? undefined
  const source = useMemo(() => {
    // The events of a play have the names of its tasks.
    const taskName = record?.kind === 'play' ? undefined : name
    return piecesOf(id, whole, { host, task, taskName, outcomes })
  }, [])
  return (
    <>
      <p>
        {moreWords.only([task !== undefined && (name ?? words.none), host].filter(Boolean).join(', '))}{' '}
        <a href={addressOf(`/jobs/${id}`)}>{moreWords.all}</a>
      </p>
      <LogView {...view} source={source} />
    </>
  )
}
