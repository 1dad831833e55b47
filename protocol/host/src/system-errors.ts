import { constants } from 'node:os'

const NUMBERS: Readonly<Record<string, number>> = constants.errno

/** True for a system error of one of these codes. By number, too: Node.js has no name for EDQUOT. */
export function isErrno(error: unknown, ...codes: string[]): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  const number = 'errno' in error ? -Number(error.errno) : null
  return codes.some((code) => error.code === code || (number !== null && NUMBERS[code] === number))
}

/** True when the name belongs to something other than a file, such as a folder or a link to itself. */
export function isNoFile(error: unknown): boolean {
  return isErrno(error, 'EISDIR', 'ELOOP')
}

/** True for an error of the host at this moment. It says nothing about the file that was to be read or written. */
export function isPassing(error: unknown): boolean {
  return isErrno(error, 'EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM', 'EIO', 'EACCES', 'ESTALE', 'ETIMEDOUT')
}

/** Gives what was asked for, or `otherwise` when there is no such file or folder. Other errors are thrown. */
export async function unlessMissing<Found, Otherwise>(
  asked: Promise<Found>,
  otherwise: Otherwise,
): Promise<Found | Otherwise> {
  try {
    return await asked
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return otherwise
    throw error
  }
}
