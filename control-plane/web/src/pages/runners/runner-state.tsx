import type { Runner } from '@holdfast/client'
import { Badge } from '../../parts/status.js'
import { bytesText, durationText, timeText } from '../../parts/time.js'
import { runnerWords } from '../../words/en-runners.js'

/** Difference of clocks that is worth a word, in milliseconds. */
const SKEW_MS = 2000

/** What a runner has not sent is worth a word when it is more than what running jobs have just written, in bytes. */
const BACKLOG_BYTES = 1_000_000

/** The state of a runner, in one word. */
export function RunnerState({ runner }: { readonly runner: Runner }) {
  if (runner.state === 'waiting') return <Badge tone="wait" text={runnerWords.waiting} />
  if (runner.state === 'denied') return <Badge tone="off" text={runnerWords.denied} />
  if (runner.state === 'revoked') return <Badge tone="bad" text={runnerWords.revoked} />
  if (!runner.enabled) return <Badge tone="off" text={runnerWords.disabled} />
  if (!runner.online) return <Badge tone="warn" text={runnerWords.offline} />
  return runner.draining ? (
    <Badge tone="wait" text={runnerWords.draining} />
  ) : (
    <Badge tone="ok" text={runnerWords.online} />
  )
}

/** What an admin should look at. @property all every runner and request: some may have the name of this one */
export function Marks({ runner, all }: { readonly runner: Runner; readonly all: readonly Runner[] }) {
  const { id, name, state, ip, clone, clock_skew_ms: skew, spool_bytes: backlog } = runner
  const others = all.filter((other) => other.id !== id)
  const rivals = others.filter((other) => other.name === name)
  // Only one of them has the name. The others were refused because of it.
  const isRefused = state === 'denied' && rivals.some((other) => other.state !== 'denied')
  // Only the last address of each runner is known.
  const isNewAddress = state === 'waiting' && others.length > 0 && others.every((other) => other.ip !== ip)
  return (
    <>
      {clone !== null && (
        <p class="notice bad">{runnerWords.clone(whereOf(clone.host, clone.ip), timeText(clone.seen_at))}</p>
      )}
      {isRefused && <p class="notice warn">{runnerWords.nameTaken}</p>}
      {state !== 'denied' && rivals.length > 0 && (
        <p class="notice warn">
          {runnerWords.sameName(rivals.map((other) => whereOf(other.host, other.ip)).join(', '))}
        </p>
      )}
      {isNewAddress && <p class="notice warn">{runnerWords.newAddress(ip)}</p>}
      {Math.abs(skew) > SKEW_MS && <span class="soft reason">{runnerWords.skew(durationText(Math.abs(skew)))}</span>}
      {backlog > BACKLOG_BYTES && <span class="soft reason">{runnerWords.backlog(bytesText(backlog))}</span>}
    </>
  )
}

function whereOf(host: string | null, ip: string | null): string {
  return host !== null && ip !== null ? runnerWords.from(host, ip) : (host ?? ip ?? runnerWords.unknownPlace)
}
