/** `1 job`, `1,204 jobs`. */
export const many = (count: number, one: string, more: string) =>
  `${count.toLocaleString('en')} ${count === 1 ? one : more}`
