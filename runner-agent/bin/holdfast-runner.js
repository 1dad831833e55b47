#!/usr/bin/env -S node --max-semi-space-size=1 --v8-pool-size=1 --optimize-for-size
// These switches keep the idle agent's resident memory down; its load is copying bytes, not making objects.
import { existsSync } from 'node:fs'

// The bundle starts in half of the time; it is run only while it is of the build that is there (scripts/lib/bundle.mjs).
const start = new URL('../bundle/start.js', import.meta.url)
const isBundled = existsSync(start) && (await import(start.href)).mayRun()
await import(isBundled ? '../bundle/cli.js' : '../dist/cli.js')
