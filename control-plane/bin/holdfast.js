#!/usr/bin/env node
import { existsSync, readFileSync } from 'node:fs'

// Before anything else is read: what the product is made of cannot even be loaded by an older Node.js.
const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const needed = engines.node.replace('>=', '')
if (process.versions.node.localeCompare(needed, 'en', { numeric: true }) < 0) {
  console.error(`holdfast: Node.js ${needed} or later is needed, this is ${process.versions.node}.`)
  process.exit(2)
}

// The bundle starts in half of the time; it is run only while it is of the build that is there (scripts/lib/bundle.mjs).
const start = new URL('../bundle/start.js', import.meta.url)
const isBundled = existsSync(start) && (await import(start.href)).mayRun()
const { main } = await import(isBundled ? '../bundle/main.js' : '../dist/cli/main.js')

await main()
