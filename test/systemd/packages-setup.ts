import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the folder with the run's packages is asked for. */
    readonly packagesKeeper: string
  }
}

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../..')

/** One build of the packages for a whole run: made when the first test asks for it, removed with the run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // In the clone, which is what the machines see of this one.
  const cache = join(ROOT, 'node_modules/.cache')
  let output: string | null = null
  const build = async (): Promise<string> => {
    mkdirSync(cache, { recursive: true })
    output = mkdtempSync(join(cache, 'holdfast-packages-'))
    if (process.env.SYSTEMD_PACKAGES === undefined) {
      await promisify(execFile)('node', ['scripts/lib/package/main.js', '--output', output], { cwd: ROOT })
    } else cpSync(process.env.SYSTEMD_PACKAGES, output, { recursive: true })
    return output
  }
  let built: Promise<string> | null = null
  const keeper = createServer((_request, response) => {
    built ??= build()
    built.then(
      (folder) => response.end(folder),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  await new Promise<void>((resolve) => keeper.listen(0, '127.0.0.1', resolve))
  project.provide('packagesKeeper', `http://127.0.0.1:${(keeper.address() as AddressInfo).port}`)
  return async () => {
    keeper.closeAllConnections()
    keeper.close()
    await built?.catch(() => null)
    if (output !== null) rmSync(output, { recursive: true, force: true })
  }
}
