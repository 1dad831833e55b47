/** A mark that the event callback writes into the output after each event: `ESC _`, digits of its own, `ESC \`. */
const MARK = /\x1b_[\x80-\xbf]{9,15}\x1b\\/g

/** The output of a runner as people see it: without the marks of events. */
export function shownOutput(written: Buffer): Buffer {
  return Buffer.from(written.toString('latin1').replaceAll(MARK, ''), 'latin1')
}
