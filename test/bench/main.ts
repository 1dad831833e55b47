import { execFileSync } from 'node:child_process'
import { cpus, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { startProduct } from '../support/product.js'
import { FORMS, PLAYBOOKS, bareFolder } from './fixtures.js'
import { measureIngest, measureMemory } from './ingest.js'
import { measureAnsibleRunner, measureBurst, measureLatency, measureOverhead } from './playbooks.js'
import { type Figure, tableOf } from './report.js'

const HELP = `scripts/bench: measures the product next to bare ansible-playbook, in one run, as ratios

  --runs N      runs of each comparison, at least 1 (default 5)
  --only LIST   parts, separated by commas: memory, ingest, latency, burst, overhead (default all)
  --json        the figures as JSON instead of a table
  --help

Takes about six minutes. Nothing else should use the machine meanwhile. Exit code 0 when everything could be measured,
whatever the figures are.`

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '5' },
    only: { type: 'string', default: 'memory,ingest,latency,burst,overhead' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

if (values.help) {
  console.log(HELP)
} else {
  const runs = Math.max(1, Number.parseInt(values.runs, 10) || 1)
  const parts = new Set(values.only.split(','))
  const figures: Figure[] = []
  const say = (line: string) => console.error(line)
  const bare = bareFolder()
  const product = await startProduct({
    forms: {
      ...FORMS,
      'synthetic.yml':
        'name: synthetic\ntype: ansible\nroles: [default]\nplaybook: hello.yml\nrunner: emitter\nfields: []\n',
    },
    playbooks: PLAYBOOKS,
  })
  try {
    const ansible = execFileSync('ansible-playbook', ['--version'], { encoding: 'utf8' }).split('\n', 1)[0]
    say(`Node ${process.version}, ${ansible ?? ''}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB`)
    const measure = async (part: string, run: () => Promise<Figure[]>) => {
      if (!parts.has(part)) return
      say(`${part} …`)
      figures.push(...(await run()))
    }
    await measure('memory', () => measureMemory(product, 1000, say))
    await measure('latency', () => measureLatency(product, bare.path, Math.max(runs, 11), say))
    await measure('burst', () => measureBurst(product, 100, say))
    await measure('overhead', () => measureOverhead(product, bare.path, runs, say))
    await measure('overhead', () => measureAnsibleRunner(bare.path, runs, say))
    await measure('ingest', () => measureIngest(product, runs, 200_000, say))
    console.log(values.json ? JSON.stringify(figures, null, 2) : `\n${tableOf(figures)}`)
  } finally {
    await product.close()
    bare.remove()
  }
}
