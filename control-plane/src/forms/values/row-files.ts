import type { Field } from '../fields/field.js'
import { type WholeFormFields, takesFiles } from '../fields/file-keys.js'
import { type PathStep, parsePath, placesOf } from '../fields/model-path.js'
import { putAt } from './extravars.js'
import { type PlainObject, isPlainObject, partOf } from './plain.js'
import { type LaunchUpload, isVerified } from './uploads.js'

/**
 * The uploads that rows name, by the full keys of their file fields. A row that people edit carries its file: the value of
 * the field is what the upload was answered with. It is only a claim, as in `files` of a launch. Anything else that is
 * written for a file is left out.
 */
export function filesInRows(form: WholeFormFields, values: PlainObject): Map<string, unknown> {
  const found = new Map<string, unknown>()
  walkRows(form, values, (fields, row, place) => {
    for (const { name, type } of fields) {
      const value = type === 'file' && Object.hasOwn(row, name) ? row[name] : undefined
      if (isPlainObject(value) && ('path' in value || 'filename' in value)) found.set(place + name, value)
    }
    return row
  })
  return found
}

/**
 * Field values with the files of their rows.
 * @param fileAt what the upload at a key was answered with; undefined: there is no file
 */
export function withFilesInRows(
  form: WholeFormFields,
  values: PlainObject,
  fileAt: (key: string) => object | undefined,
): PlainObject {
  return walkRows(form, values, (fields, row, place) => {
    const files = fields.flatMap(({ name, type }): [string, unknown][] => {
      const file = type === 'file' ? fileAt(place + name) : undefined
      return file === undefined ? [] : [[name, file]]
    })
    return files.length === 0 ? row : { ...row, ...Object.fromEntries(files) }
  })
}

type ChangeRow = (fields: readonly Field[], row: PlainObject, place: string) => PlainObject

/** Goes through all rows of all lists, from the outside inwards. @returns the values with the changed rows */
function walkRows({ fields, wizard, subforms }: WholeFormFields, values: PlainObject, change: ChangeRow): PlainObject {
  if (!takesFiles({ fields: [], subforms })) return values
  const inside = (some: readonly Field[], own: PlainObject, place: string): PlainObject => {
    const walked = some.flatMap(({ name, subform }): [string, unknown][] => {
      const value = subform !== null && Object.hasOwn(own, name) ? own[name] : undefined
      const below = subforms[subform ?? ''] ?? []
      const walkOne = (one: unknown, at: string) =>
        isPlainObject(one) ? inside(below, change(below, one, at), at) : one
      if (Array.isArray(value)) return [[name, value.map((one, row) => walkOne(one, `${place}${name}[${row}].`))]]
      return isPlainObject(value) ? [[name, walkOne(value, `${place}${name}.`)]] : []
    })
    return { ...own, ...Object.fromEntries(walked) }
  }
  const steps = wizard.flatMap(({ name, subform }): [string, unknown][] => {
    const own = Object.hasOwn(values, name) ? values[name] : undefined
    return isPlainObject(own) ? [[name, inside(subforms[subform] ?? [], own, `${name}.`)]] : []
  })
  return { ...inside(fields, values, ''), ...Object.fromEntries(steps) }
}

/**
 * The extra variables of a client with its uploads. Wherever the form puts a file there is the upload, or nothing: what the
 * client wrote there is no upload.
 */
export function withUploadsInVariables(
  { fields, wizard, subforms }: WholeFormFields,
  extravars: PlainObject,
  uploads: Readonly<Record<string, LaunchUpload>>,
): Record<string, unknown> {
  if (!takesFiles({ fields, subforms })) return { ...extravars }
  const changed = structuredClone(extravars) as Record<string, unknown>
  // Fields may share a place. What the client wrote goes first.
  const puts: (() => void)[] = []
  const inside = (some: readonly Field[], own: Record<string, unknown>, base: readonly PathStep[], place: string) => {
    for (const field of some) {
      if (field.type === 'file') {
        const upload = Object.hasOwn(uploads, place + field.name) ? uploads[place + field.name] : undefined
        const places = placesOf(field, base)
        for (const path of [...places, [...base, field.name]]) remove(own, path)
        if (upload && isVerified(upload)) {
          puts.push(() => {
            for (const path of places) putAt(own, path, upload.description)
          })
        }
      } else if (field.subform !== null) {
        const below = subforms[field.subform] ?? []
        if (field.type === 'yaml') makeObjects(own, placesOf(field, base), `${place}${field.name}.`, uploads)
        for (const value of placesOf(field, base).map((path) => partOf(own, path))) {
          const rows = Array.isArray(value) ? value.map((row: unknown, index) => [row, `[${index}].`] as const) : []
          for (const [row, at] of [...rows, [value, '.'] as const]) {
            if (isPlainObject(row)) inside(below, row, [], `${place}${field.name}${at}`)
          }
        }
      }
    }
  }
  inside(fields, changed, [], '')
  for (const { name, subform, defaultModel } of wizard) {
    const base = defaultModel === null ? [] : (parsePath(defaultModel) ?? [])
    inside(subforms[subform] ?? [], changed, base, `${name}.`)
  }
  for (const put of puts) put()
  return changed
}

/** A file alone makes the object that it is in. */
function makeObjects(
  into: Record<string, unknown>,
  places: readonly (readonly PathStep[])[],
  start: string,
  uploads: Readonly<Record<string, LaunchUpload>>,
): void {
  if (!Object.keys(uploads).some((key) => key.startsWith(start))) return
  for (const path of places) {
    if ((partOf(into, path) ?? null) === null) putAt(into, path, {})
  }
}

function remove(from: PlainObject, path: readonly PathStep[]): void {
  const container = partOf(from, path.slice(0, -1))
  const last = path.at(-1)
  if (Array.isArray(container) && typeof last === 'number' && last < container.length) container[last] = null
  else if (isPlainObject(container) && last !== undefined) Reflect.deleteProperty(container, last)
}
