import { expect, test } from 'vitest'
import { countFailedWrites, MAX_FAILED_WRITES } from '../../../runner-agent/src/jobs/failed-writes.js'

const error = (code: string): Error => Object.assign(new Error(`${code}: said the disk`), { code })

/** What is known after so many failed writes of this kind. */
function afterFailures(code: string, isAborted: boolean, count = MAX_FAILED_WRITES): string | null {
  const writes = countFailedWrites()
  for (let failures = 0; failures < count; failures += 1) writes.failed(error(code), isAborted)
  return writes.unwritable
}

test('a folder counts as unwritable when its disk has refused many writes in a row', () => {
  for (const code of ['ENOSPC', 'EDQUOT', 'EROFS', 'EPERM']) {
    expect(afterFailures(code, false)).toBe(`${code}: said the disk`)
    expect(afterFailures(code, false, MAX_FAILED_WRITES - 1)).toBeNull()
  }
})

test('an error that passes keeps a job waiting, unless a person wants its end', () => {
  for (const code of ['EMFILE', 'ENOMEM', 'EIO']) {
    expect(afterFailures(code, false, 10 * MAX_FAILED_WRITES)).toBeNull()
    expect(afterFailures(code, true)).toBe(`${code}: said the disk`)
  }
})

test('an error that tells nothing of the disk never counts', () => {
  expect(afterFailures('EINVAL', true, 10 * MAX_FAILED_WRITES)).toBeNull()
})

test('one write that went well ends the count', () => {
  const writes = countFailedWrites()
  for (let failures = 0; failures < MAX_FAILED_WRITES; failures += 1) writes.failed(error('ENOSPC'), false)
  writes.succeeded()
  expect(writes.unwritable).toBeNull()
  writes.failed(error('ENOSPC'), false)
  expect(writes.unwritable).toBeNull()
})
