import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { ROOT } from '../../support/product.js'

/** More keys than it takes to see the fault in a process that collects its garbage at every hundredth allocation. */
const KEYS = 10_000

const PROGRAM = `
  import { createEphemeralKey, createIdentityKeys, publicKeyOf, sealSecrets } from '@holdfast/protocol'
  const key = publicKeyOf(createIdentityKeys().sealingPrivatePem)
  const binding = { jobId: 1, runId: 'ab'.repeat(16), fingerprint: 'SHA256:abc' }
  for (let made = 0; made < ${KEYS}; made += 1) createEphemeralKey()
  for (let made = 0; made < ${KEYS}; made += 1) sealSecrets('{}', key, binding)
`

test('a process that makes very many keys does not hang: no lock of a key is held while garbage is collected', async () => {
  const child = spawn(process.execPath, ['--gc-interval=101', '--input-type=module', '-e', PROGRAM], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  try {
    const [code] = (await once(child, 'exit')) as [number | null]
    expect(code).toBe(0)
  } finally {
    child.kill('SIGKILL')
  }
})
