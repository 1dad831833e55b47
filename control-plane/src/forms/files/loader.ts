import type { Clock } from '../../time/clock.js'
import { atMostEvery } from '../../time/at-most-every.js'
import { NotFoundError, messageOf } from '../../errors.js'
import { freshLook } from '../../time/fresh-look.js'
import { type LoadedForms, collectForms } from './collect-forms.js'
import { holdsOwnFunctions } from '../fields/server-functions.js'
import type { Forms } from '../form.js'
import { type FoundFiles, areUnchanged, findYamlFiles } from './found-files.js'
import { type ReadOwnFunctions, NO_OWN_FUNCTIONS } from './own-functions.js'
import { type ParsedFile, parseFormFile } from '../parse/parse-form.js'
import { createParsedFiles } from './parsed-files.js'
import { reachedSubforms } from '../subforms.js'
import type { PlainObject } from '../values/plain.js'
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
  /** The functions of the installation, as they are now. Left out: there are none. */
  readonly ownFunctions?: ReadOwnFunctions
  readonly clock: Clock
  readonly log: { info(fields: object, text: string): void; warn(fields: object, text: string): void }
}

/** Gives the forms below a folder, from the present files. Unchanged files are not read again. */
export function createForms(deps: FormsDependencies): Forms {
  const parsed = createParsedFiles(deps.clock, { parse: parseFormFile, failed: unreadable })
  let loaded: LoadedForms = { forms: [], byName: new Map(), subforms: new Map(), errors: [] }
  let collected = collectForms([], [])
  /** The files from which `collected` was made. */
  let last: { readonly contents: ReadonlyMap<string, ParsedFile>; readonly folderErrors: string } = {
    contents: new Map(),
    folderErrors: '[]',
  }
  let found: { readonly at: number } & Pick<FoundFiles, 'files' | 'folders'> = { at: 0, files: [], folders: [] }
  const varsFiles = createVarsFiles(deps.varsFolder, deps.clock)
  const { ownFunctions = () => Promise.resolve(NO_OWN_FUNCTIONS) } = deps
  const logWhenNew = createErrorLog(deps.log)

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
    const { problem } = await ownFunctions()
    const ofOthers = [...(await varsProblems(collected.placed, varsFiles)), ...(problem ? [problem] : [])]
    loaded = { ...collected, errors: [...collected.errors, ...ofOthers] }
    found = { at, ...files }
    logWhenNew(loaded)
  })
  const lookOften = atMostEvery(LOOK_EVERY_MS, deps.clock, look)

  /**
   * The files that matter for one form: those of the form and its subforms, and the folders, because files may be added
   * or removed. With a thousand forms, checking only these takes a hundredth of the time of checking all.
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
    async functions() {
      return (await ownFunctions()).names
    },
    async contextOf(form) {
      await lookFor(form.name)
      const subforms = reachedSubforms(form, loaded.subforms)
      const dictionaries = await varsFiles.readAll(form.varsFiles)
      const constants = [await deps.constants(), ...dictionaries].reduce(mergeDeep, {})
      const { text } = await ownFunctions()
      const isCalled = text !== null && holdsOwnFunctions([form.source, subforms])
      return { subforms, constants, ...(isCalled ? { functions: text } : {}) }
    },
  }
}

/** Logs mistakes only when they are new. */
function createErrorLog(log: FormsDependencies['log']): (loaded: LoadedForms) => void {
  let reported = ''
  return ({ forms, errors }) => {
    const summary = JSON.stringify(errors)
    if (summary === reported) return
    reported = summary
    for (const error of errors) log.warn(error, 'a form was left out, or something of it')
    if (errors.length === 0) log.info({ forms: forms.length }, 'all forms are good')
  }
}

function unreadable(file: string, error: unknown): ParsedFile {
  return { forms: [], errors: [{ file, line: null, form: null, reason: messageOf(error) }] }
}
