import { describe, expect, test } from 'vitest'
import { isMissing, isPassingFileError } from '../../../control-plane/src/runners/files/file-stamp.js'

const failed = (code: string) => Object.assign(new Error('it failed'), { code })

describe('a failure to read a file', () => {
  test.each(['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM', 'EIO', 'ESTALE', 'ETIMEDOUT'])(
    'with %s is about this moment: it is tried again',
    (code) => {
      expect([isPassingFileError(failed(code)), isMissing(failed(code))]).toEqual([true, false])
    },
  )

  test.each(['EACCES', 'EPERM', 'EISDIR', 'ELOOP'])('with %s stays so until a person changes the file', (code) => {
    expect([isPassingFileError(failed(code)), isMissing(failed(code))]).toEqual([false, false])
  })

  test.each(['ENOENT', 'ENOTDIR'])('with %s says that there is no such file', (code) => {
    expect([isPassingFileError(failed(code)), isMissing(failed(code))]).toEqual([false, true])
  })

  test.each([new Error('a fault'), { code: 'EIO' }, { code: 'ENOENT' }, null])('is none of these: %j', (error) => {
    expect([isPassingFileError(error), isMissing(error)]).toEqual([false, false])
  })
})
