// Writes the page of the versions of ansible and Python from what scripts/ansible-versions has found: a folder with
// `<suite>.version` or `<Python>.python`, and the tests in the `.json` beside it. A table that was not run stays as it is.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

const [folder, page] = process.argv.slice(2)
const PLACES = { own: "the machine's own", trixie: 'Debian 13 (trixie)', sid: 'newest in Debian (sid)' }
const PYTHONS = ['3.8', '3.9', '3.10', '3.11', '3.12', '3.13', '3.14']
const BETWEEN = '\n## Pythons of the supervisor\n'

const found = readdirSync(folder)
const read = (name) => readFileSync(join(folder, name), 'utf8')

/** Passed and failed tests by file. */
function filesOf(name) {
  const { testResults } = JSON.parse(read(name))
  const files = testResults.map(({ name: path, assertionResults }) => {
    const count = (status) => assertionResults.filter((test) => test.status === status).length
    return [
      relative(process.cwd(), path).replace(/\.test\.ts$/, ''),
      { passed: count('passed'), failed: count('failed') },
    ]
  })
  return new Map(files)
}

const row = (cells) => `| ${cells.join(' | ')} |`
const cell = (result) => {
  if (result === undefined) return 'not run'
  return result.failed === 0 ? `${result.passed} passed` : `${result.passed} passed, **${result.failed} failed**`
}

/** Lines of heads by name, and a line for each file of tests below them. */
function tableOf(names, columns) {
  const files = [...new Set(columns.flatMap(({ results }) => [...results.keys()]))].sort()
  return [
    ...names.flatMap((name, index) => {
      const line = row([name, ...columns.map(({ heads }) => heads[index])])
      return index === 0 ? [line, row(['', ...columns].map(() => '---'))] : [line]
    }),
    ...files.map((file) => row([`\`${file}\``, ...columns.map(({ results }) => cell(results.get(file)))])),
  ].join('\n')
}

function ansiblePart() {
  const columns = Object.keys(PLACES)
    .filter((suite) => found.includes(`${suite}.version`) && found.includes(`${suite}.json`))
    .map((suite) => {
      const said = read(`${suite}.version`)
      const heads = [/\[core ([^\]]+)\]/, /python version = (\S+)/].map((pattern) => pattern.exec(said)?.[1] ?? '?')
      return { heads: [PLACES[suite], ...heads], results: filesOf(`${suite}.json`) }
    })
  return `# Versions of ansible

This page was written by \`./scripts/ansible-versions\`. It runs the tests whose results depend on ansible against each
version that can be had. Do not change it by hand.

${tableOf(['', 'ansible-core', 'Python'], columns)}

The first column is what \`ansible-playbook\` is on the machine that ran the script. The others come from Debian's archive
with the Python of their suite and all that they need, unpacked into a folder (\`scripts/lib/debian-ansible.sh\`). Nothing
of the system is changed.
\`./scripts/test --ansible <path>\` runs all of them with another ansible, such as one in a virtualenv. A share of them runs
with the newest ansible in each \`./scripts/test\`.
`
}

function pythonPart() {
  const columns = PYTHONS.filter((version) => found.includes(`${version}.json`)).map((version) => {
    return { heads: [read(`${version}.python`).trim()], results: filesOf(`${version}.json`) }
  })
  const missing = PYTHONS.filter((version) => !found.includes(`${version}.json`))
  const left = missing.length === 0 ? '' : ` The machine had no Python ${missing.join(', ')}.`
  return `
The program that starts a playbook and stays with it needs no ansible. It runs with Python 3.8 and later, which may be
another one than that of ansible (\`RTE_PYTHON\`). \`./scripts/ansible-versions pythons\` runs its tests with each of them that
is on the machine.${left} The table above shows those of newer suites of Debian.

${tableOf([''], columns)}
`
}

const [ansible = '', pythons = ''] = readFileSync(page, 'utf8').split(BETWEEN)
const hasAnsible = found.some((name) => name.endsWith('.version'))
const hasPythons = found.some((name) => name.endsWith('.python'))
writeFileSync(page, (hasAnsible ? ansiblePart() : ansible) + BETWEEN + (hasPythons ? pythonPart() : pythons))
