#!/usr/bin/env node
import { existsSync } from 'node:fs'

// The bundle starts in half of the time; it is run only while it is of the build that is there (scripts/lib/bundle.mjs).
const start = new URL('../bundle/start.js', import.meta.url)
const isBundled = existsSync(start) && (await import(start.href)).mayRun()
const { main } = await import(isBundled ? '../bundle/main.js' : '../dist/cli/main.js')

await main()
