import type { HelloPayload } from '@holdfast/protocol'
import type { Runner } from '../../store/runners/runners.js'

/** Short enough for a close frame. */
export const CLONE_TEXT =
  'another process continues this identity: two hosts use copies of one state folder, or an old copy was restored'

/**
 * True when the sender of a hello is the one that continues a runner's identity. The agent counts its generation up,
 * durably, at every start, so:
 *   - a higher generation is a newer start: it continues, unless the process before it still runs (which is asked of
 *     its connection, before this rule);
 *   - the same generation by the same process is a reconnect;
 *   - the same generation by another process, or a lower one, comes from a copy of the state folder.
 * An admin may accept such a copy: its generation and process are the known ones from then on, and the process that it
 * replaces is refused, however high it has counted.
 */
export function continuesIdentity(
  known: Pick<Runner, 'generation' | 'instance' | 'replacedInstance'>,
  hello: Pick<HelloPayload, 'generation' | 'instance'>,
): boolean {
  if (hello.instance === known.replacedInstance) return false
  if (hello.generation !== known.generation) return hello.generation > known.generation
  return hello.instance === known.instance
}
