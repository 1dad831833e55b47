import { readFile } from 'node:fs/promises'
import type { Clock } from '../clock.js'
import { NotFoundError, messageOf } from '../errors.js'
import { atMostEvery } from '../fresh.js'
import type { Form, FormError, Forms } from './form.js'
import { type FoundFile, findFormFiles } from './form-files.js'
import { type ParsedFile, parseFormFile } from './parse-form.js'

/** How often the folder is looked at while somebody asks, in milliseconds. */
const LOOK_EVERY_MS = 1000

export interface FormsDeps {
  readonly folder: string
  readonly clock: Clock
  readonly log: { info(fields: object, text: string): void; warn(fields: object, text: string): void }
}

interface Loaded {
  readonly forms: readonly Form[]
  readonly byName: ReadonlyMap<string, Form>
  readonly errors: readonly FormError[]
}

/** The forms below a folder. Files that did not change are not read again. */
export function createForms(deps: FormsDeps): Forms {
  let parsed = new Map<string, { readonly fingerprint: string; readonly content: ParsedFile }>()
  let loaded: Loaded = { forms: [], byName: new Map(), errors: [] }
  let reported = ''

  const look = atMostEvery(LOOK_EVERY_MS, deps.clock, async () => {
    const { files, errors } = await findFormFiles(deps.folder)
    const next: typeof parsed = new Map()
    for (const file of files) {
      const known = parsed.get(file.name)
      next.set(
        file.name,
        known?.fingerprint === file.fingerprint
          ? known
          : { fingerprint: file.fingerprint, content: await parseFound(file) },
      )
    }
    parsed = next
    loaded = collect(
      [...next.values()].map((file) => file.content),
      errors,
    )
    logWhenNew()
  })

  /** The same mistakes are not told every second. */
  function logWhenNew(): void {
    const summary = JSON.stringify(loaded.errors)
    if (summary === reported) return
    reported = summary
    for (const error of loaded.errors) deps.log.warn(error, 'a form was left out')
    if (loaded.errors.length === 0) deps.log.info({ forms: loaded.forms.length }, 'all forms are good')
  }

  return {
    async all() {
      await look()
      return loaded.forms
    },
    async find(name) {
      await look()
      const form = loaded.byName.get(name)
      if (!form) throw new NotFoundError('form_not_found', `There is no form named ${JSON.stringify(name)}`)
      return form
    },
    async errors() {
      await look()
      return loaded.errors
    },
  }
}

async function parseFound(file: FoundFile): Promise<ParsedFile> {
  try {
    return parseFormFile(file.name, await readFile(file.path, 'utf8'))
  } catch (error) {
    return { forms: [], errors: [{ file: file.name, line: null, form: null, reason: messageOf(error) }] }
  }
}

/** All forms in the order of their files; the first of two equal names wins. */
function collect(contents: readonly ParsedFile[], folderErrors: readonly FormError[]): Loaded {
  const errors: FormError[] = [...folderErrors]
  const byName = new Map<string, Form>()
  const fileOf = new Map<string, string>()
  for (const content of contents) {
    errors.push(...content.errors)
    for (const { form, file, line } of content.forms) {
      const first = fileOf.get(form.name)
      if (first === undefined) {
        fileOf.set(form.name, file)
        byName.set(form.name, form)
      } else {
        errors.push({ file, line, form: form.name, reason: `there already is a form of this name in ${first}` })
      }
    }
  }
  return { forms: [...byName.values()], byName, errors }
}
