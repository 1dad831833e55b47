// Writes the page of the versions of ansible from what scripts/ansible-versions has found: a folder with `<suite>.version` and
// the tests in `<suite>.json` for each.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

const [folder, page] = process.argv.slice(2)
const PLACES = { own: "the machine's own", trixie: 'Debian 13 (trixie)', sid: 'newest in Debian (sid)' }

const versions = Object.keys(PLACES)
  .filter((suite) => readdirSync(folder).includes(`${suite}.json`))
  .map((suite) => {
    const said = readFileSync(join(folder, `${suite}.version`), 'utf8')
    const { testResults } = JSON.parse(readFileSync(join(folder, `${suite}.json`), 'utf8'))
    const files = testResults.map(({ name, assertionResults }) => {
      const count = (status) => assertionResults.filter((test) => test.status === status).length
      return [relative(process.cwd(), name).replace(/\.test\.ts$/, ''), count('passed'), count('failed')]
    })
    return {
      place: PLACES[suite],
      ansible: /\[core ([^\]]+)\]/.exec(said)?.[1] ?? '?',
      python: /python version = (\S+)/.exec(said)?.[1] ?? '?',
      files: new Map(files.map(([name, passed, failed]) => [name, { passed, failed }])),
    }
  })

const row = (cells) => `| ${cells.join(' | ')} |`
const names = [...new Set(versions.flatMap(({ files }) => [...files.keys()]))].sort()
const cell = (found) => {
  if (found === undefined) return 'not run'
  return found.failed === 0 ? `${found.passed} passed` : `${found.passed} passed, **${found.failed} failed**`
}
const table = [
  row(['', ...versions.map(({ place }) => place)]),
  row(['', ...versions].map(() => '---')),
  row(['ansible-core', ...versions.map(({ ansible }) => ansible)]),
  row(['Python', ...versions.map(({ python }) => python)]),
  ...names.map((name) => row([`\`${name}\``, ...versions.map(({ files }) => cell(files.get(name)))])),
]
writeFileSync(
  page,
  `# Versions of ansible

This page was written by \`./scripts/ansible-versions\`. It runs the tests whose results depend on ansible against each
version that can be had. Do not change it by hand.

${table.join('\n')}

The first column is what \`ansible-playbook\` is on the machine that ran the script. The others come from Debian's archive
with the Python of their suite and all that they need, unpacked into a folder (\`scripts/lib/debian-ansible.sh\`). Nothing
of the system is changed.
\`./scripts/test --ansible <path>\` runs all of them with another ansible, such as one in a virtualenv.
`,
)
