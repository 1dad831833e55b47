import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { readPattern } from '../../texts/pattern-text.js'
import { YamlProblem, problemWith, readYaml } from '../../texts/yaml-text.js'
import { canonicalDn } from './distinguished-name.js'
import { SectionProblem } from './provider-checks.js'
import { TOKEN_SCOPES } from './token-scopes.js'
import { PROVIDER_SECTIONS, type ProviderConfig, readProviders } from './provider-config.js'

const Names = Type.Array(Type.String({ minLength: 1 }))

const RoleEntry = Type.Object({
  name: Type.String({ minLength: 1 }),
  groups: Type.Optional(Names),
  users: Type.Optional(Names),
  options: Type.Optional(Type.Record(Type.String(), Type.Boolean())),
  runners: Type.Optional(Names),
  credentials: Type.Optional(Names),
  scopes: Type.Optional(Type.Array(Type.Enum([...TOKEN_SCOPES]))),
})

const RoleFile = Type.Object({
  roles: Type.Array(RoleEntry),
  constants: Type.Optional(Type.Unknown()),
  categories: Type.Optional(Type.Unknown()),
  ...PROVIDER_SECTIONS,
})
const roleFile = Compile(RoleFile)

/** A role as config.yaml has it, checked. */
export type Role = Readonly<Static<typeof RoleEntry>>

/** The roles of config.yaml. */
export interface RoleConfig {
  readonly roles: readonly Role[]
  /** The directories and providers of users who are not local. If left out: there are none. */
  readonly providers?: ProviderConfig
  /** The constants that forms use as `$(NAME.path)`. */
  readonly constants?: Readonly<Record<string, unknown>>
  /** How pages arrange forms, as the file has it. If left out: the file has no categories. */
  readonly categories?: readonly Category[]
}

/** A category of forms, with those below it. */
interface Category {
  readonly name: string
  readonly icon: string
  readonly items?: Category[]
}

/** The category of a form that names none. */
export const DEFAULT_CATEGORY: Category = { name: 'Default', icon: 'bars' }
const DEFAULT_ICON = DEFAULT_CATEGORY.icon
const MAX_CATEGORY_DEPTH = 10

/** The content that a first start writes. */
export const FIRST_CONFIG = `# Roles: who belongs to them and what they may do. Changes count from the next request on.
# groups: <type>/<group> such as local/ops, azuread/id:<object id>, ldap/dn:<distinguished name>; users: <type>/<username> such as ldap/jdoe.
roles:
  # Members of this role are admins.
  - name: admin
    groups:
      - local/admins
  # Everyone has this role. Its options only fill what no other role of a user says.
  - name: default
    options: {}
`

/** Reads the text of config.yaml. @throws YamlProblem when it has a mistake */
export function parseRoleConfig(text: string): RoleConfig {
  const yaml = readYaml(text)
  const problem = problemWith(roleFile, yaml.value)
  if (problem) throw new YamlProblem(yaml.lineOf(problem.path), problem.reason)
  const { roles, constants, categories: categoriesInFile, ...sections } = yaml.value as Static<typeof RoleFile>
  const seen = new Set<string>()
  roles.forEach((role, index) => {
    if (seen.has(role.name)) {
      throw new YamlProblem(yaml.lineOf(['roles', index]), `there are two roles named ${role.name}`)
    }
    seen.add(role.name)
    role.groups?.forEach((group, at) => {
      const dn = /^ldap\/dn:(.*)$/is.exec(group)?.[1]
      if (dn === undefined || canonicalDn(dn) !== null) return
      throw new YamlProblem(yaml.lineOf(['roles', index, 'groups', at]), `${group} names no distinguished name`)
    })
    role.credentials?.forEach((pattern, at) => {
      if (isPattern(pattern)) return
      const line = yaml.lineOf(['roles', index, 'credentials', at])
      throw new YamlProblem(line, `${pattern} is not a regular expression for names of credentials`)
    })
  })
  // Without this role there would be no admin, so the edit must be a mistake.
  if (!seen.has('admin')) throw new YamlProblem(yaml.lineOf(['roles']), 'the role admin is missing')
  const providers = providersOf(sections, (path) => yaml.lineOf(path))
  const isObject = typeof constants === 'object' && constants !== null && !Array.isArray(constants)
  // The values go through JSON, so only plain values are passed on.
  const kept = isObject ? { constants: JSON.parse(JSON.stringify(constants)) as Record<string, unknown> } : {}
  const categories = readCategories(categoriesInFile)
  return { roles, providers, ...kept, ...(categories.length === 0 ? {} : { categories }) }
}

/** An entry without a name is left out. Only pages use these entries, and a mistake must not affect the roles. */
function readCategories(value: unknown, depth = 0): Category[] {
  if (!Array.isArray(value) || depth > MAX_CATEGORY_DEPTH) return []
  return (value as unknown[]).flatMap((entry) => {
    if (typeof entry !== 'object' || entry === null) return []
    const { name, icon, items } = entry as Readonly<Record<string, unknown>>
    if (typeof name !== 'string' || name === '') return []
    const below = readCategories(items, depth + 1)
    return [
      { name, icon: typeof icon === 'string' ? icon : DEFAULT_ICON, ...(below.length > 0 ? { items: below } : {}) },
    ]
  })
}

function providersOf(
  sections: Parameters<typeof readProviders>[0],
  lineOf: (path: readonly string[]) => number,
): ProviderConfig {
  try {
    return readProviders(sections)
  } catch (error) {
    if (error instanceof SectionProblem) throw new YamlProblem(lineOf(error.path), error.reason)
    throw error
  }
}

function isPattern(text: string): boolean {
  try {
    return readPattern(`^(?:${text})$`, 'u') instanceof RegExp
  } catch {
    return false
  }
}
