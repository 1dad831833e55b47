import { RefusedError } from '@holdfast/client'
import { noteOver, session } from './session.js'

/**
 * Asks the control plane for somebody who is signed in. If it answers that nobody is, a sign-in lies over the page. After
 * it the same is asked again: what was refused in this way was not done.
 * @param signal nobody needs the answer any more
 */
export async function whenSignedIn<Value>(ask: () => Promise<Value>, signal?: AbortSignal): Promise<Value> {
  for (;;) {
    const began = session.value
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof RefusedError) || error.status !== 401 || signal?.aborted) throw error
      // Another request may have led to a sign-in meanwhile.
      if (session.value === began) noteOver()
      await someoneSignedIn()
      if (signal?.aborted) throw error
    }
  }
}

/** Waits until somebody is signed in. If it is another person than before, the page is loaded again, and this is forgotten. */
function someoneSignedIn(): Promise<void> {
  return new Promise((resolve) => {
    const stop = session.subscribe(({ state }) => {
      if (state !== 'in') return
      resolve()
      // The first call comes before there is something to stop.
      queueMicrotask(() => stop())
    })
  })
}
