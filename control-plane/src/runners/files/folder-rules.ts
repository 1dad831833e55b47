import { posix } from 'node:path'
import { plainPlaybookPath } from '@holdfast/protocol'
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { YamlProblem, problemWith, readYaml } from '../../texts/yaml-text.js'
import { type HashedFile, openStamped } from './file-hashes.js'
import { FOLDER_RULES_FILE, type FolderRules } from './playbook-part.js'

/** Largest file of rules that is read, in bytes. */
const MAX_FILE_BYTES = 64 * 1024

const RulesFile = Type.Object(
  {
    forms: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { maxItems: 1000 })),
    needs: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { maxItems: 1000 })),
  },
  { additionalProperties: false },
)
const rulesFile = Compile(RulesFile)

/** Reads the rules of the folders in a playbook folder. A file is read again only when its content has changed. */
export function createFolderRulesReader() {
  let known = new Map<string, FolderRules>()

  return {
    /** @returns null when a file has changed since it was hashed. Then the folder has to be walked again */
    async read(root: string, files: readonly HashedFile[]): Promise<readonly FolderRules[] | null> {
      const fresh: typeof known = new Map()
      for (const file of files.filter(({ path }) => posix.basename(path) === FOLDER_RULES_FILE)) {
        const key = `${file.sha256} ${file.path}`
        const rules = known.get(key) ?? (await readFile(root, file))
        if (!rules) return null
        fresh.set(key, rules)
      }
      known = fresh
      return [...fresh.values()]
    },
  }
}

async function readFile(root: string, file: HashedFile): Promise<FolderRules | null> {
  const folder = folderOf(file.path)
  if (file.stamp.size > MAX_FILE_BYTES) return closed(folder, 'it is too large')
  const handle = await openStamped(posix.join(root, file.path), file.stamp)
  if (!handle) return null
  try {
    return rulesOf(folder, await handle.readFile('utf8'))
  } finally {
    await handle.close()
  }
}

/** The rules where a file of rules is no file that can be read. Nobody knows what they are, so no job gets the folder. */
export function unreadRules(paths: readonly { readonly path: string }[]): FolderRules[] {
  return paths
    .filter(({ path }) => posix.basename(path) === FOLDER_RULES_FILE)
    .map(({ path }) => closed(folderOf(path), 'it is no file that can be read'))
}

/** If the file cannot be used, no job gets its folder. Otherwise files could be sent that the rules should exclude. */
function rulesOf(folder: string, text: string): FolderRules {
  try {
    const yaml = readYaml(text)
    const value = yaml.value ?? {}
    const problem = problemWith(rulesFile, value)
    if (problem) throw new YamlProblem(yaml.lineOf(problem.path), problem.reason)
    const { forms, needs } = value as Static<typeof RulesFile>
    return { folder, forms: forms ?? null, needs: needs ? needs.map(playbookPath) : null, problem: null }
  } catch (error) {
    return closed(folder, error instanceof Error ? error.message : String(error))
  }
}

function folderOf(path: string): string {
  const parent = posix.dirname(path)
  return parent === '.' ? '' : parent
}

function closed(folder: string, problem: string): FolderRules {
  return { folder, forms: null, needs: null, problem }
}

function playbookPath(path: string): string {
  const plain = plainPlaybookPath(path)
  if (plain === null) throw new Error(`'${path}' is no path inside the playbook folder`)
  return plain
}
