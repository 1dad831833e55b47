import { SettingsError, type SettingValue } from '@holdfast/protocol'

/** How the connection to the mail server is encrypted. */
export const SMTP_TLS = ['starttls', 'tls', 'none'] as const

/** The mail server, and who the mails are from. */
export interface MailSettings {
  readonly host: string
  readonly port: number
  readonly tls: (typeof SMTP_TLS)[number]
  /** Null: without signing in. */
  readonly login: { readonly user: string; readonly password: string } | null
  readonly from: string
}

/** Reads the settings for mails. Null: no mail server is set. @throws SettingsError */
export function mailSettingsOf(raw: Readonly<Record<string, SettingValue>>): MailSettings | null {
  const { SMTP_HOST: host, SMTP_USER: user, SMTP_PASSWORD: password, MAIL_FROM: from } = raw
  if (typeof host !== 'string') return null
  if (typeof from !== 'string') throw new SettingsError('MAIL_FROM: is needed when SMTP_HOST is set')
  if (!isMailAddress(from)) throw new SettingsError(`MAIL_FROM: must be a mail address, not ${JSON.stringify(from)}`)
  if ((user === null) !== (password === null)) {
    throw new SettingsError(`${user === null ? 'SMTP_USER' : 'SMTP_PASSWORD'}: is needed, too: give both or none`)
  }
  const tls = SMTP_TLS.find((known) => known === raw.SMTP_TLS) ?? 'starttls'
  const login = user === null ? null : { user: String(user), password: String(password) }
  return { host, port: Number(raw.SMTP_PORT), tls, login, from }
}

/** Whether a text is one plain address. Nothing in such a text can end a header or name a second address. */
export function isMailAddress(text: string): boolean {
  return text.length <= 254 && /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*$/.test(text)
}
