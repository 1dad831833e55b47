import type { VaultNeeds } from '../credentials/job/vault-needs.js'
import type { Field, WizardStep } from './fields/field.js'
import type { PlainObject } from './values/plain.js'

/** Who must agree before the job runs. */
export interface Approval {
  readonly title: string | null
  readonly message: string | null
  readonly roles: readonly string[]
  /** E-mail addresses. */
  readonly notifications: readonly string[]
  /** The user who launched the job may approve it. */
  readonly allowSelf: boolean
}

/** What happens to a launch while the group of the form is full. */
export const CONCURRENCY_ON = ['queue', 'refuse'] as const

/** How many jobs of a group may run at once. Forms with the same group share its places. */
export interface Concurrency {
  readonly group: string
  readonly limit: number
  readonly on: (typeof CONCURRENCY_ON)[number]
}

/** How strictly the values of a launch are checked. Each one is stricter than the one before. */
export const LAUNCH_VALIDATIONS = ['off', 'log', 'enforce'] as const
/** One of {@link LAUNCH_VALIDATIONS}. */
export type LaunchValidation = (typeof LAUNCH_VALIDATIONS)[number]

/** What the service does with values of a launch that belong to no field. */
export const UNKNOWN_FIELDS = ['refuse', 'warn', 'ignore'] as const
/** One of {@link UNKNOWN_FIELDS}. */
export type UnknownFields = (typeof UNKNOWN_FIELDS)[number]

/** Who gets notifications about the jobs of a form, and about which events. */
export interface FormNotifications {
  /** Mail addresses. */
  readonly recipients: readonly string[]
  /** Names of targets of webhooks. */
  readonly channels: readonly string[]
  readonly onStatus: readonly string[]
  readonly onEvent: readonly string[]
}

/** The properties of a form that a launch needs. Properties for pages are in `source`, and are passed on unchanged. */
export interface FormBase {
  readonly name: string
  readonly roles: readonly string[]
  readonly description: string | null
  readonly categories: readonly string[]
  readonly runner: string | null
  readonly abortable: boolean
  readonly allowRelaunch: boolean
  /** How long a job may run, in milliseconds; null: for ever. */
  readonly timeoutMs: number | null
  readonly concurrency: Concurrency | null
  /** Who gets notifications about its jobs; null: nobody. */
  readonly notifications: FormNotifications | null
  readonly fields: readonly Field[]
  readonly wizard: readonly WizardStep[]
  /** The mode that the form asks for. If the setting is stricter, the setting counts. Null: the setting decides. */
  readonly launchValidation: LaunchValidation | null
  /** Keys of the launching user that the playbook gets; null: all. */
  readonly userExtravars: readonly string[] | null
  /** Paths of YAML files with constants, below VARS_FILES_PATH. */
  readonly varsFiles: readonly string[]
  readonly approval: Approval | null
  /** Names of credentials by the key under which the playbook gets them. */
  readonly credentials: Readonly<Record<string, string>>
  readonly ansibleCredentials: string | null
  readonly vaultCredentials: VaultNeeds | null
  /** Keys under which values of its password fields can appear, also those of its subforms. They are masked. */
  readonly passwordFields: readonly string[]
  /** The complete form as its file has it. */
  readonly source: Readonly<Record<string, unknown>>
}

/** How a playbook is run, according to a form or a step. */
export interface PlaybookSettings {
  readonly playbook: string
  readonly playbookSubPath: string | null
  readonly inventory: readonly string[]
  /**
   * Texts that the form lists as choices or defaults of a field for the inventory. They come from the author of the
   * form, whoever chooses one.
   */
  readonly listedInventories?: readonly string[]
  readonly tags: string | null
  /** Only nodes of workflows have these two. */
  readonly skipTags?: string | null
  readonly verbosity?: number
  readonly limit: string | null
  readonly check: boolean
  readonly diff: boolean
  readonly verbose: boolean
  readonly keepExtravars: boolean
  readonly allowJinjaInExtravars: boolean
  /** Image of the container in which the playbook runs; null or absent: the runner decides. */
  readonly executionImage?: string | null
  /** Files and folders of the playbook folder that the job needs; null: the form does not say. */
  readonly playbookFiles: readonly string[] | null
}

/** Everything that a job with one playbook asks for. */
export interface JobSettings
  extends PlaybookSettings, Pick<FormBase, 'runner' | 'credentials' | 'ansibleCredentials' | 'vaultCredentials'> {}

/** A form that runs one playbook. */
export interface AnsibleForm extends FormBase, PlaybookSettings {
  readonly type: 'ansible'
}

/** A step of a multistep form. */
export interface Step {
  readonly name: string
  readonly type: string
  /**
   * Includes the properties that the form has for all its steps; null for a step of a type that needs another system.
   */
  readonly settings: JobSettings | null
  /** The extra variable that contains the variables of this step; null: the step gets all variables. */
  readonly key: string | null
  /** The step runs only when this extra variable is true. */
  readonly ifExtraVar: string | null
  /** The steps after it run, even if it failed. */
  readonly continue: boolean
  /** It runs, even if a step before it failed. */
  readonly always: boolean
  readonly approval: Approval | null
  /** Who gets notifications about the end of its job; null: nobody. */
  readonly notifications: FormNotifications | null
}

/** A form that runs several playbooks one after the other. */
export interface MultistepForm extends FormBase {
  readonly type: 'multistep'
  readonly steps: readonly Step[]
}

/** A form that runs a workflow. Its properties of playbooks count for all nodes. */
export interface WorkflowForm
  extends FormBase, Pick<PlaybookSettings, 'verbose' | 'keepExtravars' | 'allowJinjaInExtravars' | 'playbookFiles'> {
  readonly type: 'workflow'
  /** Path of a workflow file, a file name, or the name of a workflow. */
  readonly workflow: string
}

/** A form of a type that loads but cannot be launched (yet). */
export interface OtherForm extends FormBase {
  readonly type: 'subform' | 'awx' | 'aap' | 'ascender' | 'semaphore' | 'rundeck' | 'jenkins'
}

/** A form that was read without a mistake. */
export type Form = AnsibleForm | MultistepForm | WorkflowForm | OtherForm

/** Why a form file, or a form in it, was left out. */
export interface FormError {
  readonly file: string
  readonly line: number | null
  readonly form: string | null
  readonly reason: string
}

/** The forms as the files have them now. */
export interface Forms {
  all(): Promise<readonly Form[]>
  /** @throws NotFoundError */
  find(name: string): Promise<Form>
  errors(): Promise<readonly FormError[]>
  /** Names of the functions of the installation that forms may call below `fnc.`. */
  functions(): Promise<readonly string[]>
  /** Finds the parts of a form that are in other files. */
  contextOf(form: Form): Promise<FormContext>
}

/** The parts of a form that are in other files: its subforms and its constants. */
export interface FormContext {
  /** The subforms that it uses directly or through others, with their fields. */
  readonly subforms: Readonly<Record<string, readonly Field[]>>
  /** The content of its `varsFiles`, over the constants of the configuration. */
  readonly constants: PlainObject
  /** The file with the functions of the installation. Not there when the form calls none. */
  readonly functions?: string
}
