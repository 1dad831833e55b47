#!/usr/bin/env -S node --max-semi-space-size=1 --v8-pool-size=1 --optimize-for-size
// These switches keep the idle agent's resident memory down; its load is copying bytes, not making objects.
import '../dist/cli.js'
