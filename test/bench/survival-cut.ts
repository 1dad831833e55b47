import { setTimeout as pause } from 'node:timers/promises'
import { type FaultyProxy, startFaultyProxy } from '../chaos/kit/faulty-proxy.js'
import { waitFor } from '../support/wait.js'
import { followLines } from './live-lines.js'
import type { Figure } from './report.js'
import { openStoredReader } from './stored-lengths.js'
import { LIVE_LOAD, lagFigure, waitForStatus } from './survival.js'
import { startSurvivalProduct } from './survival-product.js'

type Say = (line: string) => void

const EVENTS_PER_SECOND = 2000
const LOAD = { perSecond: EVENTS_PER_SECOND, outputBytes: 100, eventBytes: 500 }

/** Seconds without a cut, to know the emitter's own pace; and seconds before and after the cut. */
const REFERENCE_SECONDS = 20
const AROUND_SECONDS = 5

/** Longest time between two tries of an agent to connect, after a long cut: it counts to nobody's speed. */
const MAX_BACK_OFF_SECONDS = 30

/** The network away for a while under 2,000 events a second: what the play notices, and how it is caught up. */
export async function measureCut(cutSeconds: number, say: Say): Promise<Figure[]> {
  let proxy: FaultyProxy | null = null
  const { product, launch } = await startSurvivalProduct({
    dial: async (address) => (proxy = await startFaultyProxy(address)).address,
  })
  const network = proxy as FaultyProxy | null
  if (!network) throw new Error('the product was started without its proxy')
  const stored = await openStoredReader(product)
  try {
    const reference = await launch('reference', { ...LOAD, steps: REFERENCE_SECONDS * EVENTS_PER_SECOND })
    await waitForStatus(product, reference.jobId)

    const seconds = AROUND_SECONDS + cutSeconds + MAX_BACK_OFF_SECONDS + AROUND_SECONDS
    const cut = await launch('cut', { ...LOAD, steps: seconds * EVENTS_PER_SECOND })
    const live = await launch('live', { ...LIVE_LOAD, gates: [] })
    const lines = followLines(product, live.jobId)
    await waitFor('both to stream', async () => (await stored.read(cut.jobId)).events > EVENTS_PER_SECOND)
    await pause(AROUND_SECONDS * 1000)
    network.hold(true)
    network.cut()
    await pause(cutSeconds * 1000)
    network.hold(false)
    await product.waitForRunner()
    const from = Date.now()
    const before = await stored.read(cut.jobId)
    const bytesPerEvent = before.bytes / before.events
    const behind = async () => cut.truth.written() - (await stored.read(cut.jobId)).bytes
    const backlog = (await behind()) / bytesPerEvent
    // A quarter of a second of events is how far behind it is without any backlog.
    await waitFor('the backlog', async () => (await behind()) < (EVENTS_PER_SECOND / 4) * bytesPerEvent, {
      everyMs: 25,
      timeoutMs: 900_000,
    })
    const drained = Date.now()
    const after = await stored.read(cut.jobId)
    const rate = (after.events - before.events) / ((drained - from) / 1000)
    const lags = lines.lags(from, drained)
    const status = await waitForStatus(product, cut.jobId)
    if (status !== 'success') throw new Error(`the job with the cut ended ${status}`)
    await lines.stop()
    const ratio = paceOf(cut.truth.pace(), seconds) / paceOf(reference.truth.pace(), REFERENCE_SECONDS)
    say(
      `  ${cutSeconds} s of cut: ${Math.round(backlog)} events behind, stored in ${((drained - from) / 1000).toFixed(1)} s; pace x ${ratio.toFixed(4)}`,
    )
    const name = `${cutSeconds} s of cut at 2,000 events/s`
    return [
      {
        what: `${name}: pace of the play with / without`,
        value: ratio,
        unit: 'x',
        digits: 4,
        reach: { value: 1.02, better: 'lower' },
        note: `latest step ${(cut.truth.pace().latest * 1000).toFixed(0)} ms late, without ${(reference.truth.pace().latest * 1000).toFixed(0)} ms`,
      },
      {
        what: `${name}: backlog stored`,
        value: rate,
        unit: '/s',
        digits: 0,
        reach: null,
        note: `${Math.round(backlog)} events behind when the runner was back, ${((drained - from) / 1000).toFixed(1)} s; more of them came meanwhile`,
      },
      lagFigure(`${name}: another job's output behind, worst`, lags),
    ]
  } finally {
    await stored.close()
    await product.close()
    await network.close()
  }
}

/** Seconds that the emitter took for what it was to do in one. */
function paceOf({ seconds }: { readonly seconds: number }, planned: number): number {
  return seconds / planned
}
