import { NOT_BUILT, reasonsOfNotBuilt } from './not-built.js'
import { RULE_BOOK, type Sections, allRules } from './rule-book.js'
import type { Statement } from './statements.js'

/** Where the document lies, from the root of the repository. */
export const DOCUMENT_PATH = 'docs/interface-coverage.md'

const HEAD = `# What the interface promises, and the tests that show it

Every rule of the interface with the tests that show it. This file is written by \`npm run interface-coverage\` from the
tests themselves: the first statement of such a test names the rules that it shows (\`test/interface\`). The suite fails
when a rule is shown by no test that ran and passed, when a test names a rule that there is not, when a rule that is listed
as not built is shown after all, and when this file is not what the tests say.`

/** The text of the document. What is not built is counted and named, so that nothing hides between the rows. */
export function documentOf(tests: readonly Statement[]): string {
  const reasons = reasonsOfNotBuilt()
  const rules = allRules()
  const counts = `${rules.size - reasons.size} of ${rules.size} rules are shown.`
  const open = Object.entries(NOT_BUILT).map(([reason, ids]) => `- Not built yet: ${reason} (${ids.length})`)
  const parts = RULE_BOOK.map((part) =>
    [`## ${part.title}`, part.about, ...sectionsOf(part.sections, reasons, tests)].join('\n\n'),
  )
  return `${[HEAD, [counts, ...open].join('\n'), ...parts].join('\n\n')}\n`
}

function sectionsOf(sections: Sections, reasons: ReadonlyMap<string, string>, tests: readonly Statement[]): string[] {
  return Object.entries(sections).map(([title, rules]) => {
    const rows = Object.entries(rules).map(([id, sentence]) => {
      const reason = reasons.get(id)
      const shownBy = reason === undefined ? shownIn(id, tests) : `**not built yet**: ${cell(reason)}`
      return `| ${cell(sentence)} | \`${id}\` | ${shownBy} |`
    })
    return [`### ${title}`, ['| Rule | Id | Shown by |', '|---|---|---|', ...rows].join('\n')].join('\n\n')
  })
}

/** The tests of a rule by file. */
function shownIn(id: string, tests: readonly Statement[]): string {
  const byFile = new Map<string, string[]>()
  for (const { file, name } of tests.filter(({ covers }) => covers.includes(id))) {
    byFile.set(file, [...(byFile.get(file) ?? []), cell(name)])
  }
  return [...byFile].map(([file, names]) => `${file}: ${names.join('; ')}`).join('<br>')
}

function cell(text: string): string {
  return text.replace(/[\\`*_{}[\]<>|]/g, (sign) => `\\${sign}`)
}
