import { setTimeout as pause } from 'node:timers/promises'
import { type MeasuredPage, type Smoothness, watch } from './web-page.js'

const SECONDS = 5
/** One notch of a wheel, in pixels, and how long a hand takes for it, in milliseconds. */
const NOTCH = 120
const NOTCH_MS = 50

/**
 * Turns the wheel over an output for some seconds, as people do who look for something, and looks at the frames.
 * @param wheel turns it once, over the output
 */
export async function scroll(page: MeasuredPage, wheel: (pixels: number) => Promise<void>): Promise<Smoothness> {
  let isOver = false
  async function turn(): Promise<void> {
    for (let notch = 0; !isOver; notch += 1) {
      // Up for a while, and then down again.
      await wheel(notch % 40 < 20 ? -NOTCH : NOTCH)
      await pause(NOTCH_MS)
    }
  }
  const turning = turn()
  try {
    return await watch(page, SECONDS)
  } finally {
    isOver = true
    await turning
  }
}
