/** Headers of an answer that the client reads. */
const READ = ['content-type', 'retry-after', 'x-request-id'] as const

/**
 * Sends a request as `fetch` does. Unlike `fetch` it tells how much of the body was sent so far. @param tell gets bytes
 * that were sent, and bytes in all
 */
export function sentWithProgress(tell: (sent: number, all: number) => void) {
  return (address: URL, { method = 'POST', headers, body, signal }: RequestInit): Promise<Response> =>
    new Promise((resolve, reject) => {
      const request = new XMLHttpRequest()
      const abort = () => request.abort()
      request.open(method, address)
      for (const [name, value] of new Headers(headers)) request.setRequestHeader(name, value)
      request.upload.onprogress = ({ loaded, total }) => tell(loaded, total)
      request.onload = () => resolve(answerOf(request))
      request.onerror = () => reject(new TypeError('the request failed'))
      request.onabort = () => reject(signal?.reason as Error)
      request.onloadend = () => signal?.removeEventListener('abort', abort)
      if (signal?.aborted) return reject(signal.reason as Error)
      signal?.addEventListener('abort', abort)
      request.send(body as FormData)
    })
}

function answerOf(request: XMLHttpRequest): Response {
  const headers = READ.flatMap((name) => {
    const value = request.getResponseHeader(name)
    return value === null ? [] : [[name, value] as [string, string]]
  })
  return new Response(request.responseText, { status: request.status, headers })
}
