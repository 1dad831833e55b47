import type { HelloPayload } from '@holdfast/protocol'
import type { Runner } from '../../../store/runners/runners.js'

/** Short enough for a close frame. */
export const CLONE_TEXT =
  'another process continues this identity: two hosts use copies of one state folder, or an old copy was restored'

/** The same for a copy that says so itself. */
export const COPY_TEXT =
  'this state folder is a copy and cannot know how the jobs end: start the original, or runner accept'

/**
 * Whether a hello comes from a copy of the state folder that nobody has accepted. Such an agent says so itself. It
 * would take the jobs of the original for lost, whatever its generation is. So it has to be accepted by an admin as
 * long as the runner may have jobs. A process that was let in once is not asked again.
 */
export function isUnacceptedCopy(
  known: Pick<Runner, 'state' | 'instance' | 'copyAcceptedBy'>,
  hello: Pick<HelloPayload, 'instance' | 'copied'>,
): boolean {
  // A request is decided by an admin anyway.
  if (hello.copied !== true || known.state !== 'approved') return false
  return hello.instance !== known.instance && known.copyAcceptedBy === null
}

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
