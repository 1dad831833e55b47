/**
 * Waits for `promise`, but at most `ms` milliseconds.
 * @throws the error that `tooLate` makes; the later outcome of the promise is ignored then
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
