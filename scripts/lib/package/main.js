// Builds every package: the frame of it. Each package has a module of its own that says what lies where.
import { createHash } from 'node:crypto'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { buildClient } from './client.js'
import { buildControlPlane } from './control-plane.js'
import { nodeRuntime } from './node-runtime.js'
import { buildRunner } from './runner.js'
import { writeParts } from './parts.js'

/** @returns {{ output: string, revision: string }} */
function readArguments() {
  try {
    const options = { output: { type: 'string', default: 'packages' }, revision: { type: 'string', default: '1' } }
    const { values } = parseArgs({ options, strict: true })
    if (!/^[0-9][0-9A-Za-z.+~]*$/.test(values.revision)) throw new Error('--revision must begin with a digit')
    return { output: resolve(values.output), revision: values.revision }
  } catch (error) {
    console.error(`package: ${error.message}. See scripts/package --help.`)
    process.exit(2)
  }
}

/** How images for containers are made of the packages. */
const RECIPES = 'docs/containers'

const { output, revision } = readArguments()
const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const folder = mkdtempSync(join(tmpdir(), 'holdfast-package-'))
try {
  mkdirSync(output, { recursive: true })
  for (const name of readdirSync(output)) {
    if (/^holdfast.*\.(deb|tgz|cdx\.json)$|^SHA256SUMS$/.test(name)) rmSync(join(output, name))
  }
  const runtime = nodeRuntime()
  const given = { folder, output, runtime, version, revision }
  for (const [name, build] of Object.entries({
    holdfast: buildControlPlane,
    'holdfast-runner': buildRunner,
    'holdfast-client': buildClient,
  })) {
    console.log(`package: ${name}`)
    await build(given)
  }
  writeParts(output, runtime)
  for (const name of readdirSync(RECIPES)) copyFileSync(join(RECIPES, name), join(output, name))
  const sums = readdirSync(output)
    .sort()
    .map(
      (name) =>
        `${createHash('sha256')
          .update(readFileSync(join(output, name)))
          .digest('hex')}  ${name}\n`,
    )
  writeFileSync(join(output, 'SHA256SUMS'), sums.join(''))
  console.log(`package: ${sums.length} files in ${output}`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
