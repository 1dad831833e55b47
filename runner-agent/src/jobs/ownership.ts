import { writeDurably } from '@holdfast/host/durable'
import type { JobFolder } from '../spool/job-folder.js'
import type { Trust } from '../identity/trust.js'

/**
 * Which control plane a job belongs to. That is the one that it was claimed from, or the one that took it over later because
 * an admin said so. When the runner is approved at another control plane, its jobs still wait for their own one.
 */
export type Ownership = ReturnType<typeof createOwnership>

/** @param trust knows the control plane at hand, and which keys belong to the same control plane */
export function createOwnership(trust: Pick<Trust, 'atHand' | 'owns'>) {
  /** Fingerprints by run id, for folders that could be read. They are kept, because each connection asks for them. */
  const known = new Map<string, string>()

  /** Null: it cannot be read now. */
  const serviceOf = (folder: JobFolder): string | null => {
    const before = known.get(folder.key.runId)
    if (before !== undefined) return before
    const owner = folder.owner()
    if (owner.kind === 'present') return note(folder, owner.content.service)
    if (owner.kind !== 'absent') return null
    const claim = folder.claim()
    if (claim.kind !== 'present') return null
    return note(folder, claim.content.service)
  }

  const note = (folder: JobFolder, service: string): string => {
    known.set(folder.key.runId, service)
    return service
  }

  return {
    /** Fingerprint of the control plane at hand, for the claim of a job. @throws Error before the first connection */
    atHand(): string {
      if (trust.atHand === null) throw new Error('no control plane has been met yet')
      return trust.atHand
    },
    /** Fingerprint of the control plane to which a job belongs; null: it is the connected one. */
    foreignService(folder: JobFolder): string | null {
      const service = serviceOf(folder)
      return service === null || trust.owns(service) ? null : service
    },
    /**
     * From now on the job belongs to the connected control plane.
     * @throws the system's error when that cannot be written
     */
    async takeOver(folder: JobFolder): Promise<void> {
      const { atHand } = trust
      if (atHand === null) return
      await writeDurably(folder.file('owner.json'), JSON.stringify({ service: atHand }))
      note(folder, atHand)
    },
    /** The job has left the spool. */
    forget: (folder: JobFolder): void => void known.delete(folder.key.runId),
  }
}
