import { format, resolveConfig } from 'prettier'
import { NOT_BUILT } from './not-built.js'
import { RULE_BOOK, type Sections } from './rule-book.js'
import type { ShowingTest } from './verdict.js'

/** Where the document lies, from the root of the repository. */
export const DOCUMENT_PATH = 'docs/interface-coverage.md'

const HEAD = `# What the interface promises, and the tests that show it

Every rule of the interface with the tests that show it. This file is written by \`npm run interface-coverage\` from the
tests themselves, which name the rules that they show (\`test/interface\`). A run of the whole suite fails when a rule is
shown by no test that passed, when a test names a rule that there is not, when a rule that is listed as not built is shown
after all, and when this file is not what the tests say.
`

/** The rules as a set of ids. */
export function allRules(): Set<string> {
  return new Set(RULE_BOOK.flatMap((part) => Object.values(part.sections)).flatMap((rules) => Object.keys(rules)))
}

/** The rules that are not built, each with its reason. */
export function reasonsOfNotBuilt(): Map<string, string> {
  return new Map(Object.entries(NOT_BUILT).flatMap(([reason, ids]) => ids.map((id) => [id, reason] as const)))
}

/** The text of the document. What is not built is counted and named, so that nothing hides between the rows. */
export async function documentOf(tests: readonly ShowingTest[]): Promise<string> {
  const reasons = reasonsOfNotBuilt()
  const rules = allRules()
  const counts = `${rules.size - reasons.size} of ${rules.size} rules are shown; ${reasons.size} are not built yet:`
  const open = Object.entries(NOT_BUILT).map(([reason, ids]) => `- ${reason} (${ids.length})`)
  const parts = RULE_BOOK.map((part) =>
    [`## ${part.title}`, part.about, ...sectionsOf(part.sections, reasons, tests)].join('\n\n'),
  )
  const text = [HEAD, counts, open.join('\n'), ...parts].join('\n\n')
  return format(text, { ...(await resolveConfig(DOCUMENT_PATH)), parser: 'markdown' })
}

function sectionsOf(sections: Sections, reasons: ReadonlyMap<string, string>, tests: readonly ShowingTest[]): string[] {
  return Object.entries(sections).map(([title, rules]) => {
    const rows = Object.entries(rules).map(([id, sentence]) => {
      const reason = reasons.get(id)
      const shownBy = reason === undefined ? shownIn(id, tests) : `**not built yet**: ${cell(reason)}`
      return `| ${cell(sentence)} | \`${id}\` | ${shownBy} |`
    })
    return [`### ${title}`, ['| Rule | Id | Shown by |', '|---|---|---|', ...rows].join('\n')].join('\n\n')
  })
}

/** The tests of a rule by file; the rows of one table of cases are counted, not listed. */
function shownIn(id: string, tests: readonly ShowingTest[]): string {
  const byFile = new Map<string, Map<string, number>>()
  for (const test of tests.filter(({ covers }) => covers.includes(id))) {
    const names = byFile.get(test.file) ?? new Map<string, number>()
    const rows = names.get(test.family)
    names.set(test.family, (rows ?? 0) + 1)
    byFile.set(test.file, names)
  }
  return [...byFile]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([file, names]) => {
      const listed = [...names].map(([name, rows]) => (rows === 1 ? cell(name) : `${cell(name)} (${rows} cases)`))
      return `${file}: ${listed.join('; ')}`
    })
    .join('<br>')
}

function cell(text: string): string {
  return text.replace(/[\\`*_{}[\]<>|]/g, (sign) => `\\${sign}`)
}
