import type { ColumnType, Generated } from 'kysely'
import type { Fixed } from './fixed.js'

/** The stored lengths of a job's streams. These numbers are acknowledged. */
export interface JobStreamTable {
  job_id: Fixed<number>
  /** Bytes of the runner's output stream. */
  output_length: number
  /** Bytes of everything that is shown as output: the runner's output and the service's own lines. */
  shown_length: number
  /** Bytes of the runner's event stream, and the number of its events. */
  events_length: number
  events_count: number
  /**
   * Whether the runner sent more than is stored: 0 no; 1 yes; 2 yes, before the stream was sent again from its start.
   */
  output_full: Generated<number>
  events_full: Generated<number>
  /**
   * Goes up when the shown output starts again. Then the bytes that a reader has of an earlier generation do not belong
   * to it.
   */
  generation: Generated<number>
  /** Line ends of everything that is shown; null: not counted, because the output was copied. */
  shown_lines: ColumnType<number | null, number | null | undefined, number | null>
  /**
   * The comparison of the end record with the stored streams; null: the job has not ended, or they were not compared.
   */
  integrity: ColumnType<'verified' | 'incomplete' | null, null | undefined, 'verified' | 'incomplete' | null>
  /** The digests that were equal, as hexadecimal SHA-256, and when they were compared. */
  output_sha256: ColumnType<string | null, null | undefined, string | null>
  events_sha256: ColumnType<string | null, null | undefined, string | null>
  verified_at: ColumnType<number | null, null | undefined, number | null>
}

/** Line ends of the shown output by blocks of 64 KiB. A block without any has no row. */
export interface JobOutputBlockTable {
  job_id: Fixed<number>
  /** 0 is the block of the first byte. */
  block: Fixed<number>
  lines: number
}

/** Marks in the output of a runner. They are a part of its stream, but not of the shown output. */
export interface JobOutputMarkTable {
  job_id: Fixed<number>
  /** Bytes of the runner's stream before the mark, including earlier marks. */
  at: Fixed<number>
  /** The event whose output ends here. */
  event: Fixed<number>
  /** Shown bytes before the mark. */
  shown: Fixed<number>
  /** Line ends of the shown output before the mark; null: not known. */
  line: Fixed<number | null>
  /** The mark as it came. */
  mark: Fixed<Buffer>
}

/** Output in the order in which it is shown. `position` counts the shown bytes before this piece. */
export interface JobOutputTable {
  job_id: Fixed<number>
  position: Fixed<number>
  /** `runner`: a piece of the runner's stream; `service`: a line of the service. */
  origin: Fixed<'runner' | 'service'>
  data: Fixed<Buffer>
}

/** The structured events of jobs. */
export interface JobEventTable {
  job_id: Fixed<number>
  /** The event's `order`: 1, 2, 3 … */
  position: Fixed<number>
  type: Fixed<string>
  play: Fixed<string | null>
  task: Fixed<string | null>
  host: Fixed<string | null>
  /** Seconds. */
  duration: Fixed<number | null>
  time: Fixed<string>
  /** The line as the runner wrote it, with its newline. The event stream is built again from these lines. */
  line: Fixed<Buffer>
}
