/** The functions below `fn.` that work only with what they are given. */
export const SERVER_FUNCTIONS = [
  'fnGetNumberedName',
  'fnArray',
  'fnToTable',
  'fnSort',
  'fnCopy',
  'fnCidr',
  'fnTime',
] as const

/** The functions below `fn.` that ask a source. They give promises, but for `fnLs`, which gives its list at once. */
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
