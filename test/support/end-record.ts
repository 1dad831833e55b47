import { createHash } from 'node:crypto'
import type { EndRecord } from '@holdfast/protocol'

/** What a runner says of a playbook that ended well, printed this and had no events. */
export function endedWell(runId: string, output: string | Buffer): EndRecord {
  const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex')
  return {
    run_id: runId,
    cause: 'exited',
    exit_code: 0,
    signal: null,
    message: null,
    aborted: false,
    started_at: '2026-01-01T00:00:00.000Z',
    ended_at: '2026-01-01T00:00:01.000Z',
    output: { length: Buffer.byteLength(output), sha256: sha256(output), dropped_bytes: 0 },
    events: { length: 0, sha256: sha256(''), dropped: 0, errors: 0, plugin_seen: true },
  }
}
