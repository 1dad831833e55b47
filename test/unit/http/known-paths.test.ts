import fastify from 'fastify'
import { expect, test } from 'vitest'
import { noteKnownPaths } from '../../../control-plane/src/http/server/known-paths.js'

const app = fastify({ exposeHeadRoutes: false })
const paths = noteKnownPaths(app)
const done = async () => 'done'
app.get('/', done)
app.get('/job/:id', done)
app.put('/job/:id', done)
app.post('/job/check', done)
app.get('/job/check/all', done)
app.delete('/job/:id/output', done)
app.route({ method: ['POST', 'PATCH'], url: '/user', handler: done })
app.get('/files/*', done)
app.head('/files/*', done)
app.get('/files/own/list', done)

test.each([
  ['/', ['GET']],
  ['/job/7', ['GET', 'PUT']],
  ['/job/7/', ['GET', 'PUT']],
  // A name has priority over a parameter, as long as something is at its end.
  ['/job/check', ['POST']],
  ['/job/check/all', ['GET']],
  ['/job/check/output', ['DELETE']],
  ['/job/7/output', ['DELETE']],
  ['/user', ['PATCH', 'POST']],
  ['/files/a', ['GET', 'HEAD']],
  ['/files/a/b/c', ['GET', 'HEAD']],
  ['/files/own/list', ['GET']],
  ['/files/own/other', ['GET', 'HEAD']],
  ['/job', []],
  ['/job/7/output/more', []],
  ['/user/7', []],
  ['/elsewhere', []],
])('the methods of a path are known: %s', (path, methods) => {
  expect(paths.methodsOf(path)).toEqual(methods)
})
