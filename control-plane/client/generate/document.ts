import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { startControlPlane } from '../../src/main.js'
import { readSettings } from '../../src/settings.js'

/** The OpenAPI document of this control plane, as it serves it: asked from one that runs on an empty folder. */
export async function interfaceDocument(): Promise<Record<string, unknown>> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-document-'))
  const environment = { PERSISTENT_PATH: folder, PORT: '0', ADMIN_PASSWORD: 'not used by anybody' }
  const settings = readSettings({ environment, flags: {}, readFile: () => '' }, false)
  try {
    const controlPlane = await startControlPlane(settings, { log: pino({ level: 'silent' }) })
    try {
      const answer = await fetch(`${controlPlane.address}/api/v2/docs/json`)
      if (!answer.ok) throw new Error(`The document cannot be made: ${answer.status} ${await answer.text()}`)
      return (await answer.json()) as Record<string, unknown>
    } finally {
      await controlPlane.close()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
