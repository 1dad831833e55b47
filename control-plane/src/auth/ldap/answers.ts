/** Most bytes that a directory may send over one connection: a person with thousands of groups needs less. */
const MAX_BYTES = 8 * 1024 * 1024

/** The tags of LDAP messages (RFC 4511) that a client gets. */
const SEQUENCE = 0x30
const SET = 0x31
const OCTETS = 0x04
const BOOLEAN = 0x01
const INTEGER = 0x02
const ENUMERATED = 0x0a
const CONTROLS = 0xa0
const ENTRY = 0x64
const REFERENCE = 0x73
/** The answers to a bind, the end of a search, and the answer to StartTLS. They have a result code. */
const BOUND = 0x61
const RESULTS: ReadonlySet<number> = new Set([BOUND, 0x65, 0x78])
/** How many bytes a length has, at most. */
const MAX_LENGTH_BYTES = 4

/** What came from a directory is no LDAP, or too much of it. */
export class BrokenAnswer extends Error {
  override readonly name = 'BrokenAnswer'
}

/** A control of an answer. */
export interface AnswerControl {
  readonly type: string
  /** Null: none. */
  readonly value: Buffer | null
}

/** A whole message of a directory. */
export interface Answer {
  readonly bytes: Buffer
  /** It is about a bind. */
  readonly isOfBind: boolean
  readonly controls: readonly AnswerControl[]
}

/** A value of BER. */
export interface BerPart {
  readonly tag: number
  readonly content: Buffer
}

/**
 * Cuts the bytes of a directory into messages, and looks at the form of each. The library for LDAP gets nothing else: it
 * would look for the end of a broken message for ever, keep a message of any length, and call itself for each of many small
 * ones.
 */
export function createAnswerReader(): { push(bytes: Buffer): Answer[] } {
  let waiting: Buffer[] = []
  let waitingLength = 0
  /** How long the next message is, as far as it is known. */
  let wanted = 0
  let total = 0

  return {
    push(bytes) {
      total += bytes.length
      if (total > MAX_BYTES) throw new BrokenAnswer(`the directory sends more than ${MAX_BYTES} bytes`)
      waiting.push(bytes)
      waitingLength += bytes.length
      // Put together only when a whole message is there.
      if (waitingLength < wanted) return []
      const all = waiting.length === 1 ? bytes : Buffer.concat(waiting)
      const answers: Answer[] = []
      let start = 0
      for (;;) {
        if (start < all.length && all[start] !== SEQUENCE) throw noLdap()
        const head = headAt(all, start)
        wanted = head === null ? all.length - start + 1 : head.end - start
        if (wanted > MAX_BYTES) throw new BrokenAnswer('the directory announces a message that is too long')
        if (head === null || head.end > all.length) break
        answers.push(answerOf(all.subarray(start, head.end)))
        start = head.end
      }
      const rest = all.subarray(start)
      waiting = rest.length === 0 ? [] : [rest]
      waitingLength = rest.length
      return answers
    },
  }
}

function answerOf(bytes: Buffer): Answer {
  const [message] = partsOf(bytes, [SEQUENCE])
  const [id, operation, controls, ...more] = partsOf(message?.content ?? bytes)
  const isWhole = id?.tag === INTEGER && id.content.length > 0 && id.content.length <= 4 && operation !== undefined
  if (!isWhole || more.length > 0 || (controls !== undefined && controls.tag !== CONTROLS)) throw noLdap()
  checkOperation(operation)
  const found = controls === undefined ? [] : partsOf(controls.content, SEQUENCE).map(controlOf)
  return { bytes, isOfBind: operation.tag === BOUND, controls: found }
}

function checkOperation({ tag, content }: BerPart): void {
  if (tag === REFERENCE) partsOf(content, OCTETS)
  else if (tag === ENTRY) {
    const [, attributes] = partsOf(content, [OCTETS, SEQUENCE])
    for (const attribute of partsOf(attributes?.content ?? content, SEQUENCE)) {
      const [, values] = partsOf(attribute.content, [OCTETS, SET])
      partsOf(values?.content ?? content, OCTETS)
    }
  } else if (RESULTS.has(tag)) {
    const [code, matched, words] = partsOf(content)
    const hasCode = code?.tag === ENUMERATED && code.content.length > 0
    if (!hasCode || matched?.tag !== OCTETS || words?.tag !== OCTETS) throw noLdap()
  } else throw noLdap()
}

function controlOf({ content }: BerPart): AnswerControl {
  const [type, ...parts] = partsOf(content)
  const value = parts.find(({ tag }) => tag === OCTETS)
  const isKnown = parts.every(({ tag }) => tag === BOOLEAN || tag === OCTETS) && parts.length <= 2
  if (type?.tag !== OCTETS || !isKnown) throw noLdap()
  return { type: type.content.toString('latin1'), value: value?.content ?? null }
}

/**
 * The parts that bytes consist of.
 * @param tags exactly these, or any number of one; left out: any
 * @throws BrokenAnswer
 */
export function partsOf(bytes: Buffer, tags?: number | readonly number[]): BerPart[] {
  const parts: BerPart[] = []
  for (let at = 0; at < bytes.length;) {
    const head = headAt(bytes, at)
    if (head === null || head.end > bytes.length) throw noLdap()
    parts.push({ tag: bytes[at] ?? 0, content: bytes.subarray(head.start, head.end) })
    at = head.end
  }
  const isExpected =
    tags === undefined ||
    (typeof tags === 'number'
      ? parts.every(({ tag }) => tag === tags)
      : parts.length === tags.length && parts.every(({ tag }, index) => tag === tags[index]))
  if (!isExpected) throw noLdap()
  return parts
}

/** Where the content of the part at this place begins and ends; null: not all bytes of its head are there. */
function headAt(bytes: Buffer, at: number): { readonly start: number; readonly end: number } | null {
  const first = bytes[at + 1]
  if (first === undefined) return null
  if (first < 0x80) return { start: at + 2, end: at + 2 + first }
  const count = first & 0x7f
  if (count === 0 || count > MAX_LENGTH_BYTES) throw noLdap()
  const start = at + 2 + count
  return bytes.length < start ? null : { start, end: start + bytes.readUIntBE(at + 2, count) }
}

function noLdap(): BrokenAnswer {
  return new BrokenAnswer('the directory sends something that is no LDAP')
}
