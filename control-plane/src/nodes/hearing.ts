import type { Timers } from '../time/timers.js'

/** How often a node tests whether it hears, in milliseconds. */
const TEST_MS = 60_000

/**
 * A test is so many letters, one after the other, with a pause in milliseconds. One letter may arrive by chance, at the
 * moment at which the listening connection asks the server something. It asks in another rhythm than that of the pause.
 */
const LETTERS = 2
const PAUSE_MS = 700

/** How long a test may last, in milliseconds. */
const MAX_TEST_MS = 10_000

/** How often a node that does not hear looks by itself, in milliseconds. */
const LOOK_MS = 2000

/** Knows whether letters arrive at this node. */
export interface Hearing {
  /** Begins a test. It runs automatically, regularly. */
  test(): void
  /** A letter of a test has arrived. */
  heard(): void
  /** What an admin should know, as a sentence; null: nothing. */
  trouble(): string | null
  close(): void
}

/** What {@link createHearing} needs of other parts. */
export interface HearingDependencies {
  readonly timers: Timers
  readonly log: { info(fields: object, text: string): void; warn(fields: object, text: string): void }
  /** Sends a letter without messages the way that all letters go. Rejects when it cannot be sent now. */
  readonly send: () => Promise<void>
  /** Whether no other node is there, so that there is nothing to hear. */
  readonly isAlone: () => boolean
  /** Looks at everything, because messages may be lost. */
  readonly look: () => void
}

/**
 * Some connections take LISTEN and bring nothing, such as one through a pooler in transaction mode. Only what arrives shows
 * that they work. So a node writes to itself:
 *
 * - `unsure`: at the start, and after a letter that could not be sent
 * - `hears`: all letters of the latest test have arrived
 * - `deaf`: a letter was sent, and did not arrive in time
 *
 * Each test leads from any state to any state. Until a test was passed, the node looks by itself.
 */
export function createHearing({ timers, log, send, isAlone, look }: HearingDependencies): Hearing {
  let state: 'unsure' | 'hears' | 'deaf' = 'unsure'
  /** How many letters of the test have to arrive. 0: there is no test now. */
  let toArrive = 0
  let stopTest = (): void => undefined
  let stopPause = (): void => undefined

  const endTest = (): void => {
    toArrive = 0
    stopTest()
    stopPause()
  }
  const tooLate = (): void => {
    endTest()
    if (state !== 'deaf') log.warn({}, DEAF)
    state = 'deaf'
  }
  const notSent = (): void => {
    // Nothing is known now. The part that sends and the one that listens report their own failures.
    endTest()
    state = 'unsure'
  }
  const sendLetter = (): void => void send().catch(notSent)

  function test(): void {
    // A test that begins anew keeps its time. Otherwise tests that follow each other would never end.
    if (toArrive === 0) stopTest = timers.after(MAX_TEST_MS, tooLate)
    stopPause()
    toArrive = LETTERS
    sendLetter()
  }

  const stopTests = timers.every(TEST_MS, test)
  const stopLooks = timers.every(LOOK_MS, () => {
    if (state !== 'hears' && !isAlone()) look()
  })

  return {
    test,
    heard() {
      if (toArrive === 0) return
      toArrive -= 1
      stopPause()
      if (toArrive > 0) return void (stopPause = timers.after(PAUSE_MS, sendLetter))
      endTest()
      if (state === 'deaf') {
        log.info({}, 'this control plane hears the others again')
        look()
      }
      state = 'hears'
    },
    trouble: () => (state === 'deaf' ? DEAF : null),
    close() {
      endTest()
      stopTests()
      stopLooks()
    },
  }
}

const DEAF =
  'this control plane does not hear the others: a notification to itself (LISTEN, NOTIFY) did not arrive; it looks for ' +
  'changes every two seconds instead; connect DATABASE_URL to the server itself, or set the pooler to session mode ' +
  '(several-control-planes.md)'
