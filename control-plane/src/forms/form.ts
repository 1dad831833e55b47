/** What a form says that matters to a launch; GUI properties are kept in `source` and served as they are. */
export interface FormBase {
  readonly name: string
  readonly roles: readonly string[]
  readonly description: string | null
  readonly categories: readonly string[]
  readonly runner: string | null
  readonly abortable: boolean
  readonly allowRelaunch: boolean
  /** The whole form as it stands in its file. */
  readonly source: Readonly<Record<string, unknown>>
}

export interface AnsibleForm extends FormBase {
  readonly type: 'ansible'
  readonly playbook: string
  readonly playbookSubPath: string | null
  readonly inventory: readonly string[]
  readonly tags: string | null
  readonly limit: string | null
  readonly check: boolean
  readonly diff: boolean
  readonly verbose: boolean
  readonly allowJinjaInExtravars: boolean
  /** Names of the form's fields: a client may send a reserved key only if there is a field of that name. */
  readonly fieldNames: readonly string[]
  /** Names of its file fields, which launches give uploads for. */
  readonly fileFields: readonly string[]
  /** Names of its password fields, whose values are masked. */
  readonly passwordFields: readonly string[]
}

/** A form of a type that loads and cannot be launched (yet). */
export interface OtherForm extends FormBase {
  readonly type: 'multistep' | 'workflow' | 'subform' | 'awx' | 'aap' | 'ascender' | 'semaphore' | 'rundeck' | 'jenkins'
}

export type Form = AnsibleForm | OtherForm

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
}
