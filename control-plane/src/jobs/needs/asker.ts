import type { Caller } from '../../auth/sessions/caller.js'
import type { Asker } from '../../sources/question.js'
import { mayUseCredential } from './credential-needs.js'

/** The key of a person. People take turns, and all requests of one person share theirs. */
export function callerKeyOf({ type, username }: Pick<Caller, 'type' | 'username'>): string {
  return `${type}/${username}`
}

/** For whom the sources of a form are asked. */
export function askerOf(caller: Caller): Pick<Asker, 'mayUse' | 'caller'> {
  return { mayUse: mayUseCredential(caller), caller: callerKeyOf(caller) }
}
