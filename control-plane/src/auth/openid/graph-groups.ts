import { Type } from 'typebox'
import { Compile } from 'typebox/compile'

const PAGE_MS = 10_000
/** Pages of a thousand memberships. */
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

/** A group of Entra ID. Names may be given twice there, ids not. */
export interface GraphGroup {
  readonly id: string
  readonly name: string | null
}

/**
 * The groups that somebody is in, from Microsoft Graph.
 * @param accessToken theirs; it is shown to no other server than that of `graphUrl`
 * @throws Error when Graph does not answer as it should
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
      // Roles of the directory and administrative units are memberships, too.
      if (type === undefined || type === '#microsoft.graph.group') groups.push({ id, name: displayName ?? null })
    }
    next = body['@odata.nextLink']
  }
  return groups
}
