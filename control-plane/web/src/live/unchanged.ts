/** Answers that are kept to be asked for again; the oldest goes. */
const MAX_KEPT = 8

interface Kept {
  readonly tag: string
  readonly text: string
}

/** By address. Nothing of it outlives the page. */
const kept = new Map<string, Kept>()

/** Sends a request as `fetch` does, but an answer that has not changed since it was read here does not come again. */
export async function unlessUnchanged(address: URL, init: RequestInit): Promise<Response> {
  const known = kept.get(address.href)
  const headers = new Headers(init.headers)
  if (known) headers.set('if-none-match', known.tag)
  const answer = await fetch(address, { ...init, headers })
  if (answer.status === 304 && known) return new Response(known.text)
  const tag = answer.headers.get('etag')
  kept.delete(address.href)
  if (answer.status !== 200 || tag === null) return answer
  const text = await answer.text()
  kept.set(address.href, { tag, text })
  const [oldest] = kept.keys()
  if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest)
  return new Response(text)
}
