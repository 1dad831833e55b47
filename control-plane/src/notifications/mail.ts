import { createTransport } from 'nodemailer'
import { messageOf } from '../errors.js'
import { type Attempt, DeliveryProblem } from './attempt.js'
import { type MailSettings, isMailAddress } from './mail-settings.js'
import { ATTEMPT_MS } from './outbox.js'

/** Longest text of a problem that is stored, in characters. The limit is needed because a server may answer anything. */
const MAX_PROBLEM = 300

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
      throw mailProblem(error)
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
function mailProblem(error: unknown): DeliveryProblem {
  if (error instanceof DeliveryProblem) return error
  const { code, responseCode } = error as { code?: unknown; responseCode?: unknown }
  const isRefused = code === 'EENVELOPE' && typeof responseCode === 'number' && responseCode >= 500
  const text = messageOf(error).replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
  return new DeliveryProblem(text.slice(0, MAX_PROBLEM), isRefused, { cause: error })
}
