import { jobUploadSchema, plainUploadName, uploadNameSchema } from '@holdfast/protocol'
import fc from 'fast-check'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { withUploadPaths } from '../../../runner-agent/src/files/gather-uploads.js'
import { orderOf } from '../../agent/playbooks.js'

const HASH = 'a'.repeat(64)
const anyName = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.constantFrom('../..', '.', '..', '/'),
)

describe('the name of an uploaded file on a runner', () => {
  test('is a plain file name, whatever the name of the user’s file was', () => {
    fc.assert(
      fc.property(anyName, (original) => {
        const name = plainUploadName(original)
        expect(v.is(uploadNameSchema, name)).toBe(true)
        expect(plainUploadName(name)).toBe(name)
      }),
    )
  })

  test.each([
    ['site.pem', 'site.pem'],
    ['my report (2).tar.gz', 'my_report__2_.tar.gz'],
    ['../../etc/passwd', '_.._etc_passwd'],
    ['.bashrc', 'bashrc'],
    ['--help', 'help'],
    ['...', 'file'],
    [`${'x'.repeat(300)}.json`, expect.stringMatching(/^x+\.json$/) as string],
  ])('%j becomes %j', (original, name) => {
    expect(plainUploadName(original)).toEqual(name)
  })

  test.each(['../../escape', '/etc/cron.d/x', 'a/b', '..', '.', '', '.hidden', '-rf', 'a\0b', 'a b', 'x'.repeat(101)])(
    'an order with %j as a name is refused',
    (name) => {
      expect(v.is(jobUploadSchema, { name, placeholder: '/x', sha256: HASH, size: 1 })).toBe(false)
    },
  )
})

describe('the paths of uploads in extra variables', () => {
  const order = orderOf(HASH, {
    uploads: [
      { name: 'a.pem', placeholder: '/up/1', sha256: HASH, size: 1 },
      { name: 'b.pem', placeholder: '/up/2', sha256: HASH, size: 1 },
    ],
  })

  test('replace each text that is a complete placeholder, at any depth, and no other text', () => {
    const description = { originalname: 'a', destination: '/up', filename: '1', path: '/up/1', size: 1 }
    const place = { destination: '/job/uploads/1', filename: 'a.pem', path: '/job/uploads/1/a.pem' }
    expect(
      withUploadPaths(
        { cert: description, deep: { list: [{ file: description }, '/up/2', '/up/1/more', 7, null] }, '/up/1': true },
        order,
        '/job/uploads',
      ),
    ).toEqual({
      cert: { ...description, ...place },
      deep: { list: [{ file: { ...description, ...place } }, '/job/uploads/2/b.pem', '/up/1/more', 7, null] },
      '/up/1': true,
    })
  })
})
