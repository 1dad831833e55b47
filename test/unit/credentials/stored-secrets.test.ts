import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { vaultReferenceOf } from '../../../control-plane/src/credentials/hashicorp/reference.js'
import { type CredentialType, problemOfSecret } from '../../../control-plane/src/credentials/stored/credential.js'

const CERTIFICATE = '-----BEGIN CERTIFICATE-----'
const PEM = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const openssh = (cipher: string) => {
  const head = Buffer.from(`openssh-key-v1\0\0\0\0${String.fromCharCode(cipher.length)}${cipher}`)
  return `-----BEGIN OPENSSH PRIVATE KEY-----\n${head.toString('base64')}\n-----END OPENSSH PRIVATE KEY-----\n`
}

test.each<[type: CredentialType, secret: string, options: object, problem: string | null]>([
  ['userpass', 'x', {}, null],
  ['vault', 'x', {}, null],
  ['token', 'x', {}, null],
  ['database', 'x', { db_type: 'mysql' }, null],
  ['ssh', PEM, {}, null],
  ['ssh', openssh('none'), {}, null],
  ['ssh', 'vault:kv/key', {}, null],
  ['certificate', PEM, { certificate: CERTIFICATE }, null],
  ['database', 'x', {}, 'needs options.db_type'],
  ['certificate', PEM, {}, 'needs options.certificate'],
  ['ssh', 'x', {}, 'must be a private key'],
  ['certificate', 'x', { certificate: CERTIFICATE }, 'must be a private key'],
  ['ssh', openssh('aes256-ctr'), {}, 'must not have a passphrase'],
  ['ssh', PEM.replace('PRIVATE', 'ENCRYPTED PRIVATE'), {}, 'must not have a passphrase'],
])('of type %s the secret %j with %j: %s', (type, secret, options, problem) => {
  const found = problemOfSecret(type, secret, options)
  if (problem === null) expect(found).toBeNull()
  else expect(found).toContain(problem)
})

test.each([
  ['vault:kv/a', { path: 'kv/a', key: null }],
  ['vault:kv/a/b#user', { path: 'kv/a/b', key: 'user' }],
  ['vault:kv', null],
  ['vault:/kv/a', null],
  ['vault:kv/a/', null],
  ['vault:kv//a', null],
  ['vault:kv/../sys/raw', null],
  ['vault:kv/a b', null],
  ['vault:kv/a#', null],
  ['plain vault:kv/a', null],
])('the text %s names the secret %j', (text, reference) => {
  expect(vaultReferenceOf(text)).toEqual(reference)
})
