/** One answer as it came over the socket. */
export interface WireAnswer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

type State = 'head' | 'body' | 'chunk size' | 'chunk' | 'trailer' | 'until close' | 'upgraded' | 'broken'

/**
 * Reads answers from the bytes of a connection, and is strict about it: what is no HTTP/1.1 is a fault of the service.
 * States: `head` between answers; `body`, `chunk size`, `chunk`, `trailer` or `until close` inside of one; `upgraded`
 * when another protocol begins; `broken` for good after bytes that are none of these.
 */
export class AnswerReader {
  readonly answers: WireAnswer[] = []
  /** What was wrong with the bytes; null: nothing. */
  problem: string | null = null
  private state: State = 'head'
  private buffer: Buffer = Buffer.alloc(0)
  private left = 0
  private head: Omit<WireAnswer, 'body'> | null = null
  private parts: Buffer[] = []

  /** @param isHead whether the answer of that number is one to HEAD, which has no body */
  constructor(private readonly isHead: (index: number) => boolean) {}

  /** An event stream, an output that is followed, or another protocol: it does not end by itself. */
  get isEndless(): boolean {
    return this.state === 'upgraded' || (this.head !== null && staysOpen(this.head.headers))
  }

  /** The answer that an endless stream began with. */
  get begun(): WireAnswer | null {
    return this.head && { ...this.head, body: Buffer.concat(this.parts) }
  }

  push(bytes: Buffer): void {
    this.buffer = this.buffer.length === 0 ? bytes : Buffer.concat([this.buffer, bytes])
    while (this.step());
  }

  /** The connection ended. */
  end(): void {
    if (this.state === 'until close') this.finish()
    else if (this.head && !this.isEndless && this.problem === null) this.problem = 'the answer was broken off'
    else if (this.state === 'head' && this.buffer.length > 0) this.broken('the answer was broken off')
  }

  private step(): boolean {
    switch (this.state) {
      case 'head':
        return this.readHead()
      case 'body':
      case 'chunk':
        return this.readBytes()
      case 'chunk size':
        return this.readChunkSize()
      case 'trailer':
        return this.readTrailer()
      case 'until close':
        this.parts.push(this.buffer)
        this.buffer = Buffer.alloc(0)
        return false
      case 'upgraded':
      case 'broken':
        return false
    }
  }

  private readHead(): boolean {
    const end = this.buffer.indexOf('\r\n\r\n')
    if (end < 0) {
      if (this.buffer.length > 0 && !'HTTP/1.'.startsWith(this.buffer.subarray(0, 7).toString('latin1'))) {
        return this.broken(`no answer begins so: ${JSON.stringify(this.buffer.subarray(0, 60).toString('latin1'))}`)
      }
      return false
    }
    const [first = '', ...lines] = this.buffer.subarray(0, end).toString('latin1').split('\r\n')
    const status = /^HTTP\/1\.1 (\d{3})( |$)/.exec(first)?.[1]
    if (status === undefined) return this.broken(`no answer begins so: ${JSON.stringify(first.slice(0, 60))}`)
    const headers = new Map<string, string>()
    for (const line of lines) {
      const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*)$/.exec(line) ?? []
      if (name === undefined || value === undefined)
        return this.broken(`a header line is none: ${JSON.stringify(line)}`)
      headers.set(name.toLowerCase(), value)
    }
    this.take(end + 4)
    if (status === '101') return this.become('upgraded')
    if (status.startsWith('1')) return true
    this.head = { status: Number(status), headers }
    this.parts = []
    const isBodiless = this.isHead(this.answers.length) || status === '204' || status === '304'
    const length = headers.get('content-length')
    if (isBodiless) return this.finish()
    if (headers.get('transfer-encoding')?.includes('chunked')) return this.become('chunk size')
    if (length === undefined) return this.become('until close')
    this.left = Number(length)
    return this.left === 0 ? this.finish() : this.become('body')
  }

  private readBytes(): boolean {
    if (this.buffer.length === 0) return false
    const piece = this.buffer.subarray(0, this.left)
    this.parts.push(piece)
    this.take(piece.length)
    this.left -= piece.length
    if (this.left > 0) return false
    return this.state === 'body' ? this.finish() : this.become('chunk size')
  }

  private readChunkSize(): boolean {
    // The line end of the chunk before belongs to it.
    const from = this.buffer.subarray(0, 2).toString('latin1') === '\r\n' ? 2 : 0
    const end = this.buffer.indexOf('\r\n', from)
    if (end < 0) return false
    const size = this.buffer.subarray(from, end).toString('latin1')
    if (!/^[0-9a-f]+$/i.test(size)) return this.broken(`the size of a chunk is none: ${JSON.stringify(size)}`)
    this.take(end + 2)
    this.left = Number.parseInt(size, 16)
    return this.become(this.left === 0 ? 'trailer' : 'chunk')
  }

  private readTrailer(): boolean {
    const end = this.buffer.indexOf('\r\n')
    if (end < 0) return false
    this.take(end + 2)
    return end === 0 ? this.finish() : true
  }

  private finish(): true {
    if (this.head) this.answers.push({ ...this.head, body: Buffer.concat(this.parts) })
    this.head = null
    this.parts = []
    return this.become('head')
  }

  private become(state: State): true {
    this.state = state
    return true
  }

  private broken(problem: string): false {
    this.problem = problem
    this.state = 'broken'
    return false
  }

  private take(count: number): void {
    this.buffer = this.buffer.subarray(count)
  }
}

/** Whether an answer with these headers stays open until its client or the service ends it. */
export function staysOpen(headers: Pick<ReadonlyMap<string, string>, 'get'> | Headers): boolean {
  // The service tells proxies not to keep such an answer back.
  return headers.get('x-accel-buffering') === 'no'
}
