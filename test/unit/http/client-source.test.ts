import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { generatedFiles } from '../../../control-plane/client/generate/files.js'

test('the client and its document agree with the routes (npm run client)', async () => {
  for (const [path, text] of Object.entries(await generatedFiles())) {
    // Compared before it is asserted: the difference of two long files would be made line by line.
    expect(`${path} is up to date: ${(await readFile(path, 'utf8')) === text}`).toBe(`${path} is up to date: true`)
  }
})
