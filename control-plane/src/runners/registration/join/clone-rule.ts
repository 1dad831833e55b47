import type { HelloPayload } from '@holdfast/protocol'
import type { Runner } from '../../../store/runners/runners.js'

/** Short enough for a close frame. */
export const CLONE_TEXT =
  'another process continues this identity: two hosts use copies of one state folder, or an old copy was restored'

/**
 * Whether the sender of a hello continues the identity of a runner. An agent counts its generation up at every start
 * and stores it durably. So:
 *
 * - A higher generation is a newer start. It continues the identity, unless the older process still runs. The
 *   connection of the older process is asked about that before this rule.
 * - The same generation of the same process is a reconnect.
 * - The same generation of another process, or a lower generation, comes from a copy of the state folder.
 *
 * An admin may accept such a copy. From then on its generation and process are the known ones. The process that it
 * replaces is refused, however high its generation is.
 */
export function continuesIdentity(
  known: Pick<Runner, 'generation' | 'instance' | 'replacedInstance'>,
  hello: Pick<HelloPayload, 'generation' | 'instance'>,
): boolean {
  if (hello.instance === known.replacedInstance) return false
  if (hello.generation !== known.generation) return hello.generation > known.generation
  return hello.instance === known.instance
}
