import type { EndRecord, StreamName } from '@holdfast/protocol'

/** Limits of what is stored of one job. */
export interface StreamLimits {
  /** Bytes of output. */
  readonly outputBytes: number
  /** Bytes of events. */
  readonly eventsBytes: number
  /** Number of events. Each is a row, however short its line is. */
  readonly events: number
}

/** Which streams are full: the runner sent more of them than is stored, and nothing more is accepted. */
export type FullStreams = Readonly<Record<StreamName, boolean>>

/** No stream is full. */
export const NONE_FULL: FullStreams = { output: false, events: false }

/** Both streams are full. */
export const ALL_FULL: FullStreams = { output: true, events: true }

/**
 * Bytes for the agent's own lines in the output (`[holdfast] …`), in addition to those of the playbook. A correct
 * runner never has so many of them.
 */
const NOTICES_BYTES = 64 * 1024

/** The limits that follow from the settings. */
export function streamLimits(settings: StreamLimits): StreamLimits {
  return { ...settings, outputBytes: settings.outputBytes + NOTICES_BYTES }
}

const SETTINGS: Readonly<Record<StreamName, string>> = {
  output: 'PROCESS_MAX_BUFFER_MB',
  events: 'JOB_EVENTS_MAX_MB, JOB_EVENTS_MAX',
}

/** The line that readers of the output see when a stream is full. */
export function fullLine(stream: StreamName): string {
  return `[WARNING]: the runner sends more ${stream} than is kept (${SETTINGS[stream]}); the rest is missing here, the playbook goes on`
}

/** The text about full streams in the end of a job. */
export function fullWords(
  record: EndRecord,
  stored: Readonly<Record<StreamName, number>>,
  full: FullStreams,
): string[] {
  return (['output', 'events'] as const)
    .filter((stream) => isCut(record, stored, full, stream))
    .map(
      (stream) =>
        `the runner sent more ${stream} than is kept: the first ${stored[stream]} of ${record[stream].length} bytes are stored`,
    )
}

/** Whether the end record names more of a full stream than is stored. Then lengths and hashes cannot be compared. */
export function isCut(
  record: EndRecord,
  stored: Readonly<Record<StreamName, number>>,
  full: FullStreams,
  stream: StreamName,
): boolean {
  return full[stream] && record[stream].length > stored[stream]
}
