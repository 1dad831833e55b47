import { escapeControlsInJson } from '@holdfast/protocol'
import { printable } from '../show/printable.js'
import { writeLine, type Terminal } from '../terminal.js'
import { createAnsiStripper } from './ansi-strip.js'
import type { FollowingSink } from './terminal-sink.js'

/** Makes a sink for programs. It writes one JSON object a line to stdout, and notices to stderr. */
export function createJsonSink(terminal: Terminal, color: boolean): FollowingSink {
  const stripper = color ? null : createAnsiStripper()
  const decoder = new TextDecoder()
  const line = (value: unknown): Promise<void> => {
    const json = JSON.stringify(value)
    return writeLine(terminal.stdout, terminal.stdout.isTerminal ? escapeControlsInJson(json) : json)
  }
  return {
    status: (job) =>
      line({
        type: 'status',
        id: job.id,
        status: job.status,
        // Says who may approve the job, or who has done so.
        ...(job.approval === null ? {} : { approval: job.approval }),
      }),
    async output(bytes, offset) {
      const text = stripper ? stripper.push(bytes) : decoder.decode(bytes, { stream: true })
      if (text) await line({ type: 'output', offset, text })
    },
    connectionLost: (error) =>
      writeLine(terminal.stderr, `Connection lost, trying again every 3 s: ${printable(error.message)}`),
    connectionBack: () => writeLine(terminal.stderr, 'Connected again.'),
    async end(job) {
      const text = stripper ? stripper.end() : decoder.decode()
      if (text) await line({ type: 'output', offset: null, text })
      await line({ type: 'end', job })
    },
  }
}
