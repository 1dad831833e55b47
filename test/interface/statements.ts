import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

/** A test whose text says which rules it shows. A table of cases is one. */
export interface Statement {
  /** Path below test/. */
  readonly file: string
  /** Titles of its groups and its own. */
  readonly name: string
  readonly covers: readonly string[]
}

/** Every statement `covers(…)` below a folder of tests, read from the texts without running them, by file. */
export function statementsOf(folder: string): Statement[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts') && !name.startsWith('dist/'))
    .sort()
  return files.flatMap((file) => {
    const text = readFileSync(join(folder, file), 'utf8')
    return text.includes('interface/covers.js') || text.includes('./covers.js') ? statementsIn(file, text) : []
  })
}

/** The statements of one file. @throws Error for one that cannot be read without running it */
export function statementsIn(file: string, text: string): Statement[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const found: Statement[] = []
  const constants = new Map<string, ts.Expression>()
  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && node.initializer) constants.set(node.name.getText(source), node.initializer)
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression) && node.expression.text === 'covers') {
      found.push({ file, name: titlesAround(node).join(' > '), covers: node.arguments.map(textOf) })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found

  function textOf(argument: ts.Expression): string {
    if (ts.isStringLiteral(argument)) return argument.text
    throw new Error(`${file}: covers() takes ids as they are, and not ${argument.getText(source)}`)
  }

  /** A title may be a constant of the file: seeds are drawn by it, too. */
  function titleIn(title: ts.Expression): string {
    if (ts.isStringLiteralLike(title)) return title.text
    const declared = constants.get(title.getText(source))
    return declared && ts.isStringLiteralLike(declared) ? declared.text : title.getText(source)
  }

  /** Outermost first; the last is the test's own. */
  function titlesAround(node: ts.Node): string[] {
    const titles: string[] = []
    for (let around = node.parent; around; around = around.parent) {
      if (!ts.isCallExpression(around)) continue
      const [title] = around.arguments
      const name = rootName(around.expression)
      if (title && ['test', 'it', 'describe'].includes(name)) {
        titles.unshift(titleIn(title))
      }
    }
    if (titles.length === 0) throw new Error(`${file}: covers() stands in no test`)
    return titles
  }
}

/** `test` of `test.each(rows)`. */
function rootName(callee: ts.Expression): string {
  if (ts.isIdentifier(callee)) return callee.text
  if (ts.isPropertyAccessExpression(callee) || ts.isCallExpression(callee)) return rootName(callee.expression)
  return ''
}
