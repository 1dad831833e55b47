import type { CloseReasonName } from './close-reasons.js'

/** A message from the socket breaks the contract. Its connection is closed with `reason`; other connections go on. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError'

  constructor(
    readonly reason: CloseReasonName,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** A setting, file or value from a person is wrong. The message says which one, and what to do. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
}
