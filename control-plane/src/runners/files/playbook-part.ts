import { posix } from 'node:path'
import { InvalidInputError } from '../../errors.js'

/** Name of the file that says which forms get a folder of playbooks, and what its playbooks need. */
export const FOLDER_RULES_FILE = '.holdfast.yml'

/** What a job says about the files that it needs. Paths start at the playbook folder. */
export interface JobFileNeeds {
  readonly form: string
  readonly playbook: string
  /** The folder in which ansible runs; '' for the playbook folder itself. */
  readonly workingFolder: string
  /** Inventories that are files or folders. */
  readonly inventories: readonly string[]
  /** `playbookFiles` of the form: files and folders; null when the form does not say. */
  readonly files: readonly string[] | null
}

/** The rules in the `.holdfast.yml` of a folder. */
export interface FolderRules {
  /** '' for the playbook folder itself. */
  readonly folder: string
  /** Names of the forms whose jobs get this folder; null: all. */
  readonly forms: readonly string[] | null
  /**
   * The files that jobs with a playbook in this folder need in addition to the folder; null: the file of rules does not
   * say.
   */
  readonly needs: readonly string[] | null
  /** Why the file of rules cannot be used. Then no job gets the folder. */
  readonly problem: string | null
}

/** Which part of the playbook folder a job gets. */
export interface JobPart {
  /** Whether a path is in the part. */
  readonly has: (path: string) => boolean
  /** The paths that the job itself names. It cannot run without them. */
  readonly named: readonly string[]
}

/**
 * Decides which paths of the playbook folder a job gets. Without rules and without `playbookFiles` it gets all.
 * @throws InvalidInputError when the job's own playbook is in a folder that the job does not get
 */
export function partForJob(rules: readonly FolderRules[], needs: JobFileNeeds | null): JobPart {
  const closed = rules.filter((rule) => rule.problem !== null || !isFor(rule, needs))
  const around = needs && closed.find((rule) => isBelow(needs.playbook, rule.folder))
  if (needs && around) throw refusalOf(around, needs.form)
  const wanted = needs && (needs.files ?? needsOfFolder(rules, needs.playbook))
  const own = needs ? [needs.playbook, ...needs.inventories] : []
  const always = needs ? [...own, posix.join(needs.workingFolder, 'ansible.cfg')] : []
  return {
    has: (path) =>
      posix.basename(path) !== FOLDER_RULES_FILE &&
      !closed.some((rule) => isBelow(path, rule.folder)) &&
      (wanted === null || [...wanted, ...always].some((one) => isBelow(path, one))),
    named: [...own, ...(wanted ?? [])],
  }
}

/** A caller without a job, such as a check of the whole folder, has no form. */
function isFor({ forms }: FolderRules, needs: JobFileNeeds | null): boolean {
  return forms === null || (needs !== null && forms.includes(needs.form))
}

/** The needs that the nearest folder around a playbook names, with that folder itself; null: everything. */
function needsOfFolder(rules: readonly FolderRules[], playbook: string): readonly string[] | null {
  const nearestFirst = rules
    .filter((rule) => rule.needs !== null && isBelow(playbook, rule.folder))
    .sort((one, other) => other.folder.length - one.folder.length)
  const [nearest] = nearestFirst
  return nearest?.needs ? [nearest.folder, ...nearest.needs] : null
}

/** Whether a path is the given file or folder, or lies in it. Everything lies in ''. */
function isBelow(path: string, folder: string): boolean {
  return folder === '' || path === folder || path.startsWith(`${folder}/`)
}

function refusalOf({ folder, problem }: FolderRules, form: string): InvalidInputError {
  const file = posix.join(folder, FOLDER_RULES_FILE)
  return new InvalidInputError(
    'playbook_files',
    problem === null
      ? `The playbook is in a folder that is not for the form '${form}': see ${file} in the playbook folder`
      : `The playbook is in a folder that nobody gets, because ${file} cannot be used: ${problem}`,
  )
}
