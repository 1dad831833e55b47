import { HoldfastError } from '../errors.js'

/** A backup cannot be made, read or restored. The message is a sentence for people. */
export class BackupError extends HoldfastError {}
