import { type Profile, RefusedError } from '@holdfast/client'
import { signal } from '@preact/signals'
import { api } from './api.js'
import { onOver, startListening } from './live.js'

/** Who is signed in in this browser. */
export type Session =
  | { readonly state: 'unknown' }
  | { readonly state: 'out' }
  | { readonly state: 'in'; readonly user: Profile }
  /** Somebody was signed in, and the session has ended. The page stays under a dialog. */
  | { readonly state: 'over'; readonly user: Profile }
  /** The control plane does not answer, so nobody knows. */
  | { readonly state: 'unreachable'; readonly error: Error }

/** The session of this browser, as far as this tab knows. */
export const session = signal<Session>({ state: 'unknown' })

/** Whether the person who is signed in may see the pages for `who`; undefined: everybody. */
export function isFor(who: 'admin' | undefined): boolean {
  const { value } = session
  return who === undefined || ('user' in value && value.user.roles.includes(who))
}

/** The page that people begin with. Who sees only jobs of their own begins with what they can launch. */
export function firstPage(): 'jobs' | 'forms' {
  const { value } = session
  const options = 'user' in value ? value.user.options : {}
  return isFor('admin') || options['showAllJobLogs'] === true || options['manageAllJobs'] === true ? 'jobs' : 'forms'
}

/**
 * Asks who is signed in. If it is another person than before, the page is loaded again, because it shows what the other
 * person may see.
 */
export async function readSession(): Promise<void> {
  try {
    const user = await api.getProfile()
    const before = session.value
    if (before.state === 'over' && before.user.id !== user.id) return location.reload()
    session.value = { state: 'in', user }
    startListening()
  } catch (error) {
    if (error instanceof RefusedError && error.status === 401) return noteOver()
    if (session.value.state === 'unknown' || session.value.state === 'unreachable') {
      session.value = { state: 'unreachable', error: error as Error }
    }
  }
}

/** The control plane said that nobody is signed in. */
export function noteOver(): void {
  const before = session.value
  if (before.state === 'in') session.value = { state: 'over', user: before.user }
  else if (before.state !== 'over') session.value = { state: 'out' }
}

onOver(noteOver)
