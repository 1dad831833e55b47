import { createTransport } from 'nodemailer'
import { foreignText } from '../secrets/foreign-text.js'
import { type Attempt, DeliveryProblem } from './attempt.js'
import { type MailSettings, isMailAddress } from './mail-settings.js'
import { ATTEMPT_MS } from './outbox.js'

/** Makes what sends a mail. @param settings null: there is no mail server */
export function createMails(settings: MailSettings | null): Attempt {
  return async (delivery, { signal }) => {
    if (settings === null) throw new DeliveryProblem('No mail server is set: SMTP_HOST is empty', true)
    const { recipient, subject, body, uid, event } = delivery
    if (!isMailAddress(recipient)) throw new DeliveryProblem('This is no mail address', true)
    const transport = createTransport(optionsOf(settings))
    const stopped = stopOf(signal)
    try {
      await Promise.race([
        transport.sendMail({
          from: settings.from,
          to: recipient,
          subject: subject ?? '',
          text: body,
          // Each attempt has the same id, so that a mailbox can recognise a second copy.
          messageId: `<${uid}@${settings.from.slice(settings.from.indexOf('@') + 1)}>`,
          headers: { 'Auto-Submitted': 'auto-generated', 'X-Holdfast-Delivery': uid, 'X-Holdfast-Event': event },
          disableFileAccess: true,
          disableUrlAccess: true,
        }),
        stopped.promise,
      ])
    } catch (error) {
      throw mailProblem(error, settings)
    } finally {
      stopped.forget()
      transport.close()
    }
  }
}

function optionsOf({ host, port, tls, login }: MailSettings) {
  const times = { connectionTimeout: ATTEMPT_MS, greetingTimeout: ATTEMPT_MS, socketTimeout: ATTEMPT_MS }
  return {
    host,
    port,
    secure: tls === 'tls',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'none',
    ...(login ? { auth: { user: login.user, pass: login.password } } : {}),
    ...times,
    dnsTimeout: ATTEMPT_MS,
  }
}

/** A promise that rejects when the signal aborts. `forget` removes its listener. */
function stopOf(signal: AbortSignal): { readonly promise: Promise<never>; forget(): void } {
  let stop = (): void => undefined
  const promise = new Promise<never>((_, fail) => {
    stop = () => fail(new DeliveryProblem('The mail server did not answer in time', false))
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop)
  })
  return { promise, forget: () => signal.removeEventListener('abort', stop) }
}

/** Only a refused address is final. Other problems can end, for example when somebody corrects the password. */
function mailProblem(error: unknown, { login }: MailSettings): DeliveryProblem {
  if (error instanceof DeliveryProblem) return error
  const { code, responseCode } = error as { code?: unknown; responseCode?: unknown }
  const isRefused = code === 'EENVELOPE' && typeof responseCode === 'number' && responseCode >= 500
  // A server may repeat the login that it refuses. So its own error goes nowhere, not even as a cause.
  const sent = login === null ? [] : [login.password, plainLogin(login)]
  return new DeliveryProblem(foreignText(error, sent) || 'The mail server gave no reason', isRefused)
}

/** The login as AUTH PLAIN sends it. */
function plainLogin({ user, password }: NonNullable<MailSettings['login']>): string {
  return Buffer.from(`\0${user}\0${password}`).toString('base64')
}
