import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import ts from 'typescript'
import { type Mutation, mutated } from './mutation.js'

/** Whether compiler and linter take a mutation: one that they refuse never gets as far as a test. */
export interface Compiler {
  refusal(mutation: Mutation): string | null
}

/** The programs of the repository, each read when a mutation of it is asked about first. */
export function createCompiler(root: string): Compiler {
  const services = new Map<string, ts.LanguageService>()
  const changed = new Map<string, { readonly text: string; readonly version: number }>()
  let version = 0

  function serviceOf(program: string): ts.LanguageService {
    const config = join(root, program, 'tsconfig.json')
    const read = ts.getParsedCommandLineOfConfigFile(
      config,
      { noEmit: false, declaration: true, composite: false, incremental: false },
      {
        ...ts.sys,
        onUnRecoverableConfigFileDiagnostic: ({ messageText }) => {
          throw new Error(ts.flattenDiagnosticMessageText(messageText, '\n'))
        },
      },
    )
    if (!read) throw new Error(`${config} cannot be read`)
    return ts.createLanguageService({
      getCompilationSettings: () => read.options,
      getScriptFileNames: () => read.fileNames,
      getScriptVersion: (file) => String(changed.get(file)?.version ?? 0),
      getScriptSnapshot(file) {
        const text = changed.get(file)?.text ?? ts.sys.readFile(file)
        return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
      },
      getCurrentDirectory: () => dirname(config),
      getDefaultLibFileName: (options) => ts.getDefaultLibFilePath(options),
      fileExists: (file) => ts.sys.fileExists(file),
      readFile: (file) => ts.sys.readFile(file),
    })
  }

  return {
    refusal(mutation) {
      if (!mutation.path.endsWith('.ts')) return null
      const refused = lintRefusal(readFileSync(join(root, mutation.path), 'utf8'), mutation)
      if (refused !== null) return refused
      const [program = ''] = mutation.path.split('/')
      const service = services.get(program) ?? serviceOf(program)
      services.set(program, service)
      const file = join(root, mutation.path)
      const before = typesOf(service, file)
      version += 1
      changed.set(file, { text: mutated(readFileSync(file, 'utf8'), mutation), version })
      const own = [...service.getSyntacticDiagnostics(file), ...service.getSemanticDiagnostics(file)]
      // What others see of the file may have changed: then they may be refused in its place.
      const isSeen = own.length === 0 && typesOf(service, file) !== before
      const [first] = isSeen ? refusalElsewhere(service) : own
      version += 1
      changed.set(file, { text: readFileSync(file, 'utf8'), version })
      return first ? ts.flattenDiagnosticMessageText(first.messageText, '\n') : null
    },
  }
}

/** The diagnostics of the first file of the program that has some. */
function refusalElsewhere(service: ts.LanguageService): readonly ts.Diagnostic[] {
  for (const file of service.getProgram()?.getRootFileNames() ?? []) {
    const found = service.getSemanticDiagnostics(file)
    if (found.length > 0) return found
  }
  return []
}

/** What other files see of a file. */
function typesOf(service: ts.LanguageService, file: string): string {
  return service
    .getEmitOutput(file, true, true)
    .outputFiles.map(({ text }) => text)
    .join('')
}

/**
 * The rule of the linter (.oxlintrc.json) that refuses a change without the program's types: it does not take a promise
 * that nobody waits for, nor one that leaves a `try` whose `catch` or `finally` is for its error.
 */
export function lintRefusal(text: string, { kind, start }: Pick<Mutation, 'kind' | 'start'>): string | null {
  if (kind !== 'dropped await') return null
  const source = ts.createSourceFile('any.ts', text, ts.ScriptTarget.ES2023, true)
  const find = (node: ts.Node): ts.AwaitExpression | undefined =>
    ts.isAwaitExpression(node) && node.getStart() === start ? node : ts.forEachChild(node, find)
  const waits = find(source)
  if (waits === undefined) return null
  if (ts.isExpressionStatement(waits.parent)) return 'no-floating-promises'
  return isReturned(waits) && isInTry(waits) ? 'return-await' : null
}

/** Whether a `return` gives this value itself, perhaps as one of several. */
function isReturned(node: ts.Node): boolean {
  const { parent } = node
  if (ts.isReturnStatement(parent)) return true
  const isPassedOn =
    ts.isParenthesizedExpression(parent) ||
    (ts.isConditionalExpression(parent) && parent.condition !== node) ||
    (ts.isBinaryExpression(parent) && parent.right === node)
  return isPassedOn && isReturned(parent)
}

/** Whether an error of this value would be caught, or something else happens before it is thrown. */
function isInTry(node: ts.Node): boolean {
  const { parent } = node
  if (ts.isFunctionLike(parent) || ts.isSourceFile(parent)) return false
  if (ts.isTryStatement(parent) && parent.tryBlock === node) return true
  if (ts.isCatchClause(parent) && parent.parent.finallyBlock !== undefined) return true
  return isInTry(parent)
}
