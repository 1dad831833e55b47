import { readServiceTime } from '../../control-plane/src/store/service/service-clock.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { waitFor } from '../support/wait.js'

/** Less than counts of the time between two looks. */
const STEP_MS = 1900

/**
 * Lets time pass for a control plane that looks: a little after each look, until something is so. A jump of its steady
 * clock would be a time in which nobody looked, and that counts for nothing.
 * @param pass moves that clock
 */
export async function passLooks(
  store: Store,
  pass: (ms: number) => void,
  isOver: () => Promise<boolean>,
): Promise<void> {
  let turn = -1
  await waitFor('enough time to have passed', async () => {
    const now = await readServiceTime(store.read)
    if (now.turn !== turn) pass(STEP_MS)
    turn = now.turn
    return isOver()
  })
}
