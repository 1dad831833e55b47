/** Where a refused clone was. */
export interface CloneSighting {
  readonly host: string
  readonly ip: string
}

/**
 * Remembers for each runner where the last refused clone called from. When it was is in the runner's row; the place is
 * only kept here, since a clone that still runs calls again.
 */
export interface CloneSightings {
  note(runnerId: number, sighting: CloneSighting): void
  find(runnerId: number): CloneSighting | null
  forget(runnerId: number): void
}

export function createCloneSightings(): CloneSightings {
  const sightings = new Map<number, CloneSighting>()
  return {
    note: (runnerId, sighting) => void sightings.set(runnerId, sighting),
    find: (runnerId) => sightings.get(runnerId) ?? null,
    forget: (runnerId) => void sightings.delete(runnerId),
  }
}
