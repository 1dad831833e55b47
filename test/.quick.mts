// one persistent copy, no build: sources are loaded by vitest itself
import { createCopy } from '/work/wt-d/test/regressions/copy.ts'
import { runTest } from '/work/wt-d/test/regressions/run-test.ts'
import { spawnSync } from 'node:child_process'
import { utimesSync, appendFileSync } from 'node:fs'
import { join } from 'node:path'
const log = (t) => appendFileSync('/tmp/hdw/quick.log', t + '\n')
const copy = createCopy('/work/wt-d')
try {
  for (const arg of process.argv.slice(2)) {
    const [name, ...files] = arg.split(',')
    if (name !== '-') { const r = copy.apply('/work/wt-d/test/regressions/' + name + '.patch'); if (r) { log(name + ' DOES NOT APPLY ' + r); continue } }
    const soon = new Date(Date.now() + 5000)
    for (const w of ['protocol','protocol/host','control-plane/client','control-plane/web','control-plane','runner-agent']) utimesSync(join(copy.root, w, 'dist/.tsbuildinfo'), soon, soon)
    for (const f of files) {
      const b = Date.now()
      const v = await runTest(copy, f)
      log(`${name}: ${v.kind} ${f} ${Math.round((Date.now()-b)/1000)}s ${(v.said ?? '').slice(0, 200)}`)
    }
    if (name !== '-') spawnSync('git', ['checkout', '-q', '--', '.'], { cwd: copy.root })
  }
} finally { copy.remove() }
log('DONE')
