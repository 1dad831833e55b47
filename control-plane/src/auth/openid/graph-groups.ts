import { Type } from 'typebox'
import { Compile } from 'typebox/compile'

const PAGE_MS = 10_000
/** Most pages that are read. Each has up to a thousand groups. */
const MAX_PAGES = 20

const pageCheck = Compile(
  Type.Object({
    value: Type.Array(
      Type.Object({
        '@odata.type': Type.Optional(Type.String()),
        id: Type.String(),
        displayName: Type.Optional(Type.Union([Type.String(), Type.Null()])),
      }),
    ),
    '@odata.nextLink': Type.Optional(Type.String()),
  }),
)

/** A group of Entra ID. Names may be used twice there, ids may not. */
export interface GraphGroup {
  readonly id: string
  readonly name: string | null
}

/**
 * The groups of a user, from Microsoft Graph.
 * @param accessToken the user's token; it is sent only to the server of `graphUrl`
 * @throws Error when the answer of Graph has another form
 */
export async function graphGroups(graphUrl: string, accessToken: string): Promise<GraphGroup[]> {
  const groups: GraphGroup[] = []
  let next: string | undefined = `${graphUrl}/v1.0/me/memberOf?$select=id,displayName&$top=999`
  for (let page = 0; next !== undefined; page += 1) {
    if (page === MAX_PAGES) throw new Error(`Microsoft Graph has more than ${MAX_PAGES} pages of groups`)
    if (new URL(next).origin !== new URL(graphUrl).origin) {
      throw new Error(`Microsoft Graph wants the next page to be asked for elsewhere: ${new URL(next).origin}`)
    }
    const answer = await fetch(next, {
      headers: { authorization: `Bearer ${accessToken}`, accept: 'application/json' },
      redirect: 'error',
      signal: AbortSignal.timeout(PAGE_MS),
    })
    if (answer.status !== 200) {
      await answer.body?.cancel()
      throw new Error(`Microsoft Graph answered ${answer.status}`)
    }
    const body: unknown = await answer.json()
    if (!pageCheck.Check(body)) throw new Error('Microsoft Graph answered something that is no list of memberships')
    for (const { '@odata.type': type, id, displayName } of body.value) {
      // The answer also contains roles of the directory and administrative units.
      if (type === undefined || type === '#microsoft.graph.group') groups.push({ id, name: displayName ?? null })
    }
    next = body['@odata.nextLink']
  }
  return groups
}
