import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

/** A mail as the server got it. */
export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  /** Headers and body. */
  readonly text: string
  readonly isEncrypted: boolean
  /** Who signed in; null: nobody. */
  readonly user: string | null
}

/** A real SMTP server on 127.0.0.1. */
export interface MailServer {
  readonly port: number
  readonly mails: ReceivedMail[]
  close(): Promise<void>
}

/** @param refuse says for an address why it is refused; null: it is taken */
export async function startMailServer(
  options: SMTPServerOptions & { readonly login?: { readonly user: string; readonly password: string } } = {},
  refuse: (address: string) => (Error & { responseCode?: number }) | null = () => null,
): Promise<MailServer> {
  const mails: ReceivedMail[] = []
  const { login, ...rest } = options
  const server = new SMTPServer({
    authOptional: login === undefined,
    ...rest,
    onAuth: ({ username, password }, _, done) => {
      const isRight = login !== undefined && username === login.user && password === login.password
      if (isRight) done(null, { user: username })
      else done(new Error('Invalid name or password'))
    },
    onRcptTo: ({ address }, _, done) => done(refuse(address)),
    onData(stream, { envelope, secure, user }, done) {
      const parts: Buffer[] = []
      stream.on('data', (part: Buffer) => parts.push(part))
      stream.on('end', () => {
        mails.push({
          from: envelope.mailFrom === false ? '' : envelope.mailFrom.address,
          to: envelope.rcptTo.map(({ address }) => address),
          text: Buffer.concat(parts).toString(),
          isEncrypted: secure,
          user: typeof user === 'string' ? user : null,
        })
        done()
      })
    },
  })
  // A client that leaves in the middle is for the test to see in what it asked.
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as AddressInfo
  return { port, mails, close: () => new Promise((resolve) => server.close(() => resolve())) }
}
