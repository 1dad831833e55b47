import type { Draft } from './draft.js'
import { headerOf, render } from './draft.js'
import type { WireAnswer } from './answers.js'
import type { Exchange } from './wire.js'

/** What an answer must never hold, beside a stack trace: where the service lives on its disk. */
export interface Secrets {
  readonly paths: readonly string[]
}

/** Reasons with which 503 is a word of the service and no fault: none of them is to be had in a run. */
const NO_FAULT_AT_503: readonly string[] = []

const REQUEST_ID = /^[A-Za-z0-9._:-]{1,64}$/
const STACK = /\n\s+at |\bat [\w.<>]+ \(|\.(?:js|ts):\d+:\d+|node:internal|node_modules/

/** Everything that is wrong with what came of a request; nothing when all is well. */
export function judge(draft: Draft, exchange: Exchange, secrets: Secrets): string[] {
  if (exchange.end === 'hangs') return ['no answer came, while others were answered']
  if (exchange.end === 'service hangs') return ['the service does not answer any more']
  if (exchange.end === 'refused') return ['the service does not take connections any more']
  const problems = exchange.problem === null ? [] : [exchange.problem]
  if (draft.ending === 'answer' && exchange.answers.length === 0 && problems.length === 0) {
    problems.push('the connection was closed without an answer')
  }
  if (draft.ending === 'answer' && exchange.answers.length > 1) problems.push('one request was answered twice')
  const sent = render(draft)
  for (const answer of exchange.answers) problems.push(...judgeAnswer(draft, sent, answer, secrets))
  return problems
}

function judgeAnswer(draft: Draft, sent: Buffer, answer: WireAnswer, secrets: Secrets): string[] {
  const problems = judgeRequestId(draft, answer)
  const { status, body } = answer
  const text = body.toString('utf8')
  if (status >= 500 && !(status === 503 && NO_FAULT_AT_503.includes(codeOf(text)))) {
    problems.push(`answered ${status}: ${text.slice(0, 300)}`)
  }
  if (status < 400) return problems
  const isHead = draft.method === 'HEAD' && draft.raw === null
  if (!isHead) problems.push(...judgeErrorBody(answer, text))
  if (STACK.test(text) && !isEchoed(sent, text, STACK))
    problems.push(`an error shows a stack trace: ${text.slice(0, 300)}`)
  for (const path of secrets.paths) {
    if (text.includes(path) && !sent.includes(path)) problems.push(`an error shows the server's path ${path}`)
  }
  if (status === 401 && !/^Bearer/.test(answer.headers.get('www-authenticate') ?? '')) {
    problems.push('401 without WWW-Authenticate: Bearer')
  }
  if (status === 429 && !/^[1-9]\d*$/.test(answer.headers.get('retry-after') ?? ''))
    problems.push('429 without Retry-After')
  return problems
}

/** Every answer has one; it is the caller's own when that is fit to be one. */
function judgeRequestId(draft: Draft, answer: WireAnswer): string[] {
  const id = answer.headers.get('x-request-id')
  if (id === undefined) return [`answer ${answer.status} without X-Request-Id`]
  if (!REQUEST_ID.test(id)) return [`X-Request-Id is ${JSON.stringify(id)}`]
  const own = headerOf(draft, 'x-request-id')
  const isParsed = draft.raw === null && ![400, 408, 417, 431].includes(answer.status)
  return isParsed && own !== undefined && REQUEST_ID.test(own) && id !== own
    ? [`X-Request-Id is ${id}, and not the caller's ${own}`]
    : []
}

/** `{error, details?, code?}`, and nothing else. */
function judgeErrorBody({ status, headers }: WireAnswer, text: string): string[] {
  const wrong = (why: string): string[] => [`the body of ${status} is no error body, ${why}: ${text.slice(0, 300)}`]
  if (!headers.get('content-type')?.startsWith('application/json')) return wrong('its type is not JSON')
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return wrong('it is no JSON')
  }
  if (body === null || typeof body !== 'object' || Array.isArray(body)) return wrong('it is no object')
  const { error, code, details, ...others } = body as Record<string, unknown>
  // What a probe says has a shape of its own, by the specification.
  if (error === undefined && typeof others.status === 'string' && typeof others.reason === 'string') return []
  if (typeof error !== 'string' || error === '') return wrong('error is no sentence')
  if (code !== undefined && (typeof code !== 'string' || !/^[a-z0-9_]+$/.test(code))) return wrong('code is no word')
  if (details !== undefined && (details === null || typeof details !== 'object')) return wrong('details is no object')
  return Object.keys(others).length === 0 ? [] : wrong(`it holds ${Object.keys(others).join(', ')}`)
}

/** True when what looks wrong only repeats what the client said. */
function isEchoed(sent: Buffer, text: string, pattern: RegExp): boolean {
  const found = pattern.exec(text)?.[0]
  return found !== undefined && sent.includes(found)
}

function codeOf(text: string): string {
  try {
    return String((JSON.parse(text) as { code?: unknown }).code)
  } catch {
    return ''
  }
}

/** Lines that Node.js itself writes when its inspector is asked for: the figures are read through it. */
const OF_THE_INSPECTOR =
  /^(Debugger (listening|attached|ending)|For help, see: https:\/\/nodejs\.org|Waiting for the debugger)/

/** Everything that is wrong with what a program logged: errors, and lines that are none of its log. */
export function judgeLog(lines: readonly string[]): string[] {
  return lines.flatMap((line) => {
    if (line.trim() === '' || OF_THE_INSPECTOR.test(line)) return []
    let level: unknown
    try {
      level = (JSON.parse(line) as { level?: unknown }).level
    } catch {
      return [`said outside of its log: ${line.slice(0, 500)}`]
    }
    return level === 'error' || level === 'fatal' ? [`logged an error: ${line.slice(0, 1500)}`] : []
  })
}
