import type { EndRecord, StreamName } from '@holdfast/protocol'

/** What is kept of one job, at most. */
export interface StreamLimits {
  /** Bytes of output. */
  readonly outputBytes: number
  /** Bytes of events. */
  readonly eventsBytes: number
  /** Events: each is a row, however short its line is. */
  readonly events: number
}

/** Which streams are full: the runner sent more of them than is kept, and nothing more is taken. */
export type FullStreams = Readonly<Record<StreamName, boolean>>

export const NONE_FULL: FullStreams = { output: false, events: false }

export const ALL_FULL: FullStreams = { output: true, events: true }

/**
 * Lines of the runner's own in its output (`[holdfast] …`), which come beside what the playbook prints. An honest runner
 * never has so many of them.
 */
const NOTICES_BYTES = 64 * 1024

/** The limits as settings give them. */
export function streamLimits(settings: StreamLimits): StreamLimits {
  return { ...settings, outputBytes: settings.outputBytes + NOTICES_BYTES }
}

const SETTINGS: Readonly<Record<StreamName, string>> = {
  output: 'PROCESS_MAX_BUFFER_MB',
  events: 'JOB_EVENTS_MAX_MB, JOB_EVENTS_MAX',
}

/** What readers of the output are told when a stream is full. */
export function fullLine(stream: StreamName): string {
  return `[WARNING]: the runner sends more ${stream} than is kept (${SETTINGS[stream]}); the rest is missing here, the playbook goes on`
}

/** What the end says of streams that were full. */
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

/** Whether the end speaks of more of a full stream than is stored: then lengths and hashes cannot be compared. */
export function isCut(
  record: EndRecord,
  stored: Readonly<Record<StreamName, number>>,
  full: FullStreams,
  stream: StreamName,
): boolean {
  return full[stream] && record[stream].length > stored[stream]
}
