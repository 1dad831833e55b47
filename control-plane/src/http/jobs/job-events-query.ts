import { type Static, Type } from 'typebox'
import { InvalidInputError } from '../../errors.js'
import { EVENT_STATUSES, type EventStatus } from '../../jobs/read/event-filter.js'
import type { EventsRequest } from '../../jobs/read/event-list.js'
import { integerText, wholeNumberOf } from '../route/schemas.js'

/** The query of a list of events. */
export const EventsQuery = Type.Object({
  after: Type.Optional(integerText('Only events with a higher order')),
  before: Type.Optional(integerText('Only events with a lower order')),
  limit: Type.Optional(integerText('Most events to answer; all when left out')),
  order: Type.Optional(Type.Enum(['asc', 'desc'], { description: 'desc: the newest first' })),
  host: Type.Optional(Type.String({ description: 'Only events of this host' })),
  task: Type.Optional(Type.String({ description: 'Only events of tasks of this name' })),
  type: Type.Optional(Type.String({ description: 'Only events of this type' })),
  status: Type.Optional(Type.Enum(EVENT_STATUSES, { description: 'Only results of tasks at hosts with this outcome' })),
  from: Type.Optional(integerText('Only events that printed something from this byte of the output on')),
  to: Type.Optional(integerText('Only events that printed something before this byte of the output')),
  outcome: Type.Optional(
    Type.String({ description: `As status, with one or several of these, with commas: ${EVENT_STATUSES.join()}` }),
  ),
})

/** Reads the filters of a query. @throws InvalidInputError that names the parameter */
export function eventsRequestOf(query: Static<typeof EventsQuery>): EventsRequest {
  const { after, before, limit, order, host, task, type, status, outcome, from, to } = query
  const most = Number.MAX_SAFE_INTEGER
  return {
    after: wholeNumberOf(after ?? '0', 'after'),
    before: before === undefined ? most : wholeNumberOf(before, 'before'),
    limit: limit === undefined ? most : wholeNumberOf(limit, 'limit'),
    isDescending: order === 'desc',
    host,
    task,
    type,
    status,
    outcomes: outcome?.split(',').map(statusOf),
    from: from === undefined ? undefined : wholeNumberOf(from, 'from'),
    to: to === undefined ? undefined : wholeNumberOf(to, 'to'),
  }
}

function statusOf(word: string): EventStatus {
  const status = EVENT_STATUSES.find((known) => known === word)
  if (status) return status
  throw new InvalidInputError('invalid_outcome', `outcome must be of ${EVENT_STATUSES.join(', ')}`, { outcome: word })
}
