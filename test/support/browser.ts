/** Where a browser came to a stop: an answer that is no redirection, or an address that the test wanted to see. */
export interface Page {
  readonly address: URL
  /** 0 when it was not asked for. */
  readonly status: number
  readonly body: Record<string, unknown>
  readonly text: string
}

/** A browser that follows redirections and keeps cookies, as people have one. */
export interface Browser {
  /** @param stopsAt addresses that are not asked for any more */
  open(address: string, stopsAt?: (address: URL) => boolean): Promise<Page>
  /** Presses a button of the form of a page, and goes where that leads. */
  press(page: Page, answer: string, stopsAt?: (address: URL) => boolean): Promise<Page>
  /** The cookies of an origin by their names. */
  cookiesOf(origin: string): Map<string, string>
}

const MAX_STEPS = 20

/** @param places origins that are elsewhere than their names say: address as the browser has it → where to ask */
export function createBrowser(places: Readonly<Record<string, string>> = {}): Browser {
  const jar = new Map<string, Map<string, string>>()
  const cookiesOf = (origin: string) => {
    const cookies = jar.get(origin) ?? new Map<string, string>()
    jar.set(origin, cookies)
    return cookies
  }

  async function ask(address: URL, form?: URLSearchParams): Promise<Response> {
    const cookies = cookiesOf(address.origin)
    const place = places[address.origin] ?? address.origin
    const response = await fetch(place + address.pathname + address.search, {
      redirect: 'manual',
      ...(form ? { method: 'POST', body: form } : {}),
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/max-age=0|expires=thu, 01 jan 1970/i.test(line)) cookies.delete(name)
      else cookies.set(name, value)
    }
    return response
  }

  async function go(first: URL, stopsAt: (address: URL) => boolean, form?: URLSearchParams): Promise<Page> {
    let address = first
    let sending = form
    for (let step = 0; step < MAX_STEPS; step += 1) {
      if (stopsAt(address)) return { address, status: 0, body: {}, text: '' }
      const response = await ask(address, sending)
      sending = undefined
      const text = await response.text()
      const location = response.headers.get('location')
      if (location === null) {
        const isJson = response.headers.get('content-type')?.includes('json') ?? false
        const body = isJson ? (JSON.parse(text) as Record<string, unknown>) : {}
        return { address, status: response.status, body, text }
      }
      address = new URL(location, address)
    }
    throw new Error(`the browser was sent around in circles, last to ${address.href}`)
  }

  return {
    cookiesOf,
    open: (first, stopsAt = () => false) => go(new URL(first), stopsAt),
    press(page, answer, stopsAt = () => false) {
      const action = /<form method="post" action="([^"]+)"/.exec(page.text)?.[1]
      if (action === undefined) throw new Error(`there is no form at ${page.address.href}: ${page.text}`)
      const hidden = page.text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)
      const form = new URLSearchParams([...hidden].map(([, name = '', value = '']): [string, string] => [name, value]))
      form.set('answer', answer)
      return go(new URL(action, page.address), stopsAt, form)
    },
  }
}
