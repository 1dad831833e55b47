import { setFlagsFromString } from 'node:v8'

/** By how many percent what is in use may grow before garbage is collected; 0: as V8 decides, up to several times. */
const SMALL_PERCENT = 40
const USUAL_PERCENT = 0

/** How many pieces of work want it; the flag is one of the whole process, so this is, too. */
let holders = 0

/**
 * Has this process collect its garbage sooner, its threads included, as long as something is worked on that makes megabytes of it
 * at a time: the largest requests would leave it with 100 MB of garbage. It costs a third more processor time where very much is
 * taken in from runners, so it is not always so.
 * @returns ends it; a second call does nothing
 */
export function keepHeapSmall(): () => void {
  let isOver = false
  holders += 1
  if (holders === 1) setGrowth(SMALL_PERCENT)
  return () => {
    if (isOver) return
    isOver = true
    holders -= 1
    if (holders === 0) setGrowth(USUAL_PERCENT)
  }
}

/** By a flag and not by an option of node, so that it holds however the service is started. */
function setGrowth(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`)
}
