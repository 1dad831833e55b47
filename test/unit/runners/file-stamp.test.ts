import { expect, test } from 'vitest'
import { isMissing, isPassingFileError } from '../../../control-plane/src/runners/files/file-stamp.js'

test.each([
  ['EMFILE EIO ENOMEM ESTALE', 'is about this moment: it is tried again', true, false],
  ['EACCES EISDIR ELOOP', 'stays so until a person changes the file', false, false],
  ['ENOENT ENOTDIR', 'says that there is no such file', false, true],
])('a failure with %s %s', (codes, _, isPassing, isGone) => {
  for (const code of codes.split(' ')) {
    const error = Object.assign(new Error('it failed'), { code })
    expect([code, isPassingFileError(error), isMissing(error)]).toEqual([code, isPassing, isGone])
  }
})
