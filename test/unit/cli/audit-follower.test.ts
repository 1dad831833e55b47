import type { AuditRecord, Client } from '@holdfast/client'
import { expect, test } from 'vitest'
import { followAudit } from '../../../control-plane/src/cli/commands/audit/follow.js'
import { RefusedError, UnreachableError } from '../../../control-plane/src/cli/errors.js'
import type { Output } from '../../../control-plane/src/cli/terminal.js'

const END = new RefusedError('That is all.', 403, null)

const record = (id: number, rest: object = {}) =>
  ({
    id,
    time: '2026-01-02T03:04:05.000Z',
    request_id: `r${id}`,
    user: 'ann',
    address: '10.0.0.1',
    action: 'job.launch',
    object: { kind: 'job', id: 7, name: null },
    status: 200,
    detail: null,
    ...rest,
  }) as unknown as AuditRecord
const list = (ids: readonly number[], database = 'd', rest: object = {}) => ({
  count: ids.length,
  database,
  records: ids.map((id) => record(id, rest)),
})

/** Follows an audit trail whose control plane gives these answers, one after the other, and then refuses. */
async function follow(first: ReturnType<typeof list>, ...answers: readonly (ReturnType<typeof list> | Error)[]) {
  const [shown, said, asked] = [[] as string[], [] as string[], [] as unknown[]]
  const to = (lines: string[]): Output => ({
    isTerminal: false,
    color: false,
    columns: 80,
    write: (data) => Promise.resolve(void lines.push(String(data))),
  })
  const left = [...answers]
  const client = {
    listAudit: (filter: unknown) => {
      asked.push(filter)
      const answer = left.shift() ?? END
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)
    },
  } as unknown as Client
  const terminal = { environment: {}, stdin: process.stdin, stdout: to(shown), stderr: to(said) }
  await expect(
    followAudit(
      client,
      terminal,
      { action: 'job.launch' },
      first as unknown as Parameters<typeof followAudit>[3],
      true,
    ),
  ).rejects.toBe(END)
  return { ids: shown.map((line) => (JSON.parse(line) as { id: number }).id), said, asked }
}

const ids = (from: number, to: number) => Array.from({ length: from - to + 1 }, (_, at) => from - at)

test.concurrent(
  'each record comes once, the oldest first, also one with a lower id that is stored a little later',
  async () => {
    const followed = await follow(list([900, 500]), list([901, 900, 500]), list([902, 901, 850, 702, 701, 700]))
    // The newest two hundred ids are read again, and what is older than the first record never.
    expect(followed.ids).toEqual([500, 900, 901, 702, 850, 902])
    expect(followed.said).toEqual([])
    expect(followed.asked[0]).toEqual({ action: 'job.launch', records: 1000 })
    expect((await follow(list([250, 240]), list([251, 241, 239, 100]))).ids).toEqual([240, 250, 241, 251])
  },
)

test.concurrent('all new records are read when there are more than a page of them', async () => {
  const followed = await follow(list([10]), list(ids(1500, 501)), list(ids(500, 9)))
  expect(followed.ids).toEqual(ids(1500, 10).toReversed())
  expect(followed.asked.slice(0, 2)).toEqual([
    { action: 'job.launch', records: 1000 },
    { action: 'job.launch', records: 1000, before: 501 },
  ])
  expect(followed.asked).toHaveLength(3)
})

test.concurrent('the records of a restored database follow, also those with ids that came before', async () => {
  const restored = list([3, 2], 'other', { request_id: 'new' })
  const followed = await follow(list([3, 2]), restored, restored, list([4, 3, 2], 'other', { request_id: 'new' }))
  expect(followed.ids).toEqual([2, 3, 2, 3, 4])
  expect(followed.said).toEqual([
    'The database of the control plane was restored. The records of the restored database follow.\n',
  ])
  expect(followed.asked[1]).toEqual({ action: 'job.launch' })
})

test.concurrent('a control plane that is away is asked again, and that is said once each time', async () => {
  const [away, busy] = [new UnreachableError('It is away.'), new RefusedError('Too often.', 429, null)]
  const followed = await follow(list([1]), away, busy, list([2, 1]), away)
  expect(followed.ids).toEqual([1, 2])
  expect(followed.said).toEqual(['It is away. It is asked again.\n', 'It is away. It is asked again.\n'])
})
