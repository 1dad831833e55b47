/** What the metrics count of the streams of jobs. */
export interface StreamMeters {
  /** A piece is committed: bytes of both streams and whole events. */
  stored(piece: { readonly output: number; readonly events: number; readonly eventsCount: number }): void
  /** An acknowledgement was sent, so long after the oldest piece that it covers had come in. */
  acknowledged(seconds: number): void
}
