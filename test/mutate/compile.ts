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
      if (leavesPromise(readFileSync(join(root, mutation.path), 'utf8'), mutation)) return 'no-floating-promises'
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

/** What is not awaited as a statement: the linter refuses it. */
export function leavesPromise(text: string, { kind, start }: Pick<Mutation, 'kind' | 'start'>): boolean {
  if (kind !== 'dropped await') return false
  const source = ts.createSourceFile('any.ts', text, ts.ScriptTarget.ES2023, true)
  const isSo = (node: ts.Node): boolean =>
    (ts.isExpressionStatement(node) && ts.isAwaitExpression(node.expression) && node.getStart() === start) ||
    (ts.forEachChild(node, (child) => isSo(child) || undefined) ?? false)
  return isSo(source)
}
