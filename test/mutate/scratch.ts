import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import ts from 'typescript'
import { type Mutation, mutated } from './mutation.js'

/** A copy of the repository in which mutations are made: the tree of whoever asks is never changed. */
export interface Scratch {
  readonly root: string
  /** Makes one mutation, in the source and in what is built of it. @returns what takes it back */
  apply(mutation: Mutation): () => void
  close(): void
}

const LEFT_OUT = new Set(['node_modules', '.git', 'bundle', 'bundle.new', '.venv'])

/** @param root of a clone that is built */
export function createScratch(root: string): Scratch {
  const copy = mkdtempSync(join(tmpdir(), 'holdfast-mutate-'))
  // Users of jobs read the agent's files in it: else no test of isolation passes here.
  chmodSync(copy, 0o755)
  cpSync(root, copy, {
    recursive: true,
    preserveTimestamps: true,
    filter: (path) => path === root || !LEFT_OUT.has(basename(path)),
  })
  linkPackages(root, copy)
  sayBuilt(copy)
  return {
    root: copy,
    apply(mutation) {
      const source = join(copy, mutation.path)
      const before = readFileSync(source, 'utf8')
      const after = mutated(before, mutation)
      const built = mutation.path.endsWith('.ts') ? builtFrom(copy, mutation.path) : null
      const builtBefore = built !== null && existsSync(built) ? readFileSync(built) : null
      const put = (text: string, javascript: string | Buffer): void => {
        writeFileSync(source, text)
        if (source.endsWith('.py')) setOwnTime(source)
        if (built !== null && builtBefore !== null) writeFileSync(built, javascript)
        removeBundles(copy)
        sayBuilt(copy)
      }
      put(after, javascriptOf(after))
      return () => {
        put(before, builtBefore ?? '')
      }
    },
    close: () => {
      rmSync(copy, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
    },
  }
}

let lastTime = Math.floor(Date.now() / 1000)

/**
 * Python knows by the second and the length of a source whether its compiled copy is still of it. Two texts of one length
 * may follow in one second: so each text gets a second of its own.
 */
function setOwnTime(source: string): void {
  lastTime += 1
  utimesSync(source, lastTime, lastTime)
}

/** Packages of others are shared, our own are those of the copy. */
function linkPackages(root: string, copy: string): void {
  mkdirSync(join(copy, 'node_modules/@holdfast'), { recursive: true })
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (name !== '@holdfast' && !name.startsWith('.vite')) {
      symlinkSync(join(root, 'node_modules', name), join(copy, 'node_modules', name))
    }
  }
  for (const [name, folder] of [
    ['client', 'control-plane/client'],
    ['host', 'protocol/host'],
    ...['control-plane', 'protocol', 'runner-agent', 'test'].map((room) => [room, room] as const),
  ] as const) {
    symlinkSync(join(copy, folder), join(copy, 'node_modules/@holdfast', name))
  }
}

/** The one changed file is built here: a run of tests would else compile the whole program first. */
function sayBuilt(copy: string): void {
  const soon = new Date(Date.now() + 1000)
  for (const program of ['protocol', 'protocol/host', 'control-plane/client', 'control-plane', 'runner-agent']) {
    const note = join(copy, program, 'dist/.tsbuildinfo')
    if (existsSync(note)) utimesSync(note, soon, soon)
  }
}

/** A run of tests makes bundles of what was built then. The programs would run those, and not the next mutation. */
function removeBundles(copy: string): void {
  for (const program of ['control-plane', 'runner-agent']) {
    rmSync(join(copy, program, 'bundle'), { recursive: true, force: true })
  }
}

function builtFrom(copy: string, path: string): string {
  return join(copy, path.replace('/src/', '/dist/').replace(/\.ts$/, '.js'))
}

function javascriptOf(source: string): string {
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
    },
  })
  return outputText
}
