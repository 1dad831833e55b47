/** The events of streams that the metrics count. */
export interface StreamMeters {
  /** A piece is committed: bytes of both streams and complete events. */
  stored(piece: { readonly output: number; readonly events: number; readonly eventsCount: number }): void
  /** An acknowledgement was sent, this long after the oldest of its pieces arrived. */
  acknowledged(seconds: number): void
}
