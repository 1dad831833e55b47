import { expect, test } from 'vitest'
import { createLog } from '../../control-plane/src/ground/log.js'

test('the log hides what signs a request in, and its lines are text or JSON', () => {
  const lines: string[] = []
  const headers = { authorization: 'Bearer secret', cookie: 'secret', accept: 'a' }
  for (const format of ['json', 'text'] as const) {
    const log = createLog({ level: 'info', format, output: { write: (line: string) => void lines.push(line) } })
    log.info({ headers, request: { headers } }, 'hello\u001b[31m')
    log.debug('not said')
  }
  expect(lines).toHaveLength(2)
  expect(lines.join('')).not.toContain('secret')
  expect(lines.join('')).not.toContain('\u001b')
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'info', headers: { accept: 'a' } })
  expect(lines[1]).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z INFO {2}hello/)
})
