import type { Job, JobNodeList } from '@holdfast/client'
import { useState } from 'preact/hooks'
import { type DrawnLink, WHENS } from '../../grid/graph-layout.js'
import { GraphView } from '../../grid/graph-view.js'
import { addressOf } from '../../live/address.js'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { Content, Empty } from '../../parts/content.js'
import { Table } from '../../parts/table.js'
import { Duration, Time } from '../../parts/time.js'
import { graphWords } from '../../words/en-graph.js'
import { words } from '../../words/en.js'
import { NodeDrawer, NodeStatus, isQueuedNode } from './nodes-tab-drawer.js'

type JobNode = JobNodeList['records'][number]

const TONES: Readonly<Record<string, string>> = {
  running: 'run',
  approve: 'wait',
  success: 'ok',
  failed: 'bad',
}

/** The steps or nodes of a job that consists of other jobs: as a graph, and as a list. */
export function NodesTab({ job }: { readonly job: Job }) {
  const { id } = job
  const [opened, setOpened] = useState<string | null>(null)
  const answer = useAnswer(`nodes/${id}`, ['jobs'], (signal) => api.getJobNodes({ id }, { signal }))
  return (
    <Content answer={answer}>
      {({ records }) => {
        const node = records.find(({ identifier }) => identifier === opened)
        return (
          <>
            {records.length === 0 ? (
              <Empty text={graphWords.nothing} />
            ) : (
              <Nodes nodes={records} open={({ identifier }) => setOpened(identifier)} />
            )}
            {node && <NodeDrawer job={job} node={node} done={answer.reload} onClose={() => setOpened(null)} />}
          </>
        )
      }}
    </Content>
  )
}

interface NodesProps {
  readonly nodes: readonly JobNode[]
  readonly open: (node: JobNode) => void
}

function Nodes({ nodes, open }: NodesProps) {
  const statuses = new Map(nodes.map(({ identifier, status }) => [identifier, status]))
  return (
    <>
      <GraphView
        label={graphWords.graph(nodes.length)}
        nodes={nodes}
        toneOf={(node) => (isQueuedNode(node) ? 'queue' : (TONES[node.status] ?? 'off'))}
        hasFired={(link) => hasFired(link, statuses.get(link.from) ?? 'waiting')}
      >
        {(node) => (
          <button type="button" title={node.name} aria-haspopup="dialog" onClick={() => open(node)}>
            <span>{node.identifier}</span> <NodeStatus node={node} />
          </button>
        )}
      </GraphView>
      <ul class="graph-legend soft">
        {WHENS.map((when) => (
          <li key={when}>
            <svg width="36" height="10" aria-hidden="true">
              <g class={`graph-link ${when}`}>
                <path d="M0 5H36" />
              </g>
            </svg>{' '}
            {graphWords.when[when]}
          </li>
        ))}
      </ul>
      <h2>{graphWords.list}</h2>
      <Table caption={graphWords.list} columns={Object.values(graphWords.columns)}>
        {nodes.map((node) => (
          <NodeRow key={node.identifier} node={node} />
        ))}
      </Table>
    </>
  )
}

function NodeRow({ node }: { readonly node: JobNode }) {
  const { identifier, name, status, reason, start, end, job, all_parents: all } = node
  const since = isQueuedNode(node) ? null : (node.began ?? start)
  return (
    <tr>
      <th scope="row">{identifier}</th>
      <td>{name}</td>
      <td>
        <NodeStatus node={node} />
        {reason !== null && <span class="soft reason">{reason}</span>}
      </td>
      <td>
        {followersText(node)}
        {all && <span class="soft reason">{graphWords.allParents}</span>}
      </td>
      <td class="number">
        <Time at={start} />
      </td>
      <td>{since === null ? words.none : <Duration start={since} end={status === 'running' ? null : end} />}</td>
      <td class="number">{job === null ? words.none : <a href={addressOf(`/jobs/${job}`)}>{job}</a>}</td>
    </tr>
  )
}

function followersText({ links }: JobNode): string {
  const parts = WHENS.filter((when) => links[when].length > 0).map((when) =>
    graphWords.then(links[when].join(', '), graphWords.when[when] ?? when),
  )
  return parts.length === 0 ? words.none : parts.join('; ')
}

/** As the service decides it: a node that was skipped counts as a success. */
function hasFired({ when }: DrawnLink, status: string): boolean | null {
  if (status === 'success' || status === 'skipped') return when !== 'failure'
  if (status === 'failed') return when !== 'success'
  return status === 'aborted' || status === 'do not run' ? false : null
}
