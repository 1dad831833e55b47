import * as v from 'valibot'

const id = v.pipe(v.number(), v.integer())

/**
 * The messages between nodes. Correct results never depend on them. They only make a node look at a place of the
 * database now instead of a little later.
 *
 * - `live`: something of this name changed, for the open event streams
 * - `queued`: a job waits for this runner
 * - `abort`: somebody asked for the end of a job that this runner has or may have
 * - `orphans`: an admin decided about jobs of this runner that waited for a decision
 * - `runner`: this runner's row changed, or is gone
 * - `service-key`: the key by which the control plane proves who it is was replaced
 * - `rival`: a newer process of this runner's identity wants to connect; `answers` says whether the older one still
 *   runs
 */
const messageSchema = v.variant('topic', [
  v.object({ topic: v.literal('live'), name: v.string() }),
  v.object({ topic: v.literal('queued'), runner: id }),
  v.object({ topic: v.literal('abort'), runner: id, job: id, run: v.string() }),
  v.object({ topic: v.literal('orphans'), runner: id }),
  v.object({ topic: v.literal('runner'), runner: id }),
  v.object({ topic: v.literal('service-key') }),
  v.object({ topic: v.literal('rival'), runner: id, question: v.string() }),
  v.object({ topic: v.literal('answers'), question: v.string(), answers: v.boolean() }),
])

/** A message between nodes. */
export type BusMessage = v.InferOutput<typeof messageSchema>

const letterSchema = v.object({ from: v.string(), messages: v.array(v.unknown()) })

/** Writes several messages of one node as one letter. */
export function writeLetter(from: string, messages: readonly string[]): string {
  return `{"from":${JSON.stringify(from)},"messages":[${messages.join(',')}]}`
}

/**
 * Reads a letter. Messages that this release does not know are left out, because nodes of two releases work together
 * during an upgrade.
 * @returns null when it is no letter
 */
export function readLetter(text: string): { readonly from: string; readonly messages: readonly BusMessage[] } | null {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return null
  }
  const letter = v.safeParse(letterSchema, json)
  if (!letter.success) return null
  const messages = letter.output.messages.flatMap((one) => {
    const message = v.safeParse(messageSchema, one)
    return message.success ? [message.output] : []
  })
  return { from: letter.output.from, messages }
}
