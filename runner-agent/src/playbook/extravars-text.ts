/**
 * Extra variables as the file that ansible reads them from.
 *
 * It is YAML, in which a tag (`!unsafe`) says that a text is data and no template. JSON is not safe. In JSON, ansible
 * gives objects with certain names (`__ansible_vault`, `__ansible_unsafe`, `__ansible_type`) a special meaning. It
 * decrypts or trusts their contents, whoever wrote them. When one of them has a wrong form, ansible reads the whole
 * file again as YAML and loses every mark. In YAML these names have no special meaning.
 *
 * Every text is marked, not only what looks like a template: a playbook may use it in a condition or with delimiters of
 * its own.
 */

/** A first line that no JSON begins with: ansible tries JSON before YAML. */
const HEAD = '# Extra variables of this job. What is marked as !unsafe is data: ansible takes it for no template.\n'

/**
 * @param variables as JSON has them, with no more levels than `requireShallow` allows
 * @param allowJinja texts are not marked: the author of the form wants them to be templates
 */
export function extravarsYaml(variables: unknown, allowJinja: boolean): string {
  const mark = allowJinja ? '' : '!unsafe '
  return `${HEAD}${written(variables, mark)}\n`
}

function written(value: unknown, mark: string): string {
  if (typeof value === 'string') return mark + quoted(value)
  if (typeof value === 'number') return numeral(value)
  if (Array.isArray(value)) return `[${value.map((item) => written(item, mark)).join(', ')}]`
  if (typeof value !== 'object' || value === null) return value === true || value === false ? String(value) : 'null'
  // `?` before each name, because YAML otherwise takes only short ones.
  const entries = Object.entries(value).map(([name, item]) => `? ${mark}${quoted(name)} : ${written(item, mark)}`)
  return `{${entries.join(',\n')}}`
}

/** In double quotes as JSON has them, with escapes of YAML for everything that is not ASCII. */
function quoted(text: string): string {
  const whole = text.replace(/\p{Surrogate}/gu, '\ufffd')
  return JSON.stringify(whole).replace(/[^\x20-\x7e]/gu, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16)
    return code.length > 4 ? `\\U${code.padStart(8, '0')}` : `\\u${code.padStart(4, '0')}`
  })
}

/** YAML takes `1e+21` for a text, and `1.0e+21` for a number. */
function numeral(value: number): string {
  return JSON.stringify(value).replace(/^(-?\d+)e/, '$1.0e')
}
