import { once } from 'node:events'
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'
import { text } from 'node:stream/consumers'

/** A request as the fake service saw it. */
export interface SeenRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly token: string | null
  readonly body: unknown
}

export interface FakeJob {
  id: number
  form: string
  user: string
  user_type: string
  status: string
  status_reason: string | null
  approval: Record<string, unknown> | null
  /** Left out: the service is older and does not say. */
  connected?: boolean
  /** Left out: the service is older and does not say. */
  run_id?: string
  abort_requested: boolean
  output: Buffer
  events: Record<string, unknown>[]
}

/** An answer that a test puts in the place of the usual one. */
export type Override = (
  request: SeenRequest,
) => { status: number; body: unknown; headers?: Record<string, string> } | null

/**
 * The other side of the wire for tests of the client: speaks REST and live events over a real socket, and does what the
 * test says. Access tokens are `access-1`, `access-2` …, refresh tokens `refresh-1` …, each good once.
 */
export interface FakeService {
  readonly address: string
  readonly seen: SeenRequest[]
  readonly jobs: Map<number, FakeJob>
  /** Refresh tokens that were used a second time. */
  readonly usedTwice: string[]
  override: Override | null
  /** True: a download, and the output of a host or task, break in the middle. */
  breaksDownloads: boolean
  addJob(job?: Partial<FakeJob>): FakeJob
  append(job: FakeJob, output: string | Buffer): void
  end(job: FakeJob, status: string, reason?: string): void
  /** Somebody approves or rejects a waiting job. */
  decide(job: FakeJob, state: 'approved' | 'rejected', by: string): void
  /** Makes every access token that was given out so far worthless. */
  expireTokens(): void
  openStreams(): number
  /** Stops answering and breaks every connection, as a restart does; `start` listens on the same port again. */
  stop(): Promise<void>
  start(): Promise<void>
  /** Forgets everything, as a new one does. */
  reset(): void
}

export const PASSWORD = 'correct horse battery'

