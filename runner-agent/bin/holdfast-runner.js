#!/usr/bin/env -S node --max-semi-space-size=1 --v8-pool-size=1 --optimize-for-size
// These switches keep the idle agent's resident memory down; its load is copying bytes, not making objects.
import { existsSync, readFileSync } from 'node:fs'

// Before anything else is read: what the agent is made of cannot even be loaded by an older Node.js.
const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const needed = engines.node.replace('>=', '')
if (process.versions.node.localeCompare(needed, 'en', { numeric: true }) < 0) {
  console.error(`holdfast-runner: Node.js ${needed} or later is needed, this is ${process.versions.node}.`)
  process.exit(2)
}

// The bundle starts in half of the time; it is run only while it is of the build that is there (scripts/lib/bundle.mjs).
const start = new URL('../bundle/start.js', import.meta.url)
const isBundled = existsSync(start) && (await import(start.href)).mayRun()
const { main } = await import(isBundled ? '../bundle/cli.js' : '../dist/cli.js')

await main()
