import { Type } from 'typebox'
import { type RefusalStatus, answers } from '../route/schemas.js'

/** The address to which a browser is redirected. Programs find it in the body, too. */
export const SentOn = Type.Object({ location: Type.String() }, { title: 'SentOn' })

/** The `response` schemas of a route that only redirects browsers. */
export function sendsOn(...refusals: RefusalStatus[]) {
  const { 200: _, ...others } = answers(Type.Null(), ...refusals)
  return { ...others, 302: SentOn }
}

/** An address with these values in its query. */
export function withQuery(address: string, values: Readonly<Record<string, string>>): string {
  const url = new URL(address)
  for (const [name, value] of Object.entries(values)) url.searchParams.set(name, value)
  return url.href
}
