import type { CloseReasonName } from './close-reasons.js'

/** What came over the socket breaks the contract. The connection is closed with `reason`; no other one is harmed. */
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

/** A setting, file or value given by a person is wrong; the message says which one and what to do. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
}
