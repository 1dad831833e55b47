import type { Chance } from '../chaos/kit/seed.js'
import { LARGEST, LARGEST_VALUES, LARGEST_YAML } from '../support/largest-bodies.js'
import type { Operation } from './document.js'
import { type Draft, setBody } from './draft.js'

/** One request in so many has the largest body that its operation takes. */
const ONE_IN = 60
const LAUNCH = 'POST /job'
/** The form whose fields take any text and any rows. */
export const LARGE_FORM = 'large'

/**
 * What a request is for that shall have the largest body there is; null: it is one of the others. It is drawn apart, so that the
 * others stay what they are.
 */
export function largestOperation(operations: readonly Operation[], chance: Chance): Operation | null {
  const draw = chance.fork('largest')
  if (draw.between(1, ONE_IN) !== 1) return null
  const launch = operations.find(({ key }) => key === LAUNCH)
  const others = operations.filter(({ body }) => body?.contentType === 'application/json')
  return launch && draw.next() < 0.5 ? launch : others.length === 0 ? null : draw.pick(others)
}

/** Gives a request the largest body that there may be for its operation: it costs the service most. */
export function setLargest(draft: Draft, operation: Operation, chance: Chance): void {
  const [what, make] = chance.pick(Object.entries({ ...LARGEST_VALUES, ...LARGEST_YAML }))
  const isLaunch = operation.key === LAUNCH
  const bytes = operation.isPublic ? LARGEST.stranger : isLaunch ? LARGEST.launch : LARGEST.other
  const field = what in LARGEST_YAML ? 'yaml' : what.includes('text') && what !== 'texts' ? 'text' : 'rows'
  const values = make(bytes)
  const text = isLaunch ? `{"formName":"${LARGE_FORM}","rawFormData":{"${field}":${values}}}` : `{"name":${values}}`
  setBody(draft, Buffer.from(text), 'application/json')
  Object.assign(draft, { kind: 'largest', twist: what })
}
