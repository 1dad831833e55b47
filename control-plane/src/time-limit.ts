/**
 * What `promise` comes to, unless that takes longer than `ms` milliseconds.
 * @throws what `tooLate` makes; the outcome of the promise is then nobody's business any more
 */
export async function within<T>(ms: number, promise: Promise<T>, tooLate: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const end = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(tooLate()), ms)
  })
  try {
    return await Promise.race([promise, end])
  } finally {
    clearTimeout(timer)
  }
}
