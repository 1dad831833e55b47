import type { Clock } from '../time/clock.js'
import { atMostEvery } from '../time/at-most-every.js'
import { NotFoundError, messageOf } from '../errors.js'
import { freshLook } from '../time/fresh-look.js'
import { type LoadedForms, collectForms } from './collect-forms.js'
import type { Forms } from './form.js'
import { type FoundFiles, areUnchanged, findYamlFiles } from './form-files.js'
import { type ParsedFile, parseFormFile } from './parse-form.js'
import { createParsedFiles } from './parsed-files.js'
import { reachedSubforms } from './subforms.js'
import type { PlainObject } from './values/plain.js'
import { createVarsFiles, mergeDeep, varsProblems } from './vars-files.js'

/** How often all files are looked at while somebody asks for single forms, in milliseconds. */
const LOOK_EVERY_MS = 1000

/** What the forms need of other parts. */
export interface FormsDependencies {
  readonly folder: string
  /** VARS_FILES_PATH. */
  readonly varsFolder: string
  /** `constants` of the configuration, as it is now. */
  readonly constants: () => Promise<PlainObject>
  readonly clock: Clock
  readonly log: { info(fields: object, text: string): void; warn(fields: object, text: string): void }
}

/** Makes the forms below a folder, as its files are when somebody asks. Unchanged files are not read again. */
export function createForms(deps: FormsDependencies): Forms {
  const parsed = createParsedFiles(deps.clock, parseFormFile, unreadable)
  let loaded: LoadedForms = { forms: [], byName: new Map(), subforms: new Map(), errors: [] }
  let collected = collectForms([], [])
  /** The files from which `collected` was made. */
  let last: { readonly contents: ReadonlyMap<string, ParsedFile>; readonly folderErrors: string } = {
    contents: new Map(),
    folderErrors: '[]',
  }
  let found: { readonly at: number } & Pick<FoundFiles, 'files' | 'folders'> = { at: 0, files: [], folders: [] }
  const varsFiles = createVarsFiles(deps.varsFolder, deps.clock)
  let reported = ''

  const look = freshLook(async () => {
    const at = deps.clock.now()
    const files = await findYamlFiles(deps.folder, { noun: 'form' })
    const { errors } = files
    const contents = await parsed.read(files.files)
    const folderErrors = JSON.stringify(errors)
    if (contents !== last.contents || folderErrors !== last.folderErrors) {
      collected = collectForms([...contents.values()], errors)
      last = { contents, folderErrors }
    }
    loaded = { ...collected, errors: [...collected.errors, ...(await varsProblems(collected.placed, varsFiles))] }
    found = { at, ...files }
    logWhenNew()
  })
  const lookOften = atMostEvery(LOOK_EVERY_MS, deps.clock, look)

  /**
   * What counts for one form: the files of the form and its subforms, and the folders, in which files come and go. With a thousand
   * forms this takes a hundredth of the time of a look at all.
   */
  async function lookFor(name: string): Promise<void> {
    await lookOften()
    const { at, files, folders } = found
    const form = loaded.byName.get(name)
    const names = form ? [name, ...Object.keys(reachedSubforms(form, loaded.subforms))] : []
    const used = new Set(collected.placed.filter((one) => names.includes(one.form.name)).map(({ file }) => file))
    const isSame =
      form !== undefined && (await areUnchanged([...folders, ...files.filter((file) => used.has(file.name))], at))
    if (!isSame) await look()
  }

  /** Logs mistakes only when they are new. */
  function logWhenNew(): void {
    const summary = JSON.stringify(loaded.errors)
    if (summary === reported) return
    reported = summary
    for (const error of loaded.errors) deps.log.warn(error, 'a form was left out, or something of it')
    if (loaded.errors.length === 0) deps.log.info({ forms: loaded.forms.length }, 'all forms are good')
  }

  return {
    async all() {
      await look()
      return loaded.forms
    },
    async find(name) {
      await lookFor(name)
      const form = loaded.byName.get(name)
      if (!form) throw new NotFoundError('form_not_found', `There is no form named ${JSON.stringify(name)}`)
      return form
    },
    async errors() {
      await look()
      return loaded.errors
    },
    async contextOf(form) {
      await lookFor(form.name)
      const subforms = reachedSubforms(form, loaded.subforms)
      const contents = await Promise.all(form.varsFiles.map((path) => varsFiles.read(path)))
      const dictionaries = contents.map((content) => ('value' in content ? content.value : {}))
      return { subforms, constants: [await deps.constants(), ...dictionaries].reduce(mergeDeep, {}) }
    },
  }
}

function unreadable(file: string, error: unknown): ParsedFile {
  return { forms: [], errors: [{ file, line: null, form: null, reason: messageOf(error) }] }
}
