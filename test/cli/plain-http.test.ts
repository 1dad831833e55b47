import { expect, test } from 'vitest'
import { refusePlainHttp } from '../../control-plane/src/cli/client/plain-http.js'
import { UsageError } from '../../control-plane/src/cli/errors.js'

test.each([
  'https://forms.example.com',
  'http://localhost:8000',
  'http://LOCALHOST.:8000',
  'http://forms.localhost',
  'http://127.0.0.1:8000',
  'http://127.9.8.7',
  'http://[::1]:8000',
])('a password may go to %s', (server) => {
  expect(() => refusePlainHttp(server, false, {})).not.toThrow()
})

test.each([
  'http://forms.example.com',
  'http://10.0.0.1:8000',
  'http://127.0.0.1.example.com',
  'http://localhost.example.com',
  'http://notlocalhost',
  'http://[::2]',
])('a password goes to %s only when the person says so', (server) => {
  expect(() => refusePlainHttp(server, false, {})).toThrow(UsageError)
  expect(() => refusePlainHttp(server, false, { HOLDFAST_INSECURE: '0' })).toThrow('is plain http')
  expect(() => refusePlainHttp(server, true, {})).not.toThrow()
  for (const HOLDFAST_INSECURE of ['1', 'true', 'Yes', 'on']) {
    expect(() => refusePlainHttp(server, false, { HOLDFAST_INSECURE })).not.toThrow()
  }
})
