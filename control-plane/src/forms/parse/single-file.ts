import { YamlProblem } from '../../texts/yaml-text.js'
import { readYamlParts } from '../../texts/yaml-parts.js'
import { isPlainObject } from '../values/plain.js'

/** Longest name of a file, without its ending. */
const MAX_NAME = 100

/** A file that is made of a part of the single file. */
export interface SplitPart {
  /** Relative to the folder that holds forms/ and config.yaml. */
  readonly path: string
  readonly text: string
  /** What is in it, for people. */
  readonly holds: string
}

/**
 * Whether a text holds what older releases of AnsibleForms had in one file, forms.yaml: categories, roles, constants and
 * a list `forms`.
 */
export function isSingleFile(value: unknown): value is { readonly forms: readonly unknown[] } {
  return isPlainObject(value) && value.name === undefined && Array.isArray(value.forms)
}

/** Why such a file does not load. @param file its name, for the command */
export function singleFileReason(file: string): string {
  return (
    'this is the single file of an older AnsibleForms, with categories, roles and forms in one; ' +
    `'holdfast form split ${file}' makes files of its parts`
  )
}

/**
 * Cuts the single file into one file for each form, and config.yaml with everything else.
 * @throws YamlProblem
 */
export function splitSingleFile(text: string): SplitPart[] {
  const parts = readYamlParts(text)
  const { value } = parts
  if (!isSingleFile(value)) throw new YamlProblem(1, 'it has no list named forms, so there is nothing to split')
  const taken = new Set<string>()
  const forms = value.forms.map((form, at): SplitPart => {
    const name = isPlainObject(form) && typeof form.name === 'string' ? form.name : `form ${at + 1}`
    return { path: `forms/${freeName(name, taken)}.yml`, text: parts.textOf(['forms', at]), holds: `form ${name}` }
  })
  const others = Object.keys(value).filter((key) => key !== 'forms')
  if (others.length === 0) return forms
  return [{ path: 'config.yaml', text: parts.textOfProperties(others), holds: others.join(', ') }, ...forms]
}

/** Letters, digits and dashes; numbered when two forms would have the same. */
function freeName(form: string, taken: Set<string>): string {
  const words = form
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '-')
  const base = words.replace(/^-|-$/g, '').slice(0, MAX_NAME) || 'form'
  let name = base
  for (let number = 2; taken.has(name); number += 1) name = `${base}-${number}`
  taken.add(name)
  return name
}
