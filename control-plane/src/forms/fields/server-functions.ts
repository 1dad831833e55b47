/** The functions below `fn.` that use only their arguments. */
export const SERVER_FUNCTIONS = [
  'fnGetNumberedName',
  'fnArray',
  'fnToTable',
  'fnSort',
  'fnCopy',
  'fnCidr',
  'fnTime',
] as const

/** The functions below `fn.` that ask a source. They return promises. Only `fnLs` returns its list at once. */
export const ASKING_FUNCTIONS = [
  'fnRestBasic',
  'fnRestJwt',
  'fnRestJwtSecure',
  'fnRestAdvanced',
  'fnReadYamlFile',
  'fnReadJsonFile',
  'fnLs',
  'fnJq',
  'fnDnsResolve',
  'fnSsh',
  'fnParseHtmlWithRegex',
  'fnCredentials',
] as const

/** Whether a script calls functions of the installation, which are below `fnc.`. */
export function callsOwnFunctions(script: string): boolean {
  return /\bfnc\b/.test(script)
}

/** The same for any text in a value, however deep. */
export function holdsOwnFunctions(value: unknown): boolean {
  if (typeof value === 'string') return callsOwnFunctions(value)
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsOwnFunctions)
}

/** The functions of the installation that a script calls. */
export function ownFunctionsIn(script: string): string[] {
  const called = [...script.matchAll(/(?<![\w$.])fnc\s*\.\s*(\w+)/g)]
  return [...new Set(called.map(([, name = '']) => name))]
}
