/** An answer of the REST interface. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
}

/** A signed-in user of the REST interface. */
export interface RestClient {
  readonly token: string
  request(method: string, path: string, body?: unknown): Promise<Answer>
  /** Expects 200 and gives the body. */
  get<T = Record<string, unknown>>(path: string): Promise<T>
  post<T = Record<string, unknown>>(path: string, body?: unknown): Promise<T>
  raw(path: string): Promise<{ status: number; headers: Headers; bytes: Buffer }>
}

export async function request(
  base: string,
  method: string,
  path: string,
  token: string | null,
  body?: unknown,
): Promise<Answer> {
  const response = await fetch(`${base}/api/v2${path}`, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') ?? false
  return { status: response.status, headers: response.headers, body: isJson && text !== '' ? JSON.parse(text) : text }
}

/** Signs in and gives a client for that user. */
export async function signIn(base: string, username: string, password: string): Promise<RestClient> {
  const answer = await request(base, 'POST', '/auth/login', null, { username, password })
  if (answer.status !== 200) throw new Error(`sign-in of ${username}: ${answer.status} ${JSON.stringify(answer.body)}`)
  const { token } = answer.body as { token: string }
  const expectOk = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const { status, body: got } = await request(base, method, path, token, body)
    if (status !== 200) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(got)}`)
    return got as T
  }
  return {
    token,
    request: (method, path, body) => request(base, method, path, token, body),
    get: (path) => expectOk('GET', path),
    post: (path, body) => expectOk('POST', path, body),
    async raw(path) {
      const response = await fetch(`${base}/api/v2${path}`, { headers: { authorization: `Bearer ${token}` } })
      return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) }
    },
  }
}
