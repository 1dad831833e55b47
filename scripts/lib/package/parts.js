// What the packages are made of: licences for their readers, and lists for programs that look for known faults.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The workspaces that each package is made of. */
const WORKSPACES = {
  holdfast: 'control-plane',
  'holdfast-runner': 'runner-agent',
  'holdfast-client': 'control-plane',
}

/** Writes the list of parts of each package, from npm's own tree (CycloneDX). */
export function writeParts(output, runtime) {
  for (const [name, workspace] of Object.entries(WORKSPACES)) {
    const words = ['sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev', '--workspace', workspace]
    const { status, stdout, stderr } = spawnSync('npm', words, { encoding: 'utf8', maxBuffer: 64 << 20 })
    if (status !== 0) throw new Error(`npm sbom failed: ${stderr}`)
    const list = JSON.parse(stdout)
    if (name !== 'holdfast-client') {
      list.components.push({
        type: 'application',
        name: 'node',
        version: runtime.version,
        purl: `pkg:generic/node@${runtime.version}`,
      })
    }
    writeFileSync(join(output, `${name}.cdx.json`), `${JSON.stringify(list, null, 2)}\n`)
  }
}

/**
 * The licences of everything that a workspace needs when it runs, with its own first.
 * @param {string} workspace
 */
export function licencesOf(workspace) {
  const words = ['ls', '--all', '--parseable', '--omit', 'dev', '--workspace', workspace]
  const { stdout } = spawnSync('npm', words, { encoding: 'utf8', maxBuffer: 64 << 20 })
  const folders = [...new Set(stdout.split('\n'))].filter((folder) => folder.includes('/node_modules/'))
  const texts = folders.sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const file = existsSync(folder) && readdirSync(folder).find((each) => /^(licen[cs]e|copying)/i.test(each))
    const text = file ? readFileSync(join(folder, file), 'utf8').trim() : `Licence: ${license}`
    return `${'-'.repeat(80)}\n${name} ${version} (${license})\n\n${text}\n`
  })
  return [readFileSync('LICENSE', 'utf8'), ...texts].join('\n')
}