export async function startFakeService(): Promise<FakeService> {
  let server: Server | null = null
  let port = 0
  let pair = 0
  let firstGood = 1
  const usedRefresh = new Set<string>()
  const streams = new Set<ServerResponse>()

  const service: FakeService = {
    address: '',
    seen: [],
    jobs: new Map(),
    usedTwice: [],
    override: null,
    breaksDownloads: false,
    addJob(job = {}) {
      const id = job.id ?? service.jobs.size + 1
      const added: FakeJob = {
        form: 'Hello world',
        user: 'admin',
        user_type: 'local',
        status: 'running',
        status_reason: null,
        approval: null,
        abort_requested: false,
        output: Buffer.alloc(0),
        events: [],
        ...job,
        id,
      }
      service.jobs.set(id, added)
      return added
    },
    append(job, output) {
      job.output = Buffer.concat([job.output, Buffer.from(output)])
      changed()
    },
    end(job, status, reason) {
      job.status = status
      job.status_reason = reason ?? null
      changed()
    },
    decide(job, state, by) {
      job.approval = { ...job.approval, state, decided_by: by }
      service.end(
        job,
        state === 'approved' ? 'running' : 'rejected',
        state === 'approved' ? undefined : `rejected by ${by}`,
      )
    },
    expireTokens() {
      firstGood = pair + 1
    },
    openStreams: () => streams.size,
    reset() {
      service.seen.length = 0
      service.usedTwice.length = 0
      service.jobs.clear()
      service.override = null
      service.breaksDownloads = false
    },
    async stop() {
      const stopping = server
      server = null
      stopping?.close()
      stopping?.closeAllConnections()
      streams.clear()
      if (stopping) await once(stopping, 'close')
    },
    async start() {
      server = createServer((request, response) => {
        response.setHeader('x-holdfast-fake', '1')
        answer(request, response).catch((error: unknown) => response.destroy(error as Error))
      })
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
      port = (server.address() as { port: number }).port
      Object.assign(service, { address: `http://127.0.0.1:${port}` })
    },
  }

  function changed(): void {
    for (const stream of streams) stream.write('event: changed\ndata: {"name":"jobs"}\n\n')
  }

  function newPair(): { token: string; refreshtoken: string } {
    pair += 1
    return { token: `access-${pair}`, refreshtoken: `refresh-${pair}` }
  }

  function isGood(token: string | null): boolean {
    if (token === 'script-token') return true
    const number = Number(/^access-(\d+)$/.exec(token ?? '')?.[1] ?? 0)
    return number >= firstGood && number <= pair
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', service.address)
    const bodyText = await text(request)
    const seen: SeenRequest = {
      method: request.method ?? '',
      path: url.pathname.replace('/api/v2', ''),
      query: url.searchParams,
      token: /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? null,
      body: bodyText === '' ? undefined : JSON.parse(bodyText),
    }
    service.seen.push(seen)
    const overriding = service.override?.(seen)
    if (overriding) {
      sendJson(response, overriding.status, overriding.body, overriding.headers)
      return
    }
    if (seen.path === '/auth/login') {
      const { username, password } = seen.body as { username: string; password: string }
      if (password !== PASSWORD) sendJson(response, 401, { error: 'Wrong name or password', code: 'bad_credentials' })
      else if (username) sendJson(response, 200, newPair())
      return
    }
    if (seen.path === '/token') {
      const { refreshtoken } = seen.body as { refreshtoken: string }
      if (usedRefresh.has(refreshtoken)) service.usedTwice.push(refreshtoken)
      const good = refreshtoken === `refresh-${pair}` && !usedRefresh.has(refreshtoken)
      usedRefresh.add(refreshtoken)
      if (good) sendJson(response, 200, newPair())
      else sendJson(response, 401, { error: 'The refresh token is not good', code: 'token_invalid' })
      return
    }
    if (!isGood(seen.token)) {
      sendJson(response, 401, { error: 'A bearer token is needed', code: 'token_missing' })
      return
    }
    answerSignedIn(seen, response)
  }

  function answerSignedIn(seen: SeenRequest, response: ServerResponse): void {
    const [, id, rest] = /^\/job\/(\d+)(?:\/([\w/]+))?$/.exec(seen.path) ?? []
    const job = id === undefined ? undefined : service.jobs.get(Number(id))
    if (seen.path === '/events') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('retry: 3000\nevent: hello\ndata: {"version":"0"}\n\n: ping\n\n')
      streams.add(response)
      response.on('close', () => streams.delete(response))
    } else if (seen.path === '/auth/logout') sendJson(response, 200, { message: 'Signed out' })
    else if (seen.path === '/job' && seen.method === 'POST') {
      const { formName } = seen.body as { formName: string }
      sendJson(response, 200, { id: service.addJob({ form: formName }).id })
    } else if (seen.path === '/job') {
      const isWaiting = seen.query.get('waiting') === 'true'
      const records = [...service.jobs.values()]
        .filter((one) => !isWaiting || one.status === 'approve')
        .reverse()
        .map(jobRecord)
      sendJson(response, 200, { count: records.length, records })
    } else if (id !== undefined && !job)
      sendJson(response, 404, { error: `There is no job ${id}`, code: 'job_not_found' })
    else if (job && rest === undefined) sendJson(response, 200, wholeRecord(job))
    else if (job && rest === 'output') {
      const offset = Number(seen.query.get('offset'))
      const bytes = job.output.subarray(offset, offset + 1024 * 1024)
      response.writeHead(200, {
        'content-type': 'text/plain; charset=utf-8',
        'x-next-offset': String(offset + bytes.length),
        ...(job.run_id === undefined ? {} : { 'x-run-id': job.run_id }),
      })
      response.end(bytes)
    } else if (job && rest === 'events') {
      const after = Number(seen.query.get('after') ?? 0)
      // Small pages, so that the client has to ask for the next one.
      const records = job.events.filter((event) => Number(event.order) > after).slice(0, 2)
      const headers = job.run_id === undefined ? undefined : { 'x-run-id': job.run_id }
      sendJson(response, 200, { count: records.length, records }, headers)
    } else if (job && (rest === 'download' || rest === 'output/pieces')) {
      response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' })
      if (service.breaksDownloads) response.write(job.output, () => response.destroy())
      else response.end(job.output)
    } else if (job && rest === 'relaunch' && job.status !== 'running') {
      const again = service.addJob({ form: job.form, status: 'success', output: Buffer.from('again\n') })
      sendJson(response, 200, { message: `Job ${job.id} was launched again as job ${again.id}`, id: again.id })
    } else if (job && rest === 'relaunch') {
      sendJson(response, 409, { error: `Job ${job.id} has not ended but is running`, code: 'not_ended' })
    } else if (job && rest === 'abort' && seen.query.get('abandoned') === 'true') {
      job.abort_requested = true
      sendJson(response, 200, { message: `The abort of job ${job.id} is kept` })
    } else if (job && rest === 'abort' && job.status === 'running') {
      sendJson(response, 200, { message: `Job ${job.id} will be aborted` })
    } else if (job && (rest === 'approve' || rest === 'reject')) {
      const state = rest === 'approve' ? 'approved' : 'rejected'
      if (job.status === 'approve') service.decide(job, state, 'admin')
      else return sendJson(response, 409, { error: `Job ${job.id} does not wait`, code: 'not_waiting' })
      sendJson(response, 200, { message: `Job ${job.id} was ${state}` })
    } else if (job && rest === 'abort') {
      sendJson(response, 409, { error: `Job ${job.id} is not running`, code: 'job_not_running' })
    } else sendJson(response, 404, { error: `There is no ${seen.path}`, code: 'route_not_found' })
  }

  await service.start()
  return service
}

/** What a job has beside its record. */
export const NOTHING_ELSE = { extravars: {}, payload: {}, credentials: {}, subjobs: [], output: '' }

/** What GET /job/{id} answers for it. */
export function wholeRecord(job: FakeJob): Record<string, unknown> {
  return { ...jobRecord(job), ...NOTHING_ELSE }
}

/** A job as lists show it. */
export function jobRecord(job: FakeJob): Record<string, unknown> {
  return {
    id: job.id,
    form: job.form,
    target: job.form,
    job_type: 'ansible',
    status: job.status,
    status_reason: job.status_reason,
    detail: null,
    approval: job.approval,
    start: '2026-11-20T08:00:00.000Z',
    end: job.status === 'running' || job.status === 'approve' ? null : '2026-11-20T08:00:03.400Z',
    user: job.user,
    user_type: job.user_type,
    runner: 'local-runner',
    parent_id: null,
    step: null,
    abort_requested: job.abort_requested,
    ...(job.connected === undefined ? {} : { connected: job.connected }),
    ...(job.run_id === undefined ? {} : { run_id: job.run_id }),
    abandoned_at: null,
    a_field_of_tomorrow: true,
  }
}

function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers })
  response.end(JSON.stringify(body))
}
