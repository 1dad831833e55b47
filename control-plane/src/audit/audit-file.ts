import { open } from 'node:fs/promises'
import type { AuditTarget } from './export.js'

const LINE_END = 0x0a

/**
 * A file with one line of JSON for each record. It is opened for each batch, so that a program such as logrotate may
 * move it at any moment. It is synchronised, so that what counts as sent survives a power cut.
 */
export function createAuditFile(path: string): AuditTarget {
  return {
    name: 'file',
    async send(lines) {
      const file = await open(path, 'a+', 0o600)
      try {
        const { size } = await file.stat()
        const last = Buffer.alloc(1)
        if (size > 0) await file.read(last, 0, 1, size - 1)
        // A full disk may have cut the last line. A line end closes it here, and its record is sent again completely.
        const torn = size > 0 && last[0] !== LINE_END ? '\n' : ''
        await file.appendFile(`${torn}${lines.join('\n')}\n`)
        await file.datasync()
      } finally {
        await file.close()
      }
    },
  }
}
