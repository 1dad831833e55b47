import type { Client, Credential } from '@holdfast/client'
import { UnknownNameError } from '../../errors.js'

/** Finds a credential by id or name. It must be one that can be changed over REST. @throws NotFoundError */
export async function credentialNamed(client: Client, idOrName: string): Promise<Credential & { id: number }> {
  const { records } = await client.listCredentials()
  const named = records.filter((credential) => credential.name === idOrName)
  const found = [...named, ...records.filter((credential) => String(credential.id) === idOrName)]
  const stored = found.find((credential) => credential.id !== null)
  if (stored?.id !== null && stored?.id !== undefined) return { ...stored, id: stored.id }
  throw new UnknownNameError(
    found.length > 0
      ? `The credential ${idOrName} is in credentials.yaml of the control plane; change it there.`
      : `There is no credential with the id or name ${idOrName}; holdfast credential list shows them.`,
  )
}
