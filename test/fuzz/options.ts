import { parseArgs } from 'node:util'

/** What a run was asked for. */
export interface FuzzOptions {
  /** Whichever comes first ends it. */
  readonly requests: number
  readonly minutes: number
  readonly seed: number
  /** Requests a second at most; 0: as many as it takes. */
  readonly perSecond: number
  readonly keep: boolean
  /** Go on after a fault, and tell every kind of fault once. */
  readonly goOn: boolean
  /** Longest wait for an answer of /live, in milliseconds; null: any. */
  readonly liveLimitMs: number | null
  /** How many texts are read in place of requests, and the number of the first one; null: requests are sent. */
  readonly texts: { readonly count: number; readonly from: number } | null
}

export const USAGE = `Usage: scripts/fuzz [--requests N] [--minutes N] [--seed S] [--per-second N] [--go-on] [--keep]
                    [--live-limit-ms N]
       scripts/fuzz --texts N [--from N] [--seed S]

Starts the product, a runner agent included, and sends requests to it that are made from its own OpenAPI document: right
ones, ones with one thing wrong, and wild ones, by callers of every right. No answer may be 5xx, every refusal must have
the shape of an error and X-Request-Id and show nothing of the server, nothing may hang, crash, log an error, or grow
without bound. A share of the requests has the largest bodies that there may be.

  --requests N     how many requests (default 50000, or as many as the minutes hold)
  --minutes N      how long at most (fractions allowed)
  --seed S         which requests (default: drawn and printed); the same seed gives the same ones
  --per-second N   so many requests a second at most, to leave the machine to others
  --go-on          go on after a fault, and tell every kind of fault once
  --live-limit-ms N  fail when an answer of /live took longer, asked by a second process every 20 ms; the last line says the
                   worst in any case
  --texts N        send nothing: give so many random texts of YAML, JSON, patterns and expressions to their readers, in a
                   process of its own. None may end it, take a gigabyte, or become anything but a value or a refusal
  --from N         number of the first text (default 1)
  --keep           keep the folder with database, logs and the list of requests; it is always kept after a fault

A fault ends the run, unless it shall go on, and is printed with the request and the command that runs everything up to it again. The last line
says what was sent, answered and covered. Exit code 0 only without a fault; 1 with one; 2 for wrong arguments; 130 when
it was interrupted.
`

const MAX_MINUTES = 1440
const MAX_REQUESTS = 100_000_000

/** @throws Error with one line that says what is wrong; null: only the help was asked for */
export function readOptions(args: readonly string[], random: () => number): FuzzOptions | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      requests: { type: 'string' },
      minutes: { type: 'string' },
      seed: { type: 'string' },
      'per-second': { type: 'string', default: '0' },
      'live-limit-ms': { type: 'string' },
      texts: { type: 'string' },
      from: { type: 'string', default: '1' },
      keep: { type: 'boolean', default: false },
      'go-on': { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return null
  const requests = Number(values.requests ?? (values.minutes === undefined ? 50_000 : MAX_REQUESTS))
  if (!(Number.isSafeInteger(requests) && requests > 0 && requests <= MAX_REQUESTS)) {
    throw new Error('--requests must be a whole number above 0')
  }
  const minutes = Number(values.minutes ?? MAX_MINUTES)
  if (!(minutes > 0 && minutes <= MAX_MINUTES)) throw new Error(`--minutes must be above 0 and at most ${MAX_MINUTES}`)
  const seed = values.seed === undefined ? Math.floor(random() * 2 ** 31) : Number(values.seed)
  if (!Number.isSafeInteger(seed) || seed < 0) throw new Error('--seed must be a whole number')
  const perSecond = Number(values['per-second'])
  if (!(perSecond >= 0)) throw new Error('--per-second must be a number')
  const liveLimitMs = values['live-limit-ms'] === undefined ? null : Number(values['live-limit-ms'])
  if (liveLimitMs !== null && !(liveLimitMs > 0)) throw new Error('--live-limit-ms must be a number above 0')
  const texts = values.texts === undefined ? null : { count: Number(values.texts), from: Number(values.from) }
  if (texts && !(Number.isSafeInteger(texts.count) && texts.count > 0 && Number.isSafeInteger(texts.from))) {
    throw new Error('--texts and --from must be whole numbers above 0')
  }
  return { requests, minutes, seed, perSecond, keep: values.keep, goOn: values['go-on'], liveLimitMs, texts }
}
